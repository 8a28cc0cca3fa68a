"""OpenCL: the loader, the files that register vendors' drivers (ICD files), and the platforms that result."""

from __future__ import annotations

import re
import sys
from typing import Any

from gpudoctor.facts.probes import _clinfo
from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.facts.probes.libraries import is_there, named_by_the_user
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.system.host import Host

_VENDORS = "/etc/OpenCL/vendors"
_LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib",
    "/usr/local/lib",
    "/usr/lib/x86_64-linux-gnu/nvidia/current", "/usr/lib/x86_64-linux-gnu/intel-opencl", "/usr/lib64/intel-opencl",
    "/run/opengl-driver/lib",
    "/usr/lib/wsl/lib",
)  # fmt: skip
_BY_LIBRARY = (
    ("nvidia-opencl", "nvidia"), ("rusticl", "rusticl"), ("mesaopencl", "clover"), ("amdocl", "amd"), ("igdrcl", "intel"),
    ("intelocl", "intel-cpu"),
    ("alteracl", "fpga"), ("beignet", "beignet"), ("libcl.so", "beignet"), ("pocl", "pocl"), ("clvk", "clvk"), ("mali", "arm"),
)  # fmt: skip


def icd_kind(library: str, file: str) -> str:
    """The kind of driver that an ICD file registers, by the name of the library in it, else by the name of the file."""
    for text in (library.lower().rpartition("/")[2] or library.lower(), library.lower(), file.lower().rpartition("/")[2]):
        for mark, kind in _BY_LIBRARY:
            if mark in text:
                return kind
    name = file.lower()
    return next((k for m, k in (("nvidia", "nvidia"), ("amd", "amd"), ("intel", "intel"), ("mesa", "clover")) if m in name), "other")


def parse_icd(text: str) -> tuple[str, bool]:
    """(library that an ICD file names, whether it is exactly one line without a carriage return, as the loaders need it)."""
    name = text.strip().splitlines()[0].strip() if text.strip() else ""
    return name, text.rstrip("\n") == name and text.count("\n") <= 1 and bool(name)


def _library(host: Host, facts: Facts, name: str) -> Any:
    """Whether the dynamic linker would find the library: True, False or Unknown."""
    if not name:
        return False
    if name.startswith("/"):
        return is_there(host, name)
    libraries = facts.value("libraries", {})
    if isinstance(libraries, dict) and (name in libraries or any(name.startswith(f"{known}.") for known in libraries)):
        return True
    folders = [*named_by_the_user(host, facts), *_LIBRARY_FOLDERS]
    folders += [f"/opt/{n}/{sub}" for n in host.listdir("/opt") if n.startswith("rocm") for sub in ("lib", "opencl/lib")]
    if any(host.exists(f"{folder}/{name}") for folder in folders):
        return True
    stem = name.split(".so")[0] + ".so"
    if any(str(known).startswith(stem) for known in libraries) or any(
        entry.startswith(stem) for folder in folders for entry in host.listdir(folder) if host.origin == "capture"
    ):
        return True
    return False if host.origin == "live" else Unknown("not recorded")


def _folder(host: Host) -> tuple[str, bool]:
    """(folder that the loader reads, whether a variable replaces the usual one)."""
    for name in ("OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"):
        value = host.env(name)
        if value:
            return value.rstrip("/") or "/", True
    return _VENDORS, False


def _names_a_library(path: str) -> bool:
    """Whether a path is that of a library. ocl-icd opens what OCL_ICD_VENDORS names as a driver where it is no folder and no ICD file."""
    return re.search(r"\.so(\.[0-9.]+)?$", path) is not None


