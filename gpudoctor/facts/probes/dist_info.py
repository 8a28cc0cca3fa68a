"""Installed distributions, read from the metadata that installers write. Nothing is imported and nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system import json_text
from gpudoctor.system.host import Host

DIST_INFO = lazy(r"^(?P<name>.+?)-(?P<version>[^-]+)\.dist-info$")
EGG_INFO = lazy(r"^(?P<name>[^-]+)-(?P<version>[^-]+?)(?:-py\d[\d.]*)?(?:-[\w.]+)?\.egg(?:-info)?$")
RELEVANT = lazy(
    r"^(torch|pytorch|lib?torch|triton|intel|nvidia|cuda|cupy|rocm|amd-torch|tensorflow|keras|tf-keras|tf-nightly|jax|onnxruntime|ort-|openvino"
    r"|optimum|oneccl|dpctl|dpcpp|mkl|xformers|bitsandbytes|flash-att|deepspeed|apex|auto-gptq|autoawq|gptqmodel|vllm"
    r"|sgl|sageattention|poptorch|popart|numpy$|protobuf$|pyopencl|pocl|opencl|ocl-icd|ipex|umf$|tcmlib$|detectron2|mmcv|natten|fbgemm)"
)
IN_PLACE = {"pytorch_ocl": "pytorch-ocl"}
"""Packages that are built into a folder for PYTHONPATH and have no metadata: name of the folder to distribution."""
LIBRARY = lazy(r"\.(so|dylib|dll|pyd)(\.[\d.]+)?$")
CHECKED = ("torch", "intel-extension-for-pytorch", "torchvision", "onnxruntime", "openvino", "tensorflow", "bitsandbytes", "jaxlib",
           "torch-directml", "xformers")  # fmt: skip


def normalise(name: str) -> str:
    """The name in the form in which package indexes compare names (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


class Distribution(Struct):
    """One installed distribution, by its metadata."""

    name: str
    version: str
    folder: str
    """The folder on sys.path that holds it."""
    info: str
    """The path of its dist-info or egg-info."""
    installer: str = ""
    url: str = ""
    editable: bool = False
    tags: list[str] = field(default_factory=list)
    requires: list[str] = field(default_factory=list)
    requires_python: str = ""
    damaged: list[str] = field(default_factory=list)


def parse_metadata(text: str) -> dict[str, Any]:
    """Name, version, Requires-Dist and Requires-Python of a METADATA or PKG-INFO file."""
    head = text.split("\n\n", 1)[0]
    found: dict[str, Any] = {"requires": []}
    for line in head.splitlines():
        key, _, value = line.partition(":")
        key = key.lower()
        if key in ("name", "version", "requires-python"):
            found[key] = value.strip()
        elif key == "requires-dist":
            found["requires"].append(value.strip())
    return found


def parse_wheel_tags(text: str) -> list[str]:
    """The tags in a WHEEL file: ['cp311-cp311-manylinux_2_28_x86_64']."""
    return [line.partition(":")[2].strip() for line in text.splitlines() if line.lower().startswith("tag:")]


def parse_direct_url(text: str) -> tuple[str, bool]:
    """(address that it was installed from, whether that is an editable folder) of a direct_url.json (PEP 610)."""

    try:
        said = json_text.loads(text)
    except ValueError:
        return "", False
    if not isinstance(said, dict):
        return "", False
    folder = said.get("dir_info")
    return str(said.get("url", "")), bool(folder.get("editable")) if isinstance(folder, dict) else False


def parse_record(text: str) -> list[tuple[str, int | None]]:
    """(path, bytes or None) of each file in a RECORD, where a path with a comma is quoted."""
    files: list[tuple[str, int | None]] = []
    for line in text.splitlines():
        if not line:
            continue
        if line.startswith('"'):
            path, _, rest = line[1:].partition('",')
            parts = rest.split(",")
        else:
            path, *parts = line.split(",")
        size = parts[-1] if parts else ""
        files.append((path, int(size) if size.isdigit() else None))
    return files


def from_names(folder: str, names: Iterable[str]) -> tuple[list[Distribution], list[str]]:
    """The distributions in a folder, by the names in it alone, and the leftovers of an interrupted pip (`~orch`)."""
    found: list[Distribution] = []
    leftovers: list[str] = []
    in_place: list[Distribution] = []
    for name in names:
        if name.startswith("~"):
            leftovers.append(name)
            continue
        match = DIST_INFO.match(name) or EGG_INFO.match(name)
        if match:
            version = match["version"].replace("_", "+") if "_" in match["version"] else match["version"]
            found.append(Distribution(normalise(match["name"]), version, folder, f"{folder}/{name}"))
        elif name.endswith(".egg-info"):
            found.append(Distribution(normalise(name[:-9]), "", folder, f"{folder}/{name}"))
        elif name in IN_PLACE:
            in_place.append(Distribution(IN_PLACE[name], "", folder, f"{folder}/{name}"))
    known = {dist.name for dist in found}
    return found + [dist for dist in in_place if dist.name not in known], leftovers


def read_details(host: Host, dist: Distribution) -> None:
    """Fills in the fields that only the files of the metadata hold: installer, origin, tags, requirements."""
    metadata = host.read(f"{dist.info}/METADATA", limit=400_000)
    if not metadata.ok:
        metadata = host.read(f"{dist.info}/PKG-INFO", limit=400_000)
    if metadata.ok:
        said = parse_metadata(metadata.text)
        dist.version = said.get("version") or dist.version
        dist.requires = said["requires"]
        dist.requires_python = said.get("requires-python", "")
    installer = host.read(f"{dist.info}/INSTALLER", limit=1_000)
    dist.installer = installer.text.strip() if installer.ok else ""
    wheel = host.read(f"{dist.info}/WHEEL", limit=20_000)
    dist.tags = parse_wheel_tags(wheel.text) if wheel.ok else []
    origin = host.read(f"{dist.info}/direct_url.json", limit=20_000)
    if origin.ok:
        dist.url, dist.editable = parse_direct_url(origin.text)


def damaged_files(host: Host, dist: Distribution) -> list[str]:
    """The libraries and first modules in RECORD that are missing or shorter than it says."""
    record = host.read(f"{dist.info}/RECORD", limit=16_000_000)
    if not record.ok:
        return []
    size_of = getattr(host, "size", None)
    bad: list[str] = []
    for path, size in parse_record(record.text):
        vital = path.count("/") == 1 and path.endswith(("/version.py", "/__init__.py", "/_version.py"))
        if not vital and not LIBRARY.search(path):
            continue
        full = f"{dist.folder}/{path}"
        if not host.exists(full):
            bad.append(path)
        elif size and size_of is not None:
            there = size_of(full)
            # Conda and auditwheel rewrite run paths, which makes a library a little longer; a truncated one is shorter.
            if there is not None and there < size and (LIBRARY.search(path) or there == 0):
                bad.append(path)
    return bad


def versions(found: Iterable[Distribution]) -> dict[str, Any]:
    """Name to version, of the first folder that holds a distribution, as on sys.path; a list where that folder holds it twice."""
    by_name: dict[str, list[Distribution]] = {}
    for dist in found:
        by_name.setdefault(dist.name, []).append(dist)
    result: dict[str, Any] = {}
    for name, several in by_name.items():
        here = [dist.version for dist in several if dist.folder == several[0].folder]
        distinct = sorted(set(here))
        result[name] = distinct if len(distinct) > 1 else here[0]
    return result


def parse_torch_version(text: str) -> dict[str, Any]:
    """The values that torch/version.py assigns to version, cuda, hip, xpu, debug and git_version; None where it assigns None."""
    said: dict[str, Any] = {}
    for match in re.finditer(
        r"^(?P<key>__version__|cuda|hip|xpu|rocm|debug|git_version)[ \t]*(?::[^=\n]+)?=[ \t]*(?P<value>\S.*)$", text, re.MULTILINE
    ):
        value = match["value"]
        key = "version" if match["key"] == "__version__" else match["key"]
        if value in ("None", "True", "False"):
            said[key] = {"None": None, "True": True, "False": False}[value]
        elif value[:1] in "'\"" and value[-1:] == value[:1] and len(value) > 1:
            said[key] = value[1:-1]
    return said


def required_version(requires: Iterable[str], name: str) -> str:
    """The specifier that lines of Requires-Dist give for a name, such as '==2.10.0'; '' without one. Extras are not considered."""
    for line in requires:
        match = re.match(r"^\s*([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*\(?\s*([^;)]*)", line)
        if match and normalise(match[1]) == name and "extra ==" not in line:
            return match[2].strip().replace(" ", "")
    return ""


def conda_packages(names: Iterable[str]) -> Mapping[str, str]:
    """Conda's own packages from the names in conda-meta (`pytorch-2.1.0-py3.10_cuda12.1_0.json`): name to 'version build'."""
    found: dict[str, str] = {}
    for name in names:
        if name.endswith(".json"):
            parts = name[:-5].rsplit("-", 2)
            if len(parts) == 3:
                found[parts[0].lower()] = f"{parts[1]} {parts[2]}"
    return found
