"""The service of `audit`: judges dependency files, or the installed packages, for the backend of this machine or for a named one."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpudoctor import __version__
from gpudoctor.audit import formats, requirements_txt
from gpudoctor.audit.entries import named
from gpudoctor.audit.judging import AuditTarget, applies, judge, judge_image
from gpudoctor.audit.pairs import conflicts
from gpudoctor.audit.replacing import from_index, without_tables
from gpudoctor.audit.resolving import asked, clash, corrected, reason, refusal, run_pip
from gpudoctor.audit.wording import TOOLS, worded
from gpudoctor.facts.derive.torch_build import one_version
from gpudoctor.knowledge.stack_names import backend_of
from gpudoctor.model.audit import BACKENDS, VERDICTS, AskedPackage, Audit, Backend, FormatError, Judged, Manifest
from gpudoctor.model.facts import Facts
from gpudoctor.services import checking
from gpudoctor.system.local_host import LocalHost
from gpudoctor.system.memory_limit import limited_memory
from gpudoctor.system.project_files import inside, read_given
from gpudoctor.system.report_file import read_report

MOST_FILES = 100
_VENDORS = (("nvidia", "cuda"), ("amd", "rocm"), ("intel", "xpu"), ("graphcore", "ipu"), ("apple", "mps"))


class BackendUnknown(Exception):
    """The devices of the machine could not be determined, so that there is no backend to audit for."""


class AuditRequest(Struct, frozen=True, kw_only=True):
    """The options of `audit`. Without `files`, the packages of the target environment are audited."""

    files: Sequence[str] = ()
    backend: str | None = None
    python: str | None = None
    capture: str | None = None
    online: bool = False
    """pip resolves each proposed line."""


def audit(request: AuditRequest, progress: Callable[[str], None] | None = None) -> Audit:
    """The verdict on each package. Raises checking.BAD_INPUT and FormatError for unreadable input, and BackendUnknown where the devices
    of the machine cannot be determined."""
    with limited_memory():
        manifests = read_all(request.files)
    facts = None
    if request.backend is None or not request.files or request.capture:
        facts = _facts(request, progress, quick=request.capture is None)
    if request.backend:
        backend = Backend(name=backend_of(request.backend, BACKENDS), why="as asked")
    else:
        try:
            backend = choose(facts)
        except BackendUnknown:
            if request.capture:
                raise
            facts = _facts(request, progress, quick=False)  # Windows, WSL and macOS list their devices by commands only
            backend = choose(facts)
    if not request.files:
        assert facts is not None
        manifests = [_installed(facts)]
    platform = platform_of(backend.name, facts)
    python = str(facts.value("python.version") or "") if facts is not None and (not request.files or request.python) else ""
    target = AuditTarget(backend=backend.name, platform=platform, python=python)
    with limited_memory():
        rows = tuple(_rows(manifests, target))
    resolution: list[str] = []
    if request.online:
        rows = _resolved(rows, manifests, target, resolution, progress)
    return Audit(
        tool_version=__version__, created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), backend=backend, python=python,
        files=tuple((manifest.file, manifest.kind) for manifest in manifests), rows=rows,
        notes=tuple(dict.fromkeys(note for manifest in manifests for note in manifest.notes)), resolution="; ".join(resolution),
    )  # fmt: skip


def read_all(files: Sequence[str]) -> list[Manifest]:
    """The files and those that they include, each once."""
    found: dict[str, Manifest] = {}
    for given in dict.fromkeys(files):
        _read(given, os.path.dirname(given) or ".", found, as_requirements=False)
    return list(found.values())


def _read(path: str, root: str, found: dict[str, Manifest], *, as_requirements: bool) -> None:
    key = os.path.realpath(path)
    if key in found:
        return
    if len(found) >= MOST_FILES:
        raise FormatError(f"{path}: more than {MOST_FILES} files; audit them in parts")
    text = read_given(path)
    manifest = requirements_txt.read(text, path) if as_requirements else formats.read(text, path)
    found[key] = manifest
    for name, line in manifest.includes:
        where = f"{path}:{line}"
        if "://" in name:
            manifest.notes.append(f"{where}: {name[:100]} is an address, not read")
            continue
        path_of_include = os.path.join(os.path.dirname(path), name)
        if os.path.isabs(name) or inside(path_of_include, root) is None:
            manifest.notes.append(f"{where}: {name[:100]} leads out of {root}, not read")
        elif not os.path.lexists(path_of_include):
            beside = "the Dockerfile" if manifest.kind == "Dockerfile" else "this file"
            manifest.notes.append(f"{where}: {name[:100]} is not beside {beside}, not read")
        else:
            _read(os.path.normpath(path_of_include), root, found, as_requirements=True)


def _facts(request: AuditRequest, progress: Callable[[str], None] | None, *, quick: bool) -> Facts:
    check = checking.CheckRequest(capture=request.capture, python=request.python, quick=quick)
    with limited_memory() if request.capture else contextlib.nullcontext():
        document = read_report(request.capture) if request.capture else None
        if document is not None:
            return checking.gather_report(document).gathered.facts
        return checking.gather_machine(checking.open_for(check), "audit", progress, live=False).gathered.facts


def choose(facts: Facts | None) -> Backend:
    """The backend of the machine's devices. Raises BackendUnknown."""
    assert facts is not None
    gpus = facts.value("gpus")
    platform = facts.value("platform.kind")
    vendors = [str(gpu.get("vendor")) for gpu in gpus if isinstance(gpu, dict)] if isinstance(gpus, list) else []
    if facts.value("poplar.present") is True:
        vendors.append("graphcore")
    if facts.value("macos.apple_silicon") is True:
        vendors.append("apple")
    for vendor, backend in _VENDORS:
        if vendor in vendors:
            names = [
                str(gpu.get("name")) for gpu in gpus or () if isinstance(gpu, dict) and gpu.get("vendor") == vendor and gpu.get("name")
            ]
            others = sorted(set(vendors) - {vendor})
            if backend == "rocm" and platform in ("windows", "wsl2"):
                backend = "directml" if platform == "windows" else backend
            more = f"; also here: {', '.join(others)}, choose with --backend" if others else ""
            return Backend(name=backend, why=f"this machine has {names[0] if names else vendor}{more}")
    if isinstance(gpus, list) and facts.value("gpu.count") == 0:
        return Backend(name="cpu", why="this machine has no GPU")
    raise BackendUnknown("the devices of this machine could not be determined; name the target: --backend " + "|".join(BACKENDS))


