"""Vulkan: which GPUs have a registered driver, which are listed, and what is missing for the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._driver_packages import driver_package
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown

_MAKERS = ("nvidia", "amd", "intel")
_USERS = ("vulkan", "kp", "kompute", "taichi", "wgpu", "slangpy", "gpt4all")
"""Python packages that compute with Vulkan."""
_UNSAID = Unknown("not recorded")
_PROCESSOR = ("cpu",)
_LEAVING_OUT = (
    "VK_LOADER_DRIVERS_DISABLE", "VK_LOADER_DRIVERS_SELECT", "VK_LOADER_DEVICE_ID_FILTER", "VK_LOADER_VENDOR_ID_FILTER",
    "VK_LOADER_DRIVER_ID_FILTER",
)  # fmt: skip
"""Variables by which the loader drops drivers or devices. VK_LOADER_DEVICE_SELECT only sorts them."""


def _lists(device: Mapping[str, Any], gpu: Mapping[str, Any], alone: bool) -> bool:
    """Whether a Vulkan device is this GPU: by its PCI ids, else by its vendor where that has a single GPU here (`alone`)."""
    vendor_id, _, device_id = str(gpu.get("pci_id") or "").partition(":")
    if isinstance(device.get("device_id"), str) and device_id:
        return (device.get("vendor_id"), device["device_id"]) == (vendor_id, device_id)
    return alone and device.get("vendor") == gpu.get("vendor")


def _gpus(facts: Facts, devices: list[dict[str, Any]] | None, icds: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    physical = [gpu for gpu in facts.value("gpus", []) if isinstance(gpu, dict) and gpu.get("vendor") in _MAKERS]
    usable = [icd for icd in icds or [] if icd.get("active") and icd.get("exists") is not False and icd.get("readable")]
    broken = [icd for icd in icds or [] if icd.get("active") and icd.get("exists") is False]
    records = []
    for gpu in physical:
        vendor = str(gpu["vendor"])
        package, install = driver_package("vulkan-packages", vendor, facts)
        alone = sum(other["vendor"] == vendor for other in physical) == 1
        seen = _UNSAID if devices is None else any(_lists(device, gpu, alone) for device in devices)
        left_behind = next((icd for icd in broken if icd.get("vendor") == vendor), {})
        records.append({
            "address": gpu.get("address"), "name": gpu.get("name"), "vendor": vendor, "kind": gpu.get("kind", _UNSAID),
            "driver": gpu.get("driver", _UNSAID), "access": gpu.get("access", _UNSAID), "node_group": gpu.get("node_group", _UNSAID),
            "seen": seen, "registered": _UNSAID if icds is None else any(icd.get("vendor") == vendor for icd in usable),
            "broken_icd": _UNSAID if icds is None else left_behind.get("file"),
            "broken_library": _UNSAID if icds is None else left_behind.get("library"), "package": package, "install": install,
        })  # fmt: skip
    return records


def _wanted(facts: Facts) -> bool | Unknown:
    """Whether something here computes with Vulkan: its tools are installed, or a Python package needs it. The loader alone proves nothing,
    since desktops bring it."""
    distributions, packages = facts.value("python.distributions"), facts.value("packages")
    if distributions and any(name in distributions for name in _USERS):
        return True
    if facts.known("vulkan.devices") or (packages and "vulkan-tools" in packages):
        return True
    return False if distributions is not None and packages is not None else Unknown("not recorded")


def _left_out_by(facts: Facts) -> Fact:
    """'NAME=value' of the variable that leaves drivers or devices out of every listing. Mesa's layer drops the others only where it is told
    to show one device alone, by an exclamation mark or by the variable that forces the default."""
    if not facts.known("env"):
        return _UNSAID
    env = {name: str(value) for name, value in (facts.value("env") or {}).items() if value}
    names = [name for name in _LEAVING_OUT if name in env]
    names += [name for name in ("MESA_VK_DEVICE_SELECT", "DRI_PRIME") if env.get(name, "").endswith("!")]
    if env.get("MESA_VK_DEVICE_SELECT_FORCE_DEFAULT_DEVICE", "0") != "0":
        names.append("MESA_VK_DEVICE_SELECT_FORCE_DEFAULT_DEVICE")
    return Known(f"{names[0]}={env[names[0]]}", "env") if names else Absent("env")


def derive(facts: Facts) -> Iterable[tuple[str, Fact]]:
    devices, icds = facts.value("vulkan.devices"), facts.value("vulkan.icds")
    reason = facts.get("vulkan.devices")
    unknown = reason if isinstance(reason, Unknown) else _UNSAID
    records = _gpus(facts, devices, icds)
    yield "vulkan.gpus", Known(records, "gpus") if facts.known("gpus") else _UNSAID
    wanted = _wanted(facts)
    yield "vulkan.wanted", wanted if isinstance(wanted, Unknown) else Known(wanted, "packages")
    if devices is None:
        for name in ("vulkan.names", "vulkan.gpu_seen", "vulkan.twice"):
            yield name, unknown
    else:
        yield "vulkan.names", Known([_named(device) for device in devices], "vulkan.devices")
        yield "vulkan.gpu_seen", Known(any(device.get("vendor") not in _PROCESSOR for device in devices), "vulkan.devices")
        twice = _twice(devices, facts)
        yield "vulkan.twice", Known(twice, "vulkan.devices") if twice else Absent("vulkan.devices")
    yield "vulkan.left_out_by", _left_out_by(facts)
    active = [icd for icd in icds or [] if icd.get("active")]
    yield "vulkan.drivers", Known(sorted({str(icd["driver"]) for icd in active}), "vulkan.icds") if icds is not None else _UNSAID


def _named(device: Mapping[str, Any]) -> str:
    return f"{device['name']} ({device['driver']})" if isinstance(device.get("driver"), str) else str(device["name"])


def _twice(devices: list[dict[str, Any]], facts: Facts) -> str:
    """'amdvlk and radv' for two drivers that list one card, where the bus has it once; '' where there is no such card."""
    on_the_bus = [str(gpu.get("pci_id")) for gpu in facts.value("gpus", []) if isinstance(gpu, dict)]
    by_id: dict[str, list[dict[str, Any]]] = {}
    for device in devices:
        if isinstance(device.get("device_id"), str) and device.get("vendor") not in _PROCESSOR:
            by_id.setdefault(f"{device['vendor_id']}:{device['device_id']}", []).append(device)
    for identity, same in by_id.items():
        drivers = {device["driver"] for device in same if isinstance(device["driver"], str)}
        if on_the_bus.count(identity) == 1 and len(same) > 1 and len(drivers) > 1:
            return " and ".join(sorted(drivers))
    return ""


DERIVATION = Derivation(
    name="vulkan",
    provides=(
        FactSpec(
            "vulkan.gpus", "records", "GPUs on the bus and what Vulkan knows of them", item="vk_gpu",
            fields={
                "address": "PCI address", "name": "name", "vendor": "maker", "kind": "discrete, integrated …", "driver": "kernel driver",
                "access": "this user may open its node", "node_group": "group of its node", "seen": "Vulkan lists it",
                "registered": "a manifest of its maker's driver is read", "broken_icd": "manifest whose library is gone",
                "broken_library": "that library", "package": "what brings the driver", "install": "the command",
            },
        ),
        FactSpec("vulkan.wanted", "bool", "something here uses Vulkan to compute"),
        FactSpec("vulkan.names", "list", "Vulkan devices by name"),
        FactSpec("vulkan.gpu_seen", "bool", "Vulkan lists a GPU"),
        FactSpec("vulkan.twice", "text", "the two drivers that list one card"),
        FactSpec("vulkan.left_out_by", "text", "the variable that leaves drivers or devices out of the listing, with its value"),
        FactSpec("vulkan.drivers", "list", "drivers whose manifests the loader reads"),
    ),
    derive=derive,
)  # fmt: skip