def _icds(host: Host, facts: Facts) -> tuple[list[dict[str, Any]], list[str]]:
    """(records of opencl.icds, files in their folders that no loader reads)."""
    chosen, moved = _folder(host)
    direct = moved and _names_a_library(chosen)
    folders = [(_VENDORS, not moved)]
    if moved and not direct:
        folders.append((chosen, True))
    conda = host.env("CONDA_PREFIX")
    if conda:
        folders.append((f"{conda}/etc/OpenCL/vendors", False))
    records: list[dict[str, Any]] = []
    odd: list[str] = []
    for folder, active in dict(folders).items():
        names = [""] if folder.endswith(".icd") else host.listdir(folder)
        for name in names[:64]:
            path = f"{folder}/{name}" if name else folder
            if not path.endswith(".icd"):
                odd.append(path)
                continue
            text = host.read(path)
            library, clean = parse_icd(text.text) if text.ok else ("", False)
            records.append({
                "file": path, "library": library or Unknown("permission denied" if text.problem == "denied" else "not recorded"),
                "exists": _library(host, facts, library) if text.ok else Unknown("not recorded"), "active": active,
                "vendor": icd_kind(library, path), "readable": text.problem != "denied", "clean": clean if text.ok
                else Unknown("not recorded"),
            })  # fmt: skip
    named = dict.fromkeys((host.env("OCL_ICD_FILENAMES") or "").split(":"), "OCL_ICD_FILENAMES")
    if direct:
        named[chosen] = "OCL_ICD_VENDORS"
    for library, variable in named.items():
        if library:
            records.append({
                "file": variable, "library": library, "exists": _library(host, facts, library), "active": True,
                "vendor": icd_kind(library, ""), "readable": True, "clean": True,
            })  # fmt: skip
    return records, odd


def _loaders(host: Host, facts: Facts) -> list[str]:
    """Every libOpenCL.so.1 that a program may load, in the dynamic linker's order."""
    found: list[str] = []
    for folder in named_by_the_user(host, facts):
        if host.exists(f"{folder}/libOpenCL.so.1"):
            found.append(f"{folder}/libOpenCL.so.1")
    conda = host.env("CONDA_PREFIX")
    if conda and host.exists(f"{conda}/lib/libOpenCL.so.1"):
        found.append(f"{conda}/lib/libOpenCL.so.1")
    libraries = facts.value("libraries", {})
    path = libraries.get("libOpenCL.so.1") if isinstance(libraries, dict) else None
    system = [str(path)] if path else [f"{f}/libOpenCL.so.1" for f in _LIBRARY_FOLDERS if host.exists(f"{f}/libOpenCL.so.1")]
    found += system[:1]
    if not system and host.platform in ("linux", "container", "wsl2"):
        found += [f"{f}/{n}" for f in _LIBRARY_FOLDERS[:7] for n in host.listdir(f) if n.startswith("libOpenCL.so.1")][:1]
    return list(dict.fromkeys(found))


def _ask(host: Host) -> tuple[list[dict[str, Any]] | None, dict[str, str], str, str]:
    """(platforms or None, properties of the loader, source, reason why there are none) by clinfo."""
    reason = "tool missing"
    forms = ((["clinfo", "--json"], _clinfo.parse_json), (["clinfo", "--raw"], _clinfo.parse_raw), (["clinfo"], _clinfo.parse_plain))
    for argv, parse in forms:
        ran = host.run(argv, timeout=8.0)
        if ran.answered:
            parsed = parse(ran.stdout)
            if parsed is not None:
                return parsed[0], parsed[1], " ".join(argv), ""
        if ran.timed_out or ran.signal is not None:
            return None, {}, "clinfo", ran.why_not()
        reason = ran.why_not()
        if ran.missing and host.origin == "live":
            break
    ran = host.run(["clinfo", "-l"], timeout=8.0)
    if ran.ok and not ran.missing:
        return *_clinfo.parse_list(ran.stdout), "clinfo -l", ""
    return None, {}, "clinfo", reason if ran.missing or ran.not_recorded else ran.why_not()


def _ask_child(host: Host) -> tuple[list[dict[str, Any]] | None, str]:
    """(platforms or None, reason) by target/payloads/opencl_devices.py where clinfo is missing: in a child, since a driver may crash it."""
    from importlib import resources

    source = resources.files("gpudoctor.target.payloads").joinpath("opencl_devices.py").read_text(encoding="utf-8")
    ran = host.run_child([sys.executable, "-I", "-"], timeout=10.0, limit=1_000_000, env={}, stdin_text=source)
    parsed = _clinfo.parse_child(ran.stdout) if ran.ok else None
    return (None, ran.why_not()) if parsed is None else (parsed[0], parsed[1])


