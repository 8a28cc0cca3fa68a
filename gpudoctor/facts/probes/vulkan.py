"""Vulkan: the loader, the files that register drivers (manifests), and the devices that result.

The loader searches by docs/LoaderDriverInterface.md of https://github.com/KhronosGroup/Vulkan-Loader, 'Driver Discovery on Linux'.
"""

from __future__ import annotations

import posixpath
from typing import Any

from gpudoctor.facts.probes import _vulkaninfo
from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.facts.probes.libraries import is_there, named_by_the_user
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.system import json_text
from gpudoctor.system.host import Host

FOLDERS = ("/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/usr/share/vulkan/icd.d", "/run/opengl-driver/share/vulkan/icd.d")
VARIABLES = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")
"""Variables that replace all folders; where both are set, the first counts."""
_ADDED = "VK_ADD_DRIVER_FILES"
_LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib",
    "/run/opengl-driver/lib",
)  # fmt: skip
_DRIVERS = (
    ("nvidia", "nvidia"), ("intel_hasvk", "hasvk"), ("intel", "anv"), ("radeon", "radv"), ("amdvlk", "amdvlk"), ("amd_icd", "amdvlk"),
    ("amd_pro", "amd"), ("lvp", "lavapipe"), ("nouveau", "nvk"), ("nvk", "nvk"), ("dzn", "dzn"), ("moltenvk", "moltenvk"),
    ("virtio", "venus"), ("gfxstream", "gfxstream"), ("freedreno", "turnip"), ("broadcom", "v3dv"), ("panfrost", "panvk"),
    ("swiftshader", "swiftshader"), ("asahi", "honeykrisp"), ("powervr", "powervr"),
)  # fmt: skip
SERVES = {
    "nvidia": "nvidia", "nvk": "nvidia", "anv": "intel", "hasvk": "intel", "radv": "amd", "amdvlk": "amd", "amd": "amd",
    "honeykrisp": "apple", "moltenvk": "apple", "lavapipe": "cpu", "swiftshader": "cpu",
}  # fmt: skip
"""The vendor of the GPUs that a driver serves. Drivers that are not listed serve virtual machines and boards."""
MOST_FILES = 64


def driver_of(file: str, library: str) -> str:
    """The driver that a manifest registers, by the names that Mesa and the vendors give to manifest and library; 'other' for any else."""
    for text in (posixpath.basename(file).lower(), posixpath.basename(library).lower()):
        for mark, driver in _DRIVERS:
            if mark in text:
                return driver
    return "other"


def _exists(host: Host, facts: Facts, file: str, library: str) -> Any:
    """Whether the library of a manifest exists: True, False or Unknown. A relative path with a slash begins at the manifest's folder."""
    if "/" in library:
        path = library if library.startswith("/") else posixpath.normpath(posixpath.join(posixpath.dirname(file), library))
        return is_there(host, path)
    known = facts.value("libraries", {})
    if isinstance(known, dict) and library in known:
        return True
    if any(host.exists(f"{folder}/{library}") for folder in (*named_by_the_user(host, facts), *_LIBRARY_FOLDERS)):
        return True
    return False if host.origin == "live" else Unknown("not recorded")


def _library_in(manifest: str) -> str:
    """The library that the text of a manifest names; '' for what is no manifest."""
    try:
        table = json_text.loads(manifest)
    except ValueError:
        return ""
    icd = table.get("ICD") if isinstance(table, dict) else None
    library = icd.get("library_path") if isinstance(icd, dict) else None
    return library if isinstance(library, str) else ""


def _manifest(host: Host, facts: Facts, file: str, active: bool) -> dict[str, Any]:
    text = host.read(file, limit=100_000)
    library = _library_in(text.text) if text.ok else ""
    driver = driver_of(file, library)
    return {
        "file": file, "active": active, "driver": driver, "vendor": SERVES.get(driver, "other"),
        "library": library or Unknown("permission denied" if text.problem == "denied" else "not recorded"),
        "exists": _exists(host, facts, file, library) if library else Unknown("not recorded"),
        "readable": text.problem != "denied", "clean": bool(library) if text.ok else Unknown("not recorded"),
        "there": text.problem != "missing" if text.ok or text.problem in ("missing", "denied") else Unknown("not recorded"),
    }  # fmt: skip


def _in_folders(host: Host) -> list[str]:
    conda = host.env("CONDA_PREFIX")
    home = host.env("HOME")
    folders = [*([f"{home}/.local/share/vulkan/icd.d"] if home else []), *FOLDERS, *([f"{conda}/share/vulkan/icd.d"] if conda else [])]
    return [f"{folder}/{name}" for folder in folders for name in host.listdir(folder)[:MOST_FILES] if name.endswith(".json")]


