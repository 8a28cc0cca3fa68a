"""Parser of the output of vulkaninfo, whole or `--summary`: devices with the limits that matter for compute.

Format: vulkaninfo/vulkaninfo.cpp of KhronosGroup/Vulkan-Tools, releases 1.2.162 (the first with `--summary`) to 1.4.
"""

from __future__ import annotations

import re
from typing import Any

from gpudoctor.model.facts import Unknown
from gpudoctor.model.lazy_pattern import lazy

_UNSAID = Unknown("not recorded")
_DEVICE = lazy(r"^GPU(\d{1,3})(?::|$)")
_NUMBER = lazy(r"^(0x[0-9a-fA-F]{1,16}|\d{1,20})\b")
_VERSION = lazy(r"(?<![\d.])(\d{1,9}\.\d{1,9}\.\d{1,9})")
_HEAP = lazy(r"^\s{0,40}size\s{0,40}=\s{0,40}(\d{1,20})\b")
_INSTANCE = lazy(r"^(?:Vulkan )?Instance Version:\s{0,20}(\d{1,9}(?:\.\d{1,9}){1,3})", re.IGNORECASE)
_TYPES = {"DISCRETE_GPU": "discrete", "INTEGRATED_GPU": "integrated", "VIRTUAL_GPU": "virtual", "CPU": "cpu", "OTHER": "other"}
_VENDORS = {0x10DE: "nvidia", 0x1002: "amd", 0x8086: "intel", 0x13B5: "arm", 0x5143: "qualcomm", 0x106B: "apple", 0x10005: "mesa"}
_DRIVERS = (
    ("llvmpipe", "lavapipe"), ("lavapipe", "lavapipe"), ("radv", "radv"), ("amd_open_source", "amdvlk"), ("amd open-source", "amdvlk"),
    ("dozen", "dzn"), ("nvk", "nvk"), ("moltenvk", "moltenvk"), ("hasvk", "hasvk"), ("intel open-source", "anv"),
    ("intel_open_source", "anv"), ("nvidia", "nvidia"), ("venus", "venus"), ("swiftshader", "swiftshader"), ("amd proprietary", "amd"),
    ("amd_proprietary", "amd"), ("turnip", "turnip"), ("v3dv", "v3dv"),
)  # fmt: skip


def parse(text: str) -> tuple[list[dict[str, Any]], str | None] | None:
    """(devices, version of the instance); None for what is no output of vulkaninfo."""
    version = next((found[1] for line in text.splitlines()[:40] if (found := _INSTANCE.match(line))), None)
    if version is None:
        return None
    devices: dict[int, list[str]] = {}
    lines: list[str] | None = None
    for line in text.splitlines():
        head = _DEVICE.match(line)
        if head:
            lines = devices.setdefault(int(head[1]), [])
        elif lines is not None:
            lines.append(line)
    return [_device(number, said) for number, said in sorted(devices.items()) if any("deviceName" in line for line in said)], version


def _device(number: int, lines: list[str]) -> dict[str, Any]:
    values: dict[str, str] = {}
    for line in lines:
        name, there, value = line.partition("=")
        if there:
            values.setdefault(name.strip(), value.strip())
    vendor_id, kind = _number(values.get("vendorID")), values.get("deviceType", "").removeprefix("PHYSICAL_DEVICE_TYPE_")
    name, whole = values.get("deviceName", ""), len(values) > 60
    driver = " ".join((values.get("driverID", ""), values.get("driverName", ""), name)).lower()
    extensions = {line.split()[0] for line in lines if line.lstrip().startswith("VK_")}
    vendor = _VENDORS.get(vendor_id or 0, "other")
    return {
        "index": number, "name": name or _UNSAID, "type": _TYPES.get(kind, _UNSAID),
        "vendor": "cpu" if kind == "CPU" else vendor,
        "vendor_id": f"{vendor_id:04x}" if vendor_id is not None else _UNSAID,
        "device_id": f"{device_id:04x}" if (device_id := _number(values.get("deviceID"))) is not None else _UNSAID,
        "driver": next((short for mark, short in _DRIVERS if mark in driver), _UNSAID),
        "driver_info": values.get("driverInfo") or _UNSAID,
        "api_version": found[1] if (found := _VERSION.search(values.get("apiVersion", ""))) else _UNSAID,
        "memory_bytes": _local_memory(lines) if whole else _UNSAID,
        "max_alloc_bytes": _said(values, "maxMemoryAllocationSize"), "max_buffer_bytes": _said(values, "maxBufferSize"),
        "subgroup_size": _said(values, "subgroupSize"),
        "storage_16bit": _flag(values, "storageBuffer16BitAccess"), "fp16": _flag(values, "shaderFloat16"),
        "cooperative_matrix": "VK_KHR_cooperative_matrix" in extensions if whole else _UNSAID,
    }  # fmt: skip


def _number(text: str | None) -> int | None:
    found = _NUMBER.match(text or "")
    return int(found[1], 16 if found[1].startswith("0x") else 10) if found else None


def _said(values: dict[str, str], name: str) -> Any:
    number = _number(values.get(name))
    return _UNSAID if number is None else number


def _flag(values: dict[str, str], name: str) -> Any:
    return {"true": True, "1": True, "false": False, "0": False}.get(values.get(name, "").lower(), _UNSAID)


def _local_memory(lines: list[str]) -> Any:
    """The bytes of the largest heap with the flag DEVICE_LOCAL; Unknown where there is none."""
    sizes, size = [], 0
    for line in lines:
        if line.startswith("memoryTypes"):
            break
        found = _HEAP.match(line)
        if found:
            size = int(found[1])
        elif "MEMORY_HEAP_DEVICE_LOCAL_BIT" in line and "NONE" not in line:
            sizes.append(size)
    return max(sizes, default=_UNSAID)