def platform_of(backend: str, facts: Facts | None) -> str:
    """The platform (linux, windows or macos), which markers and the choice of wheels depend on."""
    here = (
        str(facts.value("platform.kind") or "") if facts is not None else {"win32": "windows", "darwin": "macos"}.get(sys.platform, "linux")
    )
    if backend == "mps":
        return "macos"
    if backend == "directml":
        return "windows" if here != "wsl2" else "linux"
    return here if here in ("windows", "macos") else "linux"


def _installed(facts: Facts) -> Manifest:
    executable = facts.value("python.executable")
    distributions = facts.value("python.distributions")
    if not isinstance(distributions, dict):
        raise checking.RequestError("no Python environment could be read; give one with --python PATH, or a FILE")
    found = Manifest(file=str(executable or "the environment"), kind="installed")
    for name, version in sorted(distributions.items()):
        text = one_version(version)
        try:
            found.wanted.append(named(str(name), f"=={text}" if text else "", found.file, None, locked=True))
        except FormatError as error:
            found.notes.append(str(error))
    return found


def _rows(manifests: Sequence[Manifest], target: AuditTarget) -> list[Judged]:
    """The rows of all packages, then those that exclude each other, in reading order within each file."""
    rows: list[Judged] = []
    names = {wanted.name for manifest in manifests for wanted in manifest.wanted}
    indexes = list(
        dict.fromkeys(index for manifest in manifests if manifest.kind in ("requirements", "Dockerfile") for index in manifest.indexes)
    )
    for manifest in manifests:
        # pip sees the indexes of every file of one command
        seen = indexes if manifest.kind in ("requirements", "Dockerfile") else manifest.indexes
        rows += [judge(wanted, replace(manifest, indexes=seen), target, names) for wanted in manifest.wanted]
        rows += [judge_image(image, target) for image in manifest.images]
    for group in _together(manifests):
        python = next((manifest.python for manifest in group if manifest.python), "")
        wanted: list[AskedPackage] = [each for manifest in group for each in manifest.wanted if applies(each, target)]
        rows = _merged(rows, list(conflicts(wanted, python, target)), target, manifests)
    written = {(wanted.file, wanted.line, wanted.name): (wanted, manifest) for manifest in manifests for wanted in manifest.wanted}
    rows = [replace(row, use=tuple(worded(row.use, *written[_key(row)]))) if row.use and _key(row) in written else row for row in rows]
    order = {manifest.file: place for place, manifest in enumerate(manifests)}
    tables = {manifest.file: list(manifest.tables) for manifest in manifests}
    return [
        replace(row, use=without_tables(row.use, tables[row.file]))
        for row in sorted(rows, key=lambda row: (order[row.file], row.line or 0, row.package, VERDICTS.index(row.verdict)))
    ]


def _together(manifests: Sequence[Manifest]) -> list[list[Manifest]]:
    """Groups of files that are installed together: all requirements and Dockerfiles form one, every other file stands alone."""
    pip = [manifest for manifest in manifests if manifest.kind in ("requirements", "Dockerfile")]
    return [*([pip] if pip else []), *([manifest] for manifest in manifests if manifest not in pip)]