def _icds(host: Host, facts: Facts) -> tuple[list[dict[str, Any]], str]:
    """(records of vulkan.icds, the variable that replaces the folders or '')."""
    variable = next((name for name in VARIABLES if host.env(name)), "")
    named = [path for path in (host.env(variable) or "").split(":") if path] if variable else []
    named = [file for path in named for file in ([path] if path.endswith(".json") else [f"{path}/{name}" for name in host.listdir(path)])]
    added = [path for path in (host.env(_ADDED) or "").split(":") if path.endswith(".json")]
    found = _in_folders(host)
    return [
        *(_manifest(host, facts, file, True) for file in dict.fromkeys((*added, *named))),
        *(_manifest(host, facts, file, not variable) for file in dict.fromkeys(found) if file not in named),
    ][:MOST_FILES], variable  # fmt: skip


def _loader(host: Host, facts: Facts) -> Fact:
    libraries = facts.value("libraries")
    path = libraries.get("libvulkan.so.1") if isinstance(libraries, dict) else None
    conda = host.env("CONDA_PREFIX")
    folders = (*named_by_the_user(host, facts), *([f"{conda}/lib"] if conda else []), *_LIBRARY_FOLDERS)
    path = path or next((f"{folder}/libvulkan.so.1" for folder in folders if host.exists(f"{folder}/libvulkan.so.1")), None)
    if path:
        return Known(str(path), "libraries")
    return Absent("libraries") if libraries is not None and host.origin == "live" else Unknown("not recorded")


def collect(host: Host, facts: Facts) -> Collected:
    if host.platform in ("windows", "macos"):
        return
    records, variable = _icds(host, facts)
    listed = bool(records) or host.origin == "live"
    yield "vulkan.icds", Known(records, FOLDERS[2]) if listed else Unknown("not recorded")
    yield "vulkan.moved_by", Known(variable, "environment") if variable else Absent("environment")
    yield "vulkan.loader", _loader(host, facts)
    ran = host.run(["vulkaninfo"], timeout=10.0)
    parsed = _vulkaninfo.parse(ran.stdout) if ran.answered else None
    if parsed is None and host.origin != "live":  # people often paste and record the short form
        summary = host.run(["vulkaninfo", "--summary"], timeout=10.0)
        parsed, ran = (_vulkaninfo.parse(summary.stdout), summary) if summary.answered else (None, ran)
    if parsed is None:
        why = ran.why_not()
        yield "vulkan.devices", Unknown(why)
        yield "vulkan.version", Unknown(why)
        yield "vulkan.error", Known(why, "vulkaninfo") if ran.timed_out or ran.signal is not None else Unknown(why)
        return
    devices, version = parsed
    yield "vulkan.devices", Known(devices, "vulkaninfo")
    yield "vulkan.version", Known(version, "vulkaninfo") if version else Unknown("unparsable")
    yield "vulkan.error", Absent("vulkaninfo")


PROBE = Probe(
    name="vulkan",
    provides=(
        FactSpec("vulkan.loader", "text", "the libvulkan.so.1 that a program loads"),
        FactSpec("vulkan.version", "dotted", "version of the Vulkan instance"),
        FactSpec("vulkan.moved_by", "text", "the variable that replaces the folders of driver manifests"),
        FactSpec(
            "vulkan.icds", "records", "manifests that register Vulkan drivers", item="vk_icd",
            fields={
                "file": "path", "library": "library named in it", "exists": "the library is there", "active": "the loader reads it",
                "driver": "radv, amdvlk, anv, hasvk, nvidia, nvk, lavapipe, dzn, moltenvk …", "vendor": "maker of the GPUs that it serves",
                "readable": "this user may read it", "clean": "it names a library", "there": "the file exists",
            },
        ),
        FactSpec(
            "vulkan.devices", "records", "Vulkan devices", item="vk_device",
            fields={
                "index": "number", "name": "name", "type": "discrete, integrated, virtual, cpu or other",
                "vendor": "nvidia, amd, intel, apple, cpu, other", "vendor_id": "PCI vendor", "device_id": "PCI device",
                "driver": "driver", "driver_info": "its version text", "api_version": "Vulkan version of the device",
                "memory_bytes": "largest heap of its own", "max_alloc_bytes": "largest allocation", "max_buffer_bytes": "largest buffer",
                "subgroup_size": "subgroup size", "storage_16bit": "16-bit values in storage buffers", "fp16": "half-precision arithmetic",
                "cooperative_matrix": "VK_KHR_cooperative_matrix",
            },
        ),
        FactSpec("vulkan.error", "text", "how asking Vulkan ended badly"),
    ),
    collect=collect,
    needs=("libraries", "env"),
)  # fmt: skip