def collect(host: Host, facts: Facts) -> Collected:
    found: dict[str, Fact] = {}
    loaders = _loaders(host, facts)
    platforms, words, source, reason = _ask(host)
    if platforms is None and host.origin == "live" and not host.quick and not reason.startswith(("timeout", "crashed")) and loaders:
        platforms, reason = _ask_child(host)
        source = "our own OpenCL child"
    records, odd = _icds(host, facts)
    listed = bool(records or odd) or host.origin == "live" or (platforms is not None and not platforms)
    found["opencl.icds"] = Known(records, _VENDORS) if listed else Unknown("not recorded")
    found["opencl.odd_files"] = Known(odd, _VENDORS) if listed else Unknown("not recorded")
    found["opencl.loaders"] = Known(loaders, "libraries") if loaders or host.origin == "live" else Unknown("not recorded")
    if loaders:
        found["opencl.loader"] = Known(loaders[0], "libraries")
    else:
        found["opencl.loader"] = Absent("libraries") if facts.known("libraries") and platforms is None else Unknown("not recorded")
    version = words.get("CL_ICDL_VERSION")
    found["opencl.loader.vendor"] = Known(words["CL_ICDL_VENDOR"], source) if words.get("CL_ICDL_VENDOR") else Unknown("not recorded")
    found["opencl.loader.version"] = Known(version, source) if version and re.match(r"\d", version) else Unknown("not recorded")
    if platforms is None:
        found["opencl.platforms"] = found["opencl.devices"] = Unknown(reason)
        crashed = reason.startswith(("timeout", "crashed"))
        found["opencl.error"] = Known(reason, source) if crashed else Unknown(reason)
    else:
        devices = [
            dict(d, index=i, platform_index=n) for i, (n, d) in enumerate((n, d) for n, p in enumerate(platforms) for d in p["devices"])
        ]
        found["opencl.platforms"] = Known(platforms, source)
        found["opencl.devices"] = Known(devices, source)
        found["opencl.error"] = Absent(source)
    return tuple(found.items())


_DEVICE_FIELDS = {
    "index": "number over all platforms (ocl:N)", "platform_index": "platform number", "platform": "platform name", "name": "device name",
    "type": "gpu, cpu or accelerator", "vendor": "nvidia, amd, intel, cpu, other", "maker": "vendor text", "version": "OpenCL version text",
    "driver_version": "driver", "memory_bytes": "global memory", "max_alloc_bytes": "largest buffer", "compute_units": "compute units",
    "board": "card name", "address": "PCI address", "fp64": "double precision", "fp16": "half precision",
    "collectives": "work-group reductions",
}  # fmt: skip
PROBE = Probe(
    name="opencl",
    provides=(
        FactSpec("opencl.loader", "text", "the libOpenCL.so.1 that a program loads"),
        FactSpec("opencl.loaders", "list", "every libOpenCL.so.1 in the linker's way"),
        FactSpec("opencl.loader.vendor", "text", "who made the loader"),
        FactSpec("opencl.loader.version", "dotted", "version of the loader"),
        FactSpec(
            "opencl.icds", "records", "files that register OpenCL drivers", item="icd",
            fields={
                "file": "path", "library": "library named in it", "exists": "the library is there",
                "active": "the system's loader reads it",
                "vendor": "nvidia, amd, intel, intel-cpu, fpga, rusticl, clover, pocl, beignet, clvk, arm, other",
                "readable": "this user may read it", "clean": "one line, no carriage return",
            },
        ),
        FactSpec("opencl.odd_files", "list", "files among the ICD files that no loader reads"),
        FactSpec(
            "opencl.platforms", "records", "OpenCL platforms", item="platform",
            fields={"name": "name", "vendor": "vendor", "version": "version", "devices": "devices"},
        ),
        FactSpec("opencl.devices", "records", "devices of all platforms", item="cl_device", fields=_DEVICE_FIELDS),
        FactSpec("opencl.error", "text", "how asking OpenCL ended badly"),
    ),
    collect=collect,
    needs=("libraries", "env", "packages"),
)  # fmt: skip
