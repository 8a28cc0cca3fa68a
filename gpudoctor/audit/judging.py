"""One package or base image against one backend."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from gpudoctor.audit.packages import fate, image_of, row_of, with_index
from gpudoctor.audit.replacing import from_index, in_words, instead
from gpudoctor.audit.wording import written
from gpudoctor.facts.derive._tables import table
from gpudoctor.model.audit import AskedPackage, Image, Judged, Manifest

TITLES = {
    "cuda": "CUDA", "rocm": "ROCm", "xpu": "Intel GPUs (xpu)", "directml": "DirectML", "opencl": "OpenCL", "ipu": "IPUs",
    "openvino": "OpenVINO", "onnxruntime": "ONNX Runtime", "mps": "Apple GPUs (mps)", "cpu": "the CPU",
}  # fmt: skip
_FLAVOURS = ("cu", "rocm", "xpu", "cpu")
_OF_FLAVOUR = {"cu": "cuda", "rocm": "rocm", "xpu": "xpu", "cpu": "cpu"}
_PYTORCH_INDEX = re.compile(r"download\.pytorch\.org/whl/(?:nightly/|test/)?(cu|rocm|xpu|cpu)")
_EXTRA = re.compile(r"[A-Za-z0-9._-]{1,100}\s*\[([^\]]{0,200})\]")
_OF_EXTRA = {"cuda": "cuda", "rocm": "rocm", "oneapi": "xpu"}
"""Parts of an extra's name, and the backend that it brings: jax[cuda13], jax[rocm7-local], jax[oneapi], tensorflow[and-cuda]."""
_IPEX = "intel-extension-for-pytorch"
_BARE = {"torch", "torchvision", "torchaudio"}
"""Packages whose builds differ by the local version alone."""


class AuditTarget(Struct, frozen=True, kw_only=True):
    """The backend and platform that packages must run on. `python`: such as '3.11', empty where it is unknown."""

    backend: str
    platform: str
    python: str = ""

    @property
    def title(self) -> str:
        return TITLES[self.backend]

    def environment(self) -> dict[str, str]:
        """The environment in which markers are evaluated."""
        system = {"windows": ("win32", "Windows", "nt"), "macos": ("darwin", "Darwin", "posix")}.get(
            self.platform, ("linux", "Linux", "posix")
        )
        python = self.python or "3.12"
        return {
            "sys_platform": system[0], "platform_system": system[1], "os_name": system[2],
            "python_version": ".".join(python.split(".")[:2]),
            "python_full_version": python if python.count(".") > 1 else f"{python}.0", "implementation_name": "cpython",
            "platform_python_implementation": "CPython", "platform_machine": "arm64" if self.platform == "macos" else "x86_64",
            "platform_release": "", "platform_version": "", "implementation_version": "", "extra": "",
        }  # fmt: skip


def pinned(specifier: str) -> Version | None:
    """The one version that a specifier admits."""
    match = re.fullmatch(r"===?\s*([^,*\s]+)", specifier)
    try:
        return Version(match[1]) if match else None
    except InvalidVersion:
        return None


