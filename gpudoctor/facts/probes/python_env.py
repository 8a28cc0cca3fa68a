"""The target Python environment: its place, why it was chosen, and what is installed in it. At most `python -V` is run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpudoctor.facts.probes import dist_info
from gpudoctor.facts.probes._probe import Probe
from gpudoctor.facts.probes.dist_info import Distribution
from gpudoctor.facts.probes.interpreter import Environment, find_target, minor, slashes, working_folder
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.system.host import Host

SHADOWS = ("torch", "tensorflow", "onnxruntime", "openvino", "jax", "numpy", "triton", "bitsandbytes")


def collect(host: Host, facts: Facts) -> Iterator[tuple[str, Fact]]:
    without = getattr(host, "not_python", "")
    if without:
        yield from _nothing(f"not inspected: {without}")
        return
    recorded = getattr(host, "python_environment", None)
    said = recorded() if callable(recorded) else None
    if isinstance(said, Mapping) and said:
        yield from _from_record(host, said)
    elif host.origin == "capture":
        yield from _nothing("not recorded")
    else:
        yield from _from_files(host)


def _nothing(reason: str) -> Iterator[tuple[str, Fact]]:
    for spec in PROBE.provides:
        yield spec.name, Unknown(reason)


def _from_record(host: Host, said: Mapping[str, Any]) -> Iterator[tuple[str, Fact]]:
    executable, prefix = slashes(str(said.get("executable") or "")), slashes(str(said.get("prefix") or ""))
    target = Environment("recorded", prefix, executable, str(said.get("version") or ""))
    target.kind = str(said.get("kind") or "") or _kind_by_prefix(prefix)
    target.error = str(said.get("error") or "")
    found: list[Distribution] = []
    names = said.get("distributions")
    versions: dict[str, Any] = {}
    for name, value in names.items() if isinstance(names, Mapping) else ():
        name = dist_info.normalise(str(name))
        several = value if isinstance(value, list) else [value]
        texts: list[str] = []
        for one in several:
            dist = _recorded_distribution(name, one, _recorded_site(host, target))
            found.append(dist)
            texts.append(dist.version)
        versions[name] = texts if len(texts) > 1 else texts[0] if texts else None
    target.folders = [_recorded_site(host, target)]
    yield from _identity(host, target)
    yield "python.distributions", Known(versions, "python.json") if isinstance(names, Mapping) else Unknown("not recorded")
    yield from _contents(host, target, found, [])


def _kind_by_prefix(prefix: str) -> str:
    """The kind of a recorded environment by its prefix; '' where that is unknown."""
    if prefix in ("/usr", "/usr/local", ""):
        return "system" if prefix else ""
    return "conda" if re.search(r"conda|mamba|miniforge", prefix) else "venv"


def _recorded_site(host: Host, target: Environment) -> str:
    if host.platform == "windows":
        return f"{target.prefix}/Lib/site-packages"
    return f"{target.prefix}/lib/python{minor(target.version)}/site-packages"


def _recorded_distribution(name: str, value: Any, folder: str) -> Distribution:
    if not isinstance(value, Mapping):
        return Distribution(name, str(value), folder, "")
    dist = Distribution(name, str(value.get("version") or ""), folder, "", installer=str(value.get("installer") or ""))
    dist.tags = [str(tag) for tag in value.get("tags") or []]
    dist.damaged = [str(path) for path in value.get("damaged_files") or []]
    return dist


def _from_files(host: Host) -> Iterator[tuple[str, Fact]]:
    target = find_target(host)
    yield from _identity(host, target)
    if not target.prefix:
        yield "python.distributions", Unknown("not inspected")
        return
    found: list[Distribution] = []
    leftovers: list[str] = []
    for folder in target.folders:
        here, left = dist_info.from_names(folder, host.listdir(folder))
        found += here
        leftovers += left
    seen: set[str] = set()
    for dist in found:
        if dist_info.RELEVANT.match(dist.name) or not dist.version:
            dist_info.read_details(host, dist)
            if dist.name in dist_info.CHECKED and dist.name not in seen:
                dist.damaged = dist_info.damaged_files(host, dist)
        seen.add(dist.name)
    yield "python.distributions", Known(dist_info.versions(found), " ".join(target.folders))
    yield from _contents(host, target, found, leftovers)


def _identity(host: Host, target: Environment) -> Iterator[tuple[str, Fact]]:
    source = target.why
    yield "python.why", Known(target.why)
    yield "python.executable", Known(target.executable, source) if target.executable else Absent(source)
    yield "python.prefix", Known(target.prefix, source) if target.prefix else Unknown("not inspected")
    yield "python.version", Known(target.version, source) if target.version else Unknown("not inspected")
    yield "python.kind", Known(target.kind, source) if target.kind else Unknown("not inspected")
    yield "python.error", Known(target.error, source) if target.error else Absent(source)
    for name, said in (("python.not_run", target.not_run), ("python.passed_over", target.passed_over)):
        yield name, Unknown(f"permission denied: {said}") if said else Absent(source)
    yield "python.base", Known(target.base, source) if target.base else Absent(source)
    yield "python.externally_managed", _externally_managed(host, target)
    yield "python.virtual_env_unused", _unused(host, target)


def _externally_managed(host: Host, target: Environment) -> Fact:
    if target.kind not in ("system",) or not target.version:
        return Known(False, target.kind) if target.kind else Unknown("not inspected")
    marker = f"{target.prefix}/lib/python{minor(target.version)}/EXTERNALLY-MANAGED"
    if host.exists(marker):
        return Known(True, marker)
    return Unknown("not recorded") if host.origin == "capture" else Known(False, marker)


def _unused(host: Host, target: Environment) -> Fact:
    """Whether a .venv lies in this folder although another Python is examined."""
    if host.origin == "capture" or target.why.startswith((".venv", "--python")) or getattr(host, "door", None) is not None:
        return Known(False, target.why)
    here = working_folder(host)
    return Known(bool(here) and f"{here}/.venv" != target.prefix and host.exists(f"{here}/.venv/pyvenv.cfg"), f"{here}/.venv")


def _contents(host: Host, target: Environment, found: list[Distribution], leftovers: list[str]) -> Iterator[tuple[str, Fact]]:
    live = host.origin == "live"
    folders = target.folders
    yield "python.folders", Known(folders)
    yield "python.leftovers", Known(leftovers, " ".join(folders)) if live else Unknown("not recorded")
    first: dict[str, str] = {}
    records: list[dict[str, Any]] = []
    for dist in found:
        shadowed = first.setdefault(dist.name, dist.folder) != dist.folder
        if dist_info.RELEVANT.match(dist.name) or dist.damaged:
            records.append(_package(dist, shadowed, live))
    yield "python.packages", Known(records, " ".join(folders))
    yield "python.machine", _machine(host, found)
    yield "python.libc", _libc(found)
    yield "python.conda_packages", _conda(host, target)
    yield "python.shadows", Known(_shadows(host), "this folder") if live else Unknown("not recorded")
    yield "python.user_site_used", _user_site(host, found, target) if live else Unknown("not recorded")
    yield "torch.version_file", _torch_version_file(host, folders, found)
    yield "python.translated", _translated(host)


def _package(dist: Distribution, shadowed: bool, live: bool) -> dict[str, Any]:
    public, _, local = dist.version.partition("+")
    return {
        "name": dist.name, "version": dist.version, "public": public, "local": local or None, "folder": dist.folder,
        "installer": dist.installer or (None if live else Unknown("not recorded")),
        "url": dist.url or (None if live else Unknown("not recorded")),
        "editable": dist.editable, "shadowed": shadowed,
        "requires_torch": dist_info.required_version(dist.requires, "torch") or (None if live else Unknown("not recorded")),
        "requires_python": dist.requires_python or (None if live else Unknown("not recorded")),
        "tags": dist.tags or (None if live else Unknown("not recorded")),
        "damaged": dist.damaged if live or dist.damaged else Unknown("not recorded"),
        "damaged_count": len(dist.damaged),
    }  # fmt: skip


def _machine(host: Host, found: list[Distribution]) -> Fact:
    """The architecture that the interpreter is built for, by the tags of compiled wheels: x86_64, arm64, aarch64, i686."""
    for dist in found:
        for tag in dist.tags:
            platform = tag.rpartition("-")[2]
            if platform in ("any", "none", ""):
                continue
            match = re.search(r"(x86_64|amd64|arm64|aarch64|i686|ppc64le|s390x|armv7l|universal2)$", platform)
            if match and match[1] != "universal2":
                return Known({"amd64": "x86_64"}.get(match[1], match[1]), dist.info)
            if platform == "win32":
                return Known("i686", dist.info)
    return Unknown("not inspected")


def _libc(found: list[Distribution]) -> Fact:
    for dist in found:
        for tag in dist.tags:
            if "musllinux" in tag:
                return Known("musl", dist.info)
            if "manylinux" in tag:
                return Known("glibc", dist.info)
    return Unknown("not inspected")


def _conda(host: Host, target: Environment) -> Fact:
    names = host.listdir(f"{target.prefix}/conda-meta") if target.prefix else []
    if not names:
        return Absent(f"{target.prefix}/conda-meta") if host.origin == "live" else Unknown("not recorded")
    return Known(dict(dist_info.conda_packages(names)), f"{target.prefix}/conda-meta")


def _shadows(host: Host) -> list[str]:
    """The files and packages in this folder that `import torch` and so on of a script here would find first."""
    here = working_folder(host)
    if not here:
        return []
    names = set(host.listdir(here))
    found = [f"{here}/{name}.py" for name in SHADOWS if f"{name}.py" in names]
    for name in SHADOWS:
        if name in names and host.exists(f"{here}/{name}/__init__.py"):
            found.append(f"{here}/{name}")
    return found


def _user_site(host: Host, found: list[Distribution], target: Environment) -> Fact:
    """The frameworks that an environment takes from ~/.local."""
    home = slashes(host.env("HOME") or "")
    if not home or target.kind == "system":
        return Known([], home)
    mine = sorted({dist.name for dist in found if dist.folder.startswith(f"{home}/.local/") and dist_info.RELEVANT.match(dist.name)})
    return Known(mine, f"{home}/.local")


def _torch_version_file(host: Host, folders: list[str], found: list[Distribution]) -> Fact:
    ordered = [dist.folder for dist in found if dist.name == "torch"] or folders
    for folder in ordered:
        text = host.read(f"{folder}/torch/version.py", limit=20_000)
        if text.ok:
            said = dist_info.parse_torch_version(text.text)
            return Known(said, f"{folder}/torch/version.py") if said else Unknown("unparsable")
    if host.origin == "live" and not any(dist.name == "torch" for dist in found):
        return Absent(" ".join(folders))
    return Absent(f"{ordered[0]}/torch/version.py") if ordered and host.origin == "live" else Unknown("not recorded")


def _translated(host: Host) -> Fact:
    if host.platform != "macos":
        return Known(False, "not macOS")
    ran = host.run(["sysctl", "-n", "sysctl.proc_translated"], timeout=2.0)
    if ran.ok and ran.stdout.strip() in ("0", "1"):
        return Known(ran.stdout.strip() == "1", "sysctl.proc_translated")
    return Unknown(ran.why_not())


PROBE = Probe(
    "python_env",
    provides=(
        FactSpec("python.why", "text", "why this interpreter is examined: an option, an active environment, a folder, PATH"),
        FactSpec("python.executable", "text", "the target interpreter", privacy="identifying"),
        FactSpec("python.prefix", "text", "the folder of the target environment", privacy="identifying"),
        FactSpec("python.version", "version", "version of the target interpreter"),
        FactSpec("python.kind", "text", "venv, uv, poetry, conda, pyenv or system"),
        FactSpec("python.error", "text", "why the target cannot be used: missing, deleted interpreter", privacy="identifying"),
        FactSpec("python.not_run", "text", "why nothing in the Python environment is run unless --python names it", privacy="identifying"),
        FactSpec("python.passed_over", "text", "why the environment in this folder was not examined", privacy="identifying"),
        FactSpec("python.base", "text", "prefix of the interpreter that the environment was made from", privacy="identifying"),
        FactSpec("python.externally_managed", "bool", "the distribution forbids pip in this interpreter (PEP 668)"),
        FactSpec("python.virtual_env_unused", "bool", "a .venv lies in this folder and is not the one examined"),
        FactSpec("python.distributions", "map", "installed distributions and their versions; a list where installed twice"),
        FactSpec("python.folders", "list", "folders that distributions are read from, in the order of sys.path", privacy="identifying"),
        FactSpec("python.leftovers", "list", "what an interrupted pip left (~orch)"),
        FactSpec("python.packages", "records", "distributions that matter for devices", item="package", fields={
            "name": "normalised name", "version": "whole version", "public": "version without the local part",
            "local": "local part (cu126)", "folder": "the folder on sys.path", "installer": "pip, uv, conda",
            "url": "where it was installed from", "editable": "is a source tree",
            "shadowed": "another folder's copy is imported", "requires_torch": "its demand on torch",
            "requires_python": "its demand on Python", "tags": "wheel tags", 
            "damaged": "files in RECORD that are missing or truncated", "damaged_count": "how many",
        }),
        FactSpec("python.machine", "text", "what the interpreter is built for, by its wheels: x86_64, arm64, aarch64, i686"),
        FactSpec("python.libc", "text", "glibc or musl, by its wheels"),
        FactSpec("python.conda_packages", "map", "packages that conda installed: 'version build'"),
        FactSpec("python.shadows", "list", "files here that hide a framework's module", privacy="identifying"),
        FactSpec("python.user_site_used", "list", "frameworks that an environment takes from ~/.local"),
        FactSpec("torch.version_file", "map", "what torch/version.py holds: version, cuda, hip, xpu, debug, git_version"),
        FactSpec("python.translated", "bool", "runs under Rosetta"),
    ),
    collect=collect,
)  # fmt: skip