def _merged(rows: list[Judged], found: Sequence[Judged], target: AuditTarget, manifests: Sequence[Manifest]) -> list[Judged]:
    """Merges conflicts into the rows. A conflict replaces the 'ok' row of its line; it is dropped where the package must be removed
    anyway, and joined with the row of a wrong index."""
    at = {_key(row): place for place, row in enumerate(rows)}
    merged: list[Judged | None] = list(rows)
    for row in found:
        place = at.get(_key(row))
        old = merged[place] if place is not None else None
        if old is not None and place is not None and old.id in ("needs-another-backend", "needs-another-package"):
            if row.id == "same-files":
                merged[place] = row
            continue
        if old is not None and place is not None and old.id in ("other-index", "too-old") and old.use and row.id == "conflict":
            right = next((use.partition("+")[0] for use in row.use if use.startswith(f"{row.package}==")), "")
            if not right:  # a demand of another package still holds where only the index changes
                merged += [row] if old.id == "other-index" and row.verdict == "warning" else []
                continue
            manifest = next(manifest for manifest in manifests if manifest.file == row.file)
            asked_for = next(wanted for wanted in manifest.wanted if (wanted.name, wanted.line) == (row.package, row.line))
            corrected = replace(asked_for, specifier=right.removeprefix(row.package))
            if judge(corrected, manifest, target, ()).id == "too-old":
                continue  # its release belongs to the torch of the file, which is too old as well
            use = tuple(from_index(corrected, manifest, target.backend)) if _has_index(old) else (right,)
            merged[place] = replace(old, says=f"{old.says}; also: {row.says}", use=use, sources=(*old.sources, *row.sources))
            continue
        if old is not None and place is not None and old.verdict in ("ok", "unlisted"):
            merged[place] = None
        merged.append(row)
    return [row for row in merged if row is not None]


def _has_index(row: Judged) -> bool:
    """Whether the proposed lines take the package from another index."""
    return any("://" in line for line in row.use)


def _resolved(
    rows: Sequence[Judged], manifests: Sequence[Manifest], target: AuditTarget, result: list[str], progress: Callable[[str], None] | None
) -> tuple[Judged, ...]:
    """Removes proposals that pip cannot resolve, and marks those as uncertain that cannot be resolved with the rest of their file."""
    host, good, open_, kept = LocalHost(budget=1800.0), 0, 0, list(rows)

    def run(words: Sequence[str]) -> tuple[int | None, str]:
        ran = host.run_child([sys.executable, *words], timeout=300.0, limit=1_000_000, env={"PIP_RETRIES": "1"})
        return ran.rc, f"{ran.stdout}\n{ran.stderr}"

    with tempfile.TemporaryDirectory(prefix="gpudoctor-audit-") as folder:
        for group in _together(manifests):
            mine = [at for at, row in enumerate(kept) if any(row.file == manifest.file for manifest in group)]
            options = corrected(group, [kept[at] for at in mine], target).options
            for at in mine:
                given = asked(kept[at].use)
                if not given.requirements:
                    continue
                if progress:
                    progress(f"{kept[at].package} on the index")
                why = refusal(replace(given, options=options), target.python, folder, run)
                good, open_ = good + (why == ""), open_ + (why is None)
                kept[at] = replace(kept[at], says=f"{kept[at].says}; no line is proposed, because {why}", use=()) if why else kept[at]
            changed = [at for at in mine if asked(kept[at].use).requirements]
            if not changed or any(manifest.kind in ("installed", "conda-lock", *TOOLS) for manifest in group):
                continue  # the file that a lock is made of is not here
            if progress:
                progress(f"{group[0].file} as a whole")
            _whole([group[0].file, *(manifest.file for manifest in group[1:])], kept, changed, result,
                   run_pip(corrected(group, [kept[at] for at in mine], target), target.python, folder, run))  # fmt: skip
    if good:
        result.insert(0, f"{good} proposal{'s' * (good != 1)} resolved with pip")
    if open_:
        result.append(f"{open_} proposal{'s' * (open_ != 1)} not resolved: the index did not answer, or pip is missing")
    return tuple(kept)


def _whole(files: Sequence[str], kept: list[Judged], changed: Sequence[int], result: list[str], answer: tuple[int | None, str]) -> None:
    """Adds pip's result for files with all proposals applied. Proposals for packages that exclude each other are marked as uncertain."""
    status, output = answer
    title = " and ".join(files)
    if status == 0:
        result.append(f"{title} with these lines resolves as a whole")
        return
    names, why = clash(output), reason(output)
    result.append(f"{title} with these lines does not resolve as a whole: {why}" if why else f"{title} was not resolved as a whole")
    why = f"{' and '.join(names)} exclude each other in {title}" if names else f"{title} does not resolve as a whole with it"
    for index in changed:
        lines = kept[index].use
        proposed = {_project(text) for text in asked(lines).requirements}
        if reason(output) and (not names or proposed & set(names)):
            kept[index] = replace(kept[index], use=(f"# not certain: {why}", *lines))


def _project(requirement: str) -> str:
    return canonicalize_name(Requirement(requirement).name)


def _key(row: Judged) -> tuple[str, int | None, str]:
    return row.file, row.line, row.package