def admits(specifier: str, version: str) -> bool:
    """Whether the specifier admits the version; an empty specifier admits all."""
    try:
        wanted = SpecifierSet(specifier)
        return wanted.contains(Version(version), prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return True


def applies(wanted: AskedPackage, target: AuditTarget) -> bool:
    """Whether the requirement's environment marker holds on the target."""
    if not wanted.marker:
        return True
    try:
        return bool(Marker(wanted.marker).evaluate(target.environment()))
    except (InvalidMarker, UndefinedComparison, UndefinedEnvironmentName, InvalidVersion, RecursionError):
        return True


def judge(wanted: AskedPackage, manifest: Manifest, target: AuditTarget, names: Collection[str]) -> Judged:
    """The verdict on one package. `names`: all packages that are audited together."""
    if not applies(wanted, target):
        return _row(wanted, "skipped", f"its marker is false here: {wanted.marker}")
    row = row_of(wanted.name)
    if row is None:
        return _row(wanted, "unlisted")
    known = fate(row, target.backend, target.platform)
    if known is not None and "called" in row:
        meant = judge(replace(wanted, name=row["called"]), manifest, target, names)
        use = meant.use or written([f"{row['called']}{wanted.specifier}"], wanted, manifest)
        return _row(wanted, "error", known["note"], use, [known["source"]], "needs-another-package")
    if known is None:
        return _row(wanted, "unverified", f"not verified on {target.title}: nothing is known of it there")
    found = _judged(wanted, manifest, target, known, names)
    if known.get("verified") is False and found.verdict in ("error", "warning"):
        return _row(wanted, "unverified", f"not verified: {found.says}", found.use, found.sources, found.id)
    return found


def _row(wanted: AskedPackage, verdict: str, says: str = "", use: Sequence[str] = (), sources: Sequence[str] = (), id: str = "") -> Judged:
    return Judged(
        package=wanted.name, file=wanted.file, line=wanted.line, text=wanted.text, verdict=verdict, says=says, use=tuple(use),
        sources=tuple(sources), id=id,
    )  # fmt: skip


def _judged(wanted: AskedPackage, manifest: Manifest, target: AuditTarget, known: Mapping[str, Any], names: Collection[str]) -> Judged:
    status, note, use, sources = known["status"], known.get("note", ""), known.get("use", []), [known["source"]]
    if _before(wanted, known.get("until")):
        return _row(wanted, "ok", "", (), sources)
    if status == "unverified":
        return _row(wanted, "unverified", f"not verified on {target.title}{f': {note}' if note else ''}", use, sources)
    if status == "useless":
        return _row(wanted, "info", note, (), sources, "useless")
    if status == "cpu":
        return _row(wanted, "warning", note, use, sources, "cpu-only")
    if use and status in ("none", "replace") and all(_name(each) in names for each in use):
        use, note = [], f"{note}; remove it, {' and '.join(map(_name, use))} is here already"
    if status == "none":
        says = f"nothing for {target.title}: {note}" if note else f"nothing for {target.title}"
        return _row(wanted, "error", says, instead(wanted, manifest, use, target.backend), sources, "needs-another-backend")
    if status == "replace":
        return _row(
            wanted,
            "error",
            f"not for {target.title}: {note}",
            instead(wanted, manifest, use, target.backend),
            sources,
            "needs-another-package",
        )
    if status == "build":
        return _built(wanted, note, use, sources)
    wrong_extra = _extra(wanted, target)
    if wrong_extra:
        plain = use or [f"{wanted.name}{wanted.specifier}"]
        return _row(wanted, "error", wrong_extra, plain, sources, "needs-another-backend")
    if wrong_extra == "":
        return _row(wanted, "ok", note, (), sources)
    if status == "partner" and not set(known.get("partner", ())) & set(names):
        beside = instead(wanted, manifest, [*use] or [*known.get("partner", ())][:1], target.backend, keep=True)
        return _row(wanted, "error", note, beside, sources, "partner")
    if status == "index":
        return _index(wanted, manifest, target, known)
    flavour = _flavour(wanted, manifest)
    if (
        wanted.name in _BARE
        and flavour
        and status == "works"
        and _OF_FLAVOUR[flavour] != target.backend
        and target.backend in ("cuda", "rocm", "xpu")
    ):
        return _row(
            wanted,
            "error",
            f"this is the build for {TITLES[_OF_FLAVOUR[flavour]]}",
            from_index(wanted, manifest, target.backend),
            sources,
            "other-index",
        )
    old = _old(wanted, manifest, target, known)
    if old is None and known.get("ended"):
        return _row(wanted, "info", known["ended"], (), sources, "ended")
    return old or _row(wanted, "ok", note, (), sources)


def _built(wanted: AskedPackage, note: str, use: Sequence[str], sources: Sequence[str]) -> Judged:
    """A package that is compiled on the machine, unless the line names where its build comes from."""
    if _addressed(wanted):
        return _row(wanted, "ok", "from an address of its own", (), sources)
    return _row(wanted, "warning", note or "built on the machine, with this backend chosen", use, sources, "build")


def _extra(wanted: AskedPackage, target: AuditTarget) -> str | None:
    """What is wrong with an extra that selects a backend: '' where it is the target's; None where the line has no such extra."""
    extra = _EXTRA.match(wanted.text)
    brings = next((backend for name, backend in _OF_EXTRA.items() if extra and name in extra[1].lower()), "")
    if not extra or not brings:
        return None
    return f"its extra [{extra[1]}] brings {TITLES[brings]}" if brings != target.backend and row_of(wanted.name) else ""


def _name(requirement: str) -> str:
    """The name of a requirement: 'torch' of 'torch>=2.5'."""
    found = re.match(r"[A-Za-z0-9][\w.-]*", requirement)
    return canonicalize_name(found[0]) if found else ""


def _before(wanted: AskedPackage, until: str | None) -> bool:
    """Whether one version is pinned, and it is older than `until`."""
    version = pinned(wanted.specifier)
    return bool(until and version is not None and version < Version(until))


def _addressed(wanted: AskedPackage) -> bool:
    """Whether the package comes from its own repository or file, not from PyPI."""
    return bool(re.search(r"git\+|\.git\b|\.whl|\.zip|\.tar\.gz", wanted.index))


def _flavour(wanted: AskedPackage, manifest: Manifest) -> str:
    """cu, rocm, xpu or cpu, from the local version, from conda's build string, or from the index that serves this package."""
    version = pinned(wanted.specifier)
    local = version.local or "" if version else ""
    found = next((flavour for flavour in _FLAVOURS if local.startswith(flavour)), "")
    build = re.search(r"build=(cuda|cpu|xpu|rocm)", wanted.index)
    if not found and build:
        found = {"cuda": "cu"}.get(build[1], build[1])
    seen = [wanted.index] if wanted.index or wanted.locked or wanted.conda or wanted.name not in _BARE else manifest.indexes
    of_index = {match[1] for index in seen if (match := _PYTORCH_INDEX.search(index))}
    return found or (of_index.pop() if len(of_index) == 1 else "")


def _index(wanted: AskedPackage, manifest: Manifest, target: AuditTarget, known: Mapping[str, Any]) -> Judged:
    flavour, mine, note = _flavour(wanted, manifest), known["flavour"], known.get("note", "")
    sources, own = [known["source"]], list(known["indexes"])
    if wanted.conda and not _old(wanted, manifest, target, known):
        says = f"conda's packages are not built for {target.title}: take it from the index, with pip"
        return _row(wanted, "warning", says, from_index(wanted, manifest, target.backend, known), sources, "other-index")
    held = any(_holds(part, index) for part in own for index in (wanted.index, *(() if _elsewhere(wanted, own) else manifest.indexes)))
    if flavour == mine or (held and flavour in ("", mine)):
        old = _old(wanted, manifest, target, known)
        if old is None and known.get("ended"):
            return _row(wanted, "info", known["ended"], (), sources, "ended")
        return old or _row(wanted, "ok", f"from the index for {target.title}", (), sources)
    says = f"this is the build for {TITLES[_OF_FLAVOUR[flavour]]}" if flavour else note or f"not built for {target.title}"
    old = _old(wanted, manifest, target, known)
    if old is not None:
        return old
    if known.get("ended"):
        remove = [f"pip uninstall -y {wanted.name}"] if manifest.kind == "installed" else []
        return _row(wanted, "error", f"{says}; {known['ended']}", remove, sources, "other-index")
    if known.get("instead"):
        return _row(wanted, "error", says, known["instead"], sources, "other-index")
    if known.get("only_there") and pinned(wanted.specifier) is not None:
        says = f"{says}; those for {target.title} are at {known['use'][0]}: which release there fits this torch is not known"
        return _row(wanted, "error", says, (), sources, "other-index")
    use = _of_ipex(wanted, manifest, target, known) or from_index(wanted, manifest, target.backend, known)
    return _row(wanted, "error", f"{says}; it must come from another index", use, sources, "other-index")


def _of_ipex(wanted: AskedPackage, manifest: Manifest, target: AuditTarget, known: Mapping[str, Any]) -> list[str]:
    """Lines for a torch of Intel's index. Before PyTorch had builds for Intel GPUs, that index had the torch for each release of IPEX."""
    version, since = pinned(wanted.specifier), known.get("since")
    if target.backend != "xpu" or not since or version is None or version >= Version(since):
        return []
    ipex = next((pinned(each.specifier) for each in manifest.wanted if each.name == _IPEX), None)
    rows = [row for row in table("ipex-torch")["release"] if ipex and row["ipex"] == ipex.public and row.get("packages")]
    exact = {text.partition("==")[0].lower().replace("_", "-"): text for row in rows for text in row["packages"].split()}
    if wanted.name not in exact:
        return []
    option, _, index = rows[0]["index"].partition(" ")
    return in_words(exact[wanted.name], option, index, wanted, manifest)


def _elsewhere(wanted: AskedPackage, own: Sequence[str]) -> bool:
    """Whether the package has an address of its own, so that the file's indexes do not count."""
    return bool(wanted.index) and not any(_holds(part, wanted.index) for part in own)


def _holds(part: str, address: str) -> bool:
    """Whether an address has all the pieces between the stars of `part`."""
    return all(piece in address for piece in part.split("*"))


def _old(wanted: AskedPackage, manifest: Manifest, target: AuditTarget, known: Mapping[str, Any]) -> Judged | None:
    """The verdict on a version that is older than the first with this backend; None for others."""
    since = known.get("since")
    if not since or not wanted.specifier or _patched(wanted, manifest):
        return None
    version = pinned(wanted.specifier)
    try:
        old = version < Version(since) if version is not None else _ends_before(wanted.specifier, Version(since))
    except (InvalidSpecifier, InvalidVersion):
        return None
    if not old:
        return None
    use = known.get("use", []) if known["status"] != "index" else from_index(wanted, manifest, target.backend, known, f">={since}")
    return _row(wanted, "error", f"too old for {target.title}: {since} is the first with it", use, [known["source"]], "too-old")


def _patched(wanted: AskedPackage, manifest: Manifest) -> bool:
    """Whether this is the patched torch of Intel's index, which is correct together with an IPEX for GPUs."""
    return wanted.name in _BARE and any(each.name == _IPEX and _flavour(each, manifest) == "xpu" for each in manifest.wanted)


def _ends_before(specifier: str, since: Version) -> bool:
    """Whether one clause of a specifier excludes every version from `since` on."""
    for clause in SpecifierSet(specifier):
        wild = clause.version.endswith(".*")
        edge = Version(clause.version.removesuffix(".*"))
        release = edge.release
        if (clause.operator == "<" and edge <= since) or (clause.operator == "<=" and edge < since):
            return True
        if clause.operator == "==" and wild and release < since.release[: len(release)]:
            return True
        if clause.operator == "~=" and release[:-1] < since.release[: len(release) - 1]:
            return True
    return False


def judge_image(image: Image, target: AuditTarget) -> Judged:
    known = image_of(image.name)
    if known is None:
        return _of_image(image, "unlisted", "")
    for_what, sources = TITLES[known["backend"]], [known["source"]]
    near = {"onnxruntime": ("cpu", "openvino", "xpu"), "openvino": ("cpu", "xpu"), "xpu": ("openvino",)}.get(target.backend, ())
    if known["backend"] == target.backend or known["backend"] in near:
        return _of_image(image, "ok", f"a base image for {for_what}", (), sources)
    if target.backend in ("cpu", "onnxruntime") and known["level"] == "warning":
        return _of_image(image, "info", f"brings {for_what}, of no use here", (), sources, "image")
    if target.backend in ("cpu", "onnxruntime") and known.get("cpu", True) and known["backend"] != "ipu":
        return _of_image(image, "warning", f"brings {for_what}, of no use here", (), sources, "image")
    proposed = table("audit-packages")["image_use"].get(target.backend, ())
    word = "image:" if image.file.lower().endswith((".yml", ".yaml")) else "FROM"
    use = [with_index(each) if each[0] == "#" else f"{word} {each}" for each in proposed]
    says = f"a base image for {for_what}, not for {target.title}"
    if known.get("verified") is False:
        return _of_image(image, "unverified", f"not verified: {says}", use, sources, "image")
    return _of_image(image, known["level"], says, use, sources, "image")


def _of_image(image: Image, verdict: str, says: str, use: Sequence[str] = (), sources: Sequence[str] = (), id: str = "") -> Judged:
    return Judged(
        package=image.name, file=image.file, line=image.line, text=f"image {image.name}", verdict=verdict, says=says, use=tuple(use),
        sources=tuple(sources), id=id,
    )  # fmt: skip
