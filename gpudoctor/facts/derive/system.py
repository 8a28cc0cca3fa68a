"""Facts about the system that need joins: names of GPUs that only a runtime gives, driver packages, libraries of WSL, nodes of
containers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown

LINUX_DRIVERS = {
    "nvidia": ("nvidia-driver-", "nvidia-dkms-", "libnvidia-compute-", "nvidia-kernel-", "cuda-drivers", "nvidia-utils-", "nvidia-open",
               "xorg-x11-drv-nvidia", "akmod-nvidia", "kmod-nvidia", "nvidia-headless-"),
    "amd": ("amdgpu-dkms", "amdgpu-install-dkms", "amdgpu-core-dkms"),
    "intel": ("intel-i915-dkms", "i915-dkms", "intel-platform-vsec-dkms", "intel-platform-cse-dkms", "xe-dkms"),
}  # fmt: skip
EXACT = ("nvidia-driver", "nvidia-utils", "nvidia-dkms", "nvidia-open-dkms", "libcuda1", "nvidia")
HARMLESS = ("nvidia-container-", "nvidia-cuda-", "nvidia-driver-assistant", "amdgpu-dkms-firmware", "nvidia-settings", "nvidia-docker")
WSL_LIB = "/usr/lib/wsl/lib"
PCI_VENDORS = {"intel": "8086", "nvidia": "10de", "amd": "1002"}


def linux_drivers(packages: Iterable[str], vendor: str) -> list[str]:
    """The installed packages that bring a vendor's Linux kernel driver or its user-mode libraries, sorted."""
    found = []
    for name in packages:
        plain = name.partition(":")[0]
        if plain.startswith(HARMLESS):
            continue
        if plain.startswith(LINUX_DRIVERS[vendor]) or (vendor == "nvidia" and plain in EXACT):
            found.append(plain)
    return sorted(found)


def nvidia_of_windows(version: str) -> str | None:
    """NVIDIA's version of a Windows driver, '551.86' for '31.0.15.5186': its last five digits. None for a version of another form."""
    digits = "".join(version.split(".")[-2:]) if version.count(".") == 3 else ""
    return f"{digits[-5:-2]}.{digits[-2:]}" if len(digits) >= 5 and digits.isdigit() else None


def shadowed(facts: Facts, soname: str) -> Fact:
    """The path of a library that the loader finds before the one in /usr/lib/wsl/lib; absent where it finds that one, or none."""
    every = facts.get("libraries.all")
    if not isinstance(every, Known):
        return Unknown("not recorded")
    paths = every.value.get(soname) or []
    if not paths or paths[0].startswith(WSL_LIB):
        return Absent("ldconfig -p")
    return Known(paths[0], "ldconfig -p")


def _named_by_runtime(gpu: dict[str, Any], facts: Facts) -> dict[str, Any]:
    """The record of a GPU, completed by the name that OpenCL, SYCL or nvidia-smi give where only its vendor is known, as in WSL2."""
    if gpu.get("name") != {"intel": "Intel GPU", "nvidia": "NVIDIA GPU", "amd": "AMD GPU"}.get(str(gpu.get("vendor"))):
        return gpu
    from gpudoctor.facts.probes.device_table import lookup, lookup_name

    devices = [*(facts.value("opencl.devices") or []), *(facts.value("sycl.devices") or []), *(facts.value("nvidia.devices") or [])]
    for device in devices:
        name = str(device.get("name") or "")
        if device.get("type") not in (None, "gpu"):
            continue
        row = lookup_name(str(gpu["vendor"]), name)
        # A runtime without a name of its own prints the device id: 'Intel(R) Graphics [0x56a0]'.
        by_id = re.search(r"\[0x([0-9a-f]{4})\]", name, re.IGNORECASE)
        if row is None and by_id:
            row = lookup(PCI_VENDORS[str(gpu["vendor"])], by_id[1])
            name = row.name or name if row else name
        if row is not None:
            extra = {key: getattr(row, key) for key in ("generation", "arch", "kind", "compute_capability", "gfx", "min_kernel")}
            return {**gpu, **{key: value for key, value in extra.items() if value}, "name": name, "address": name, "known_id": True}
    return gpu


