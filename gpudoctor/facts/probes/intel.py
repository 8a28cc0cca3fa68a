"""Intel's user-mode driver (compute runtime, its compiler, Level Zero), firmware, and the options given to i915 and xe."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system import json_text
from gpudoctor.system.host import Host

# Names of deb packages before and after their renaming in 2024, then of rpm and pacman packages. The first installed one counts.
COMPUTE_RUNTIME = ("intel-opencl-icd", "intel-compute-runtime", "intel-opencl", "intel-opencl-icd-legacy1", "intel-compute-runtime-legacy",
                   "intel-opencl-icd-legacy", "intel-compute-runtime-legacy-bin", "intel-compute-runtime-bin")  # fmt: skip
LEVEL_ZERO_DRIVER = ("libze-intel-gpu1", "intel-level-zero-gpu", "intel-level-zero", "libze-intel-gpu-legacy1",
                     "intel-level-zero-gpu-legacy1")  # fmt: skip
LEVEL_ZERO_LOADER = ("libze1", "level-zero", "level-zero-loader", "oneapi-level-zero", "level-zero-bin", "libze_loader1")
COMPILER = ("libigc2", "libigc1", "intel-igc-core-2", "intel-igc-core", "intel-igc-libs", "intel-graphics-compiler", "libigc")
GMMLIB = ("libigdgmm12", "intel-gmmlib", "libigdgmm11", "intel-gmmlib-libs")
NPU = ("intel-level-zero-npu", "intel-driver-compiler-npu", "intel-npu-driver", "intel-npu-compiler")

DRIVER_LIBRARIES = ("libze_intel_gpu.so.1", "libze_intel_gpu_legacy1.so.1", "libze_intel_gpu.so")
LOADER_LIBRARIES = ("libze_loader.so.1", "libze_loader.so")
LIBRARY_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib/x86_64-linux-gnu", "/usr/local/lib",
                   "/usr/lib/aarch64-linux-gnu")  # fmt: skip
OPENCL_DRIVERS = ("intel-opencl/libigdrcl.so", "intel-opencl/libigdrcl_legacy1.so")

_UPSTREAM = lazy(r"^(?:\d+:)?v?(\d+(?:\.\d+)+)")
_GUC = lazy(r"GuC firmware \S{1,80}?guc\S{0,80} version:? ?(\d+\.\d+(?:\.\d+)?)", re.IGNORECASE)
_OPTION = lazy(r"^\s*options\s+(i915|xe)\s+(.*)$")
_BLACKLIST = lazy(r"^\s*(?:blacklist\s+(i915|xe)|install\s+(i915|xe)\s+/(?:usr/)?bin/(?:false|true))\s*(?:#.*)?$")


def upstream(version: str) -> str | None:
    """The upstream part of a package version, '23.17.26241.33' of '23.17.26241.33-647~22.04'; None for a version of another form."""
    found = _UPSTREAM.match(version.strip())
    return found[1] if found else None


def first_package(packages: Mapping[str, Any], names: Iterable[str]) -> tuple[str, str] | None:
    """(name, upstream version) of the first of these packages that is installed, also as name:amd64; None where none is."""
    for name in names:
        for candidate in (name, f"{name}:amd64"):
            version = packages.get(candidate)
            if isinstance(version, str) and (plain := upstream(version)):
                return name, plain
    return None


def parse_guc(lines: Iterable[str]) -> str | None:
    """The version of the GuC firmware in lines of the kernel log; None where none names it."""
    for line in lines:
        if found := _GUC.search(line):
            return found[1]
    return None


def parse_guc_info(text: str) -> str | None:
    """The version in the debugfs file guc_info: 'version: wanted 70.5.1, found 70.5.1' or 'found: 70.20.0'."""
    found = re.search(r"found:?\s+(\d+\.\d+(?:\.\d+)?)", text) or re.search(r"version:?\s+(\d+\.\d+(?:\.\d+)?)", text)
    return found[1] if found else None


def parse_modprobe(text: str) -> tuple[dict[str, str], list[str]]:
    """(options of i915 and xe, those of them that may not load) in one file of modprobe.d(5)."""
    options: dict[str, str] = {}
    blacklisted: list[str] = []
    for line in text.splitlines() if "i915" in text or "xe" in text else ():
        if found := _OPTION.match(line):
            options[found[1]] = " ".join(filter(None, (options.get(found[1], ""), found[2].split("#")[0].strip())))
        elif found := _BLACKLIST.match(line):
            blacklisted.append(found[1] or found[2])
    return options, blacklisted


def parse_cmdline(text: str) -> tuple[dict[str, str], list[str]]:
    """(options of i915 and xe, those of them that may not load) on the kernel's command line: i915.force_probe=56a0
    modprobe.blacklist=xe,i915."""
    options: dict[str, str] = {}
    blacklisted: list[str] = []
    for word in text.split():
        key, _, value = word.partition("=")
        driver, _, name = key.partition(".")
        if driver in ("i915", "xe") and name:
            options[driver] = " ".join(filter(None, (options.get(driver, ""), f"{name}={value}")))
        elif key in ("modprobe.blacklist", "module_blacklist", "rd.driver.blacklist"):
            blacklisted += [module for module in value.split(",") if module in ("i915", "xe")]
    return options, blacklisted


def force_probe(options: str) -> str | None:
    """The value of force_probe among the options of a driver: '56a0' of 'enable_guc=3 force_probe=56a0'; None without it."""
    found = re.search(r"(?:^|\s)force_probe=(\S*)", options)
    return found[1].strip('"') if found else None


def _packages(facts: Facts) -> Collected:
    packages = facts.get("packages")
    for name, names in (
        ("intel.compute_runtime", COMPUTE_RUNTIME), ("intel.igc", COMPILER), ("intel.gmmlib", GMMLIB),
        ("level_zero.loader", LEVEL_ZERO_LOADER), ("intel.level_zero", LEVEL_ZERO_DRIVER), ("intel.npu_driver", NPU),
    ):  # fmt: skip
        if not isinstance(packages, Known):
            why: Fact = Absent(packages.source) if isinstance(packages, Absent) else packages
            yield f"{name}.version", why if isinstance(why, Unknown) else Unknown("not recorded")
            yield f"{name}.package", why if isinstance(why, Unknown) else Unknown("not recorded")
            continue
        found = first_package(packages.value, names)
        yield f"{name}.version", Known(found[1], f"package {found[0]}") if found else Absent(packages.source)
        yield f"{name}.package", Known(found[0], packages.source) if found else Absent(packages.source)
    if isinstance(packages, Known):
        old = [n for n in ("intel-level-zero-gpu", "level-zero") if n in packages.value]
        new = [n for n in ("libze-intel-gpu1", "libze1") if n in packages.value]
        yield "intel.packages.mixed", Known(old + new if old and new else [], packages.source)
        yield "intel.dkms", Known(any(n in packages.value for n in ("intel-i915-dkms", "intel-platform-vsec-dkms")), packages.source)


def _library(host: Host, facts: Facts, names: Iterable[str]) -> Fact:
    libraries = facts.get("libraries")
    known = libraries.value if isinstance(libraries, Known) and isinstance(libraries.value, Mapping) else {}
    for name in names:
        if isinstance(known.get(name), str):
            return Known(known[name], libraries.source if isinstance(libraries, Known) else "")
        for folder in LIBRARY_FOLDERS:
            if host.exists(f"{folder}/{name}"):
                return Known(f"{folder}/{name}", folder)
    return libraries if isinstance(libraries, Unknown) else Absent("ldconfig -p")


def _opencl_driver(host: Host) -> Fact:
    for folder in LIBRARY_FOLDERS:
        for name in OPENCL_DRIVERS:
            if host.exists(f"{folder}/{name}"):
                return Known(f"{folder}/{name}", folder)
    return Absent("/usr/lib")


def _options(host: Host, facts: Facts) -> Collected:
    options: dict[str, str] = {}
    blacklisted: list[str] = []
    sources = []
    for folder in ("/etc/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d"):
        for name in host.listdir(folder):
            file = host.read(f"{folder}/{name}", limit=100_000) if name.endswith(".conf") else None
            if file is not None and file.ok:
                sources.append(parse_modprobe(file.text))
    sources.append(parse_cmdline(str(facts.value("kernel.cmdline", ""))))
    for given_options, blocked in sources:
        for driver, text in given_options.items():
            options[driver] = " ".join(filter(None, (options.get(driver, ""), text)))
        blacklisted += [module for module in blocked if module not in blacklisted]
    for driver in ("i915", "xe"):
        live = host.read(f"/sys/module/{driver}/parameters/force_probe", limit=4000)
        wanted = live.text.strip() if live.ok else force_probe(options.get(driver, ""))
        given = wanted if wanted and wanted not in ("(null)", "*none*") else None
        yield f"intel.force_probe.{driver}", Known(given, "module parameters") if given else Absent("module parameters")
    yield "intel.module_options", Known(options, "/etc/modprobe.d") if options else Absent("/etc/modprobe.d")
    yield "intel.blacklisted", Known(blacklisted, "/etc/modprobe.d") if blacklisted else Absent("/etc/modprobe.d")


def _guc(host: Host, facts: Facts) -> Fact:
    log = facts.get("kernel.log")
    if isinstance(log, Known) and (version := parse_guc(map(str, log.value))):
        return Known(version, "kernel log")
    for minor in host.listdir("/sys/kernel/debug/dri")[:16]:
        for place in ("gt0/uc/guc_info", "gt/uc/guc_info", "i915_guc_info"):
            text = host.read(f"/sys/kernel/debug/dri/{minor}/{place}", limit=20_000)
            if text.ok and (version := parse_guc_info(text.text)):
                return Known(version, "debugfs")
    return Unknown("not in the text") if isinstance(log, Known) else log if isinstance(log, Unknown) else Unknown("not recorded")


def parse_discovery(text: str) -> list[dict[str, Any]] | None:
    """The devices in `xpu-smi discovery -j`, which is a list or a single device; None for an error object and any other output."""

    try:
        answer = json_text.loads(text)
    except ValueError:
        return None
    if not isinstance(answer, Mapping):
        return None
    listed = answer.get("device_list", [answer] if "device_id" in answer else None)
    if not isinstance(listed, list):
        return None
    keys = {"device_id": "index", "device_name": "name", "pci_bdf_address": "address", "drm_device": "card_node",
            "driver_version": "driver", "pci_device_id": "pci_id", "gfx_firmware_version": "firmware"}  # fmt: skip
    devices = []
    for entry in listed[:64]:
        if isinstance(entry, Mapping):
            device = {ours: entry[theirs] for theirs, ours in keys.items() if entry.get(theirs) not in (None, "")}
            for theirs, ours in (("memory_physical_size_byte", "memory_bytes"), ("max_mem_alloc_size_byte", "max_alloc_bytes")):
                if str(entry.get(theirs, "")).isdigit():
                    device[ours] = int(entry[theirs])
            if device:
                devices.append(device)
    return devices


def _xpu_smi(host: Host) -> Collected:
    ran = host.run(["xpu-smi", "discovery", "-j"], timeout=5.0)
    devices = parse_discovery(ran.stdout) if ran.answered else None
    if devices is None:
        yield "xpu_smi.devices", Absent("xpu-smi") if ran.missing else Unknown(ran.why_not())
    else:
        yield "xpu_smi.devices", Known(_detailed(host, devices), "xpu-smi discovery -j")
    error = re.search(r'"error":\s*"([^"]{1,200})"', ran.stdout)
    silent: Fact = Absent("xpu-smi") if ran.answered else Unknown(ran.why_not())
    yield "xpu_smi.error", Known(error[1], "xpu-smi discovery -j") if error else silent


def _detailed(host: Host, devices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for number, device in enumerate(devices[:4]):
        if host.remaining() < 3:
            break
        index = str(device.get("index", number))
        answer = parse_discovery(host.run(["xpu-smi", "discovery", "-d", index, "-j"], timeout=3.0).stdout)
        device.update(answer[0] if answer and len(answer) == 1 else {})
    return devices


def collect(host: Host, facts: Facts) -> Collected:
    yield from _packages(facts)
    yield "level_zero.loader", _library(host, facts, LOADER_LIBRARIES)
    yield "level_zero.driver", _library(host, facts, DRIVER_LIBRARIES)
    yield "intel.opencl_driver", _opencl_driver(host)
    yield from _options(host, facts)
    yield "intel.guc.version", _guc(host, facts)
    vendors = facts.value("gpus", [])
    if not any(isinstance(gpu, Mapping) and gpu.get("vendor") == "intel" for gpu in vendors or []):
        yield "xpu_smi.devices", Unknown("not probed")
        return
    yield from _xpu_smi(host)


PROBE = Probe(
    "intel",
    provides=(
        FactSpec("intel.compute_runtime.version", "dotted", "Intel's OpenCL driver (compute runtime, NEO) as installed"),
        FactSpec("intel.compute_runtime.package", "text", "the package that holds it"),
        FactSpec("intel.level_zero.version", "dotted", "Intel's Level Zero GPU driver as installed"),
        FactSpec("intel.level_zero.package", "text", "the package that holds it"),
        FactSpec("intel.igc.version", "dotted", "Intel's graphics compiler"),
        FactSpec("intel.igc.package", "text", "the package that holds it"),
        FactSpec("intel.gmmlib.version", "dotted", "Intel's graphics memory library"),
        FactSpec("intel.gmmlib.package", "text", "the package that holds it"),
        FactSpec("intel.npu_driver.version", "dotted", "the user-mode driver of the neural processing unit"),
        FactSpec("intel.npu_driver.package", "text", "the package that holds it"),
        FactSpec("intel.packages.mixed", "list", "driver packages of the old and the new naming side by side; empty when not mixed"),
        FactSpec("intel.dkms", "bool", "Intel's out-of-tree kernel driver is installed"),
        FactSpec("level_zero.loader.version", "dotted", "the Level Zero loader as installed"),
        FactSpec("level_zero.loader.package", "text", "the package that holds it"),
        FactSpec("level_zero.loader", "text", "path of libze_loader.so.1"),
        FactSpec("level_zero.driver", "text", "path of libze_intel_gpu.so.1"),
        FactSpec("intel.opencl_driver", "text", "path of libigdrcl.so"),
        FactSpec("intel.force_probe.i915", "text", "i915.force_probe as given"),
        FactSpec("intel.force_probe.xe", "text", "xe.force_probe as given"),
        FactSpec("intel.module_options", "map", "options of i915 and xe from /etc/modprobe.d and the command line"),
        FactSpec("intel.blacklisted", "list", "which of i915 and xe are kept from loading"),
        FactSpec("intel.guc.version", "dotted", "GuC firmware that was loaded"),
        FactSpec(
            "xpu_smi.devices", "records", "what xpu-smi lists", item="xpu_device",
            fields={"index": "number", "name": "name", "address": "PCI address", "card_node": "card node", "driver": "driver version",
                    "pci_id": "device id", "firmware": "firmware version", "memory_bytes": "memory",
                    "max_alloc_bytes": "largest allocation"},
        ),
        FactSpec("xpu_smi.error", "text", "what xpu-smi prints instead of devices"),
    ),
    collect=collect,
    needs=("packages", "libraries", "kernel.cmdline", "kernel.log", "gpus"),
)  # fmt: skip