def derive(facts: Facts) -> Iterable[tuple[str, Fact]]:
    gpus = facts.value("gpus")
    if gpus:
        named = [_named_by_runtime(gpu, facts) for gpu in gpus]
        if named != gpus:
            yield "gpus", Known(named, "runtime")
    packages = facts.get("packages")
    for vendor in LINUX_DRIVERS:
        name = f"system.linux_driver.{vendor}"
        if isinstance(packages, Known):
            found = linux_drivers(packages.value, vendor)
            yield name, Known(found, "packages") if found else Absent("packages")
        else:
            yield name, Unknown("not recorded")
    if facts.value("wsl.version"):
        yield "wsl.shadowed.libcuda", shadowed(facts, "libcuda.so.1")
        yield "wsl.shadowed.libd3d12", shadowed(facts, "libd3d12.so")
        yield from _found_by_loader(facts)
    windows = facts.get("windows.driver.nvidia")
    if isinstance(windows, Known):
        version = nvidia_of_windows(str(windows.value))
        yield "windows.driver.nvidia_version", Known(version, "Win32_VideoController") if version else Unknown("unparsable")
    yield from _container(facts)


def _found_by_loader(facts: Facts) -> Iterable[tuple[str, Fact]]:
    """Whether programs find the libraries that Windows mounts: by the loader's cache or by LD_LIBRARY_PATH."""
    by_path = WSL_LIB in str(facts.value("env.LD_LIBRARY_PATH") or "")
    cached = facts.get("libraries.cached")
    if by_path:
        yield "wsl.lib_found", Known(True, "LD_LIBRARY_PATH")
    elif isinstance(cached, Known):
        found = any(str(path).startswith(WSL_LIB) for path in cached.value.values())
        yield "wsl.lib_found", Known(found, "ldconfig -p")
    else:
        yield "wsl.lib_found", Unknown("not recorded")


def _container(facts: Facts) -> Iterable[tuple[str, Fact]]:
    """The vendors whose GPUs the container sees on the bus although it has none of their device nodes."""
    if not isinstance(facts.get("container.kind"), Known):
        return
    gpus = facts.get("gpus")
    if not isinstance(gpus, Known):
        yield "container.closed_vendors", Unknown("not recorded")
        return
    by_vendor: dict[str, list[Any]] = {}
    for gpu in gpus.value:
        by_vendor.setdefault(str(gpu.get("vendor")), []).append(gpu.get("node"))
    closed = sorted(vendor for vendor, nodes in by_vendor.items() if vendor != "graphcore" and all(node is None for node in nodes))
    yield "container.closed_vendors", Known(closed, "/dev")


DERIVATION = Derivation(
    "system",
    (
        FactSpec("system.linux_driver.nvidia", "list", "installed packages of NVIDIA's Linux driver"),
        FactSpec("system.linux_driver.amd", "list", "installed packages of AMD's out-of-tree kernel driver"),
        FactSpec("system.linux_driver.intel", "list", "installed packages of Intel's out-of-tree kernel drivers"),
        FactSpec("wsl.shadowed.libcuda", "text", "a libcuda.so.1 that the loader finds before the one of Windows"),
        FactSpec("wsl.shadowed.libd3d12", "text", "a libd3d12.so that the loader finds before the one of Windows"),
        FactSpec("wsl.lib_found", "bool", "whether programs find the libraries of /usr/lib/wsl/lib"),
        FactSpec("windows.driver.nvidia_version", "dotted", "NVIDIA's version of the Windows driver, such as 551.86"),
        FactSpec("container.closed_vendors", "list", "vendors whose cards are on the bus while the container has no node of them"),
    ),
    derive,
)
