"""Parsers of the output of clinfo, in each of its forms, and of target/payloads/opencl_devices.py: platforms with devices."""

from __future__ import annotations

import re
from typing import Any

from gpudoctor.model.facts import Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system import json_text

_UNSAID = Unknown("not recorded")
_CPU_NAMES = lazy(
    r"^(pthread|cpu|basic|llvmpipe|softpipe)\b|\b(llvmpipe|Xeon|EPYC|Ryzen|Core\(TM\)|Pentium|Celeron)\b|CPU|\bProcessor\b", re.I
)
_GPU_NAMES = lazy(
    r"\b(GPU|Graphics|GeForce|Radeon|Quadro|Tesla|Arc|Iris|Instinct|RTX|GTX|NVIDIA|radeonsi|iris)\b|^gfx\d|^\w+:\w+|navi", re.I
)


def device_type(text: Any) -> str | None:
    """gpu, cpu or accelerator, by clinfo's names or by the bits of CL_DEVICE_TYPE (CL/cl.h); None for any other."""
    if isinstance(text, int):
        return "gpu" if text & 4 else "cpu" if text & 2 else "accelerator" if text & 8 else None
    low = str(text).lower()
    return next((kind for kind in ("gpu", "cpu", "accelerator") if kind in low), None)


def guess_type(platform: str, name: str) -> Any:
    """The type of a device of which only names are known, as in `clinfo -l`; Unknown where they do not show it."""
    if "FPGA" in platform or "FPGA" in name:
        return "accelerator"
    if platform == "Intel(R) OpenCL" or "CPU Runtime" in platform:
        return "cpu"
    if platform.startswith(("NVIDIA CUDA", "AMD Accelerated", "Intel(R) OpenCL Graphics", "Intel(R) OpenCL HD Graphics")):
        return "gpu"
    if _GPU_NAMES.search(name) and not re.match(r"pthread|cpu|llvmpipe", name, re.I):
        return "gpu"
    return "cpu" if _CPU_NAMES.search(name) else _UNSAID


def vendor_of(platform: str, name: str, vendor: str, vendor_id: int | None, kind: Any) -> str:
    """The vendor of a device; 'cpu' for every processor, and its vendor id is not used, since PoCL gives Intel's to each of them."""
    text = f"{vendor} {name} {platform}".lower()
    if kind == "cpu":
        return "cpu"
    by_id = {0x10DE: "nvidia", 0x1002: "amd", 0x8086: "intel", 0x13B5: "arm", 0x5143: "qualcomm", 0x106B: "apple"}
    if vendor_id in by_id:
        return by_id[vendor_id]
    words = (
        ("nvidia", "nvidia"),
        ("geforce", "nvidia"),
        ("advanced micro", "amd"),
        ("amd", "amd"),
        ("radeon", "amd"),
        ("intel", "intel"),
        ("gfx", "amd"),
    )
    return next((maker for word, maker in words if word in text), "other")


def _device(platform: str, fields: dict[str, Any]) -> dict[str, Any]:
    name = str(fields.get("name") or "").strip()
    kind = device_type(fields["type"]) if fields.get("type") is not None else None
    kind = kind or guess_type(platform, name)
    vendor_id = fields.get("vendor_id")
    extensions = fields.get("extensions")
    features = fields.get("features")
    return {
        "platform": platform, "name": name, "type": kind, "maker": str(fields.get("vendor") or "") or _UNSAID,
        "vendor": vendor_of(platform, name, str(fields.get("vendor") or ""), vendor_id if isinstance(vendor_id, int) else None, kind),
        "version": str(fields.get("version") or "").strip() or _UNSAID,
        "driver_version": str(fields.get("driver_version") or "").strip() or _UNSAID,
        "memory_bytes": _number(fields.get("memory_bytes")), "max_alloc_bytes": _number(fields.get("max_alloc_bytes")),
        "compute_units": _number(fields.get("compute_units")), "board": str(fields.get("board") or "").strip() or _UNSAID,
        "address": fields.get("address") or _UNSAID,
        "fp64": "cl_khr_fp64" in extensions if isinstance(extensions, str) else _UNSAID,
        "fp16": "cl_khr_fp16" in extensions if isinstance(extensions, str) else _UNSAID,
        "collectives": "work_group_collective_functions" in str(features) if features is not None else _UNSAID,
    }  # fmt: skip


def _number(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = re.match(r"\s*(0x[0-9a-f]+|\d+)", str(value), re.I) if value is not None else None
    return int(match.group(1), 0) if match else _UNSAID


def _address(text: Any) -> str | None:
    match = re.search(r"(?:([0-9a-f]{4}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])", str(text), re.I)
    return f"{match[1] or '0000'}:{match[2]}:{match[3]}.{match[4]}".lower() if match else None


def _platform(name: str, vendor: str, version: str, devices: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": name.strip(), "vendor": vendor.strip() or _UNSAID, "version": version.strip() or _UNSAID, "devices": devices}


_KEYS = {
    "name": "CL_DEVICE_NAME", "vendor": "CL_DEVICE_VENDOR", "vendor_id": "CL_DEVICE_VENDOR_ID", "version": "CL_DEVICE_VERSION",
    "driver_version": "CL_DRIVER_VERSION", "memory_bytes": "CL_DEVICE_GLOBAL_MEM_SIZE", "max_alloc_bytes": "CL_DEVICE_MAX_MEM_ALLOC_SIZE",
    "compute_units": "CL_DEVICE_MAX_COMPUTE_UNITS", "extensions": "CL_DEVICE_EXTENSIONS", "board": "CL_DEVICE_BOARD_NAME_AMD",
    "features": "CL_DEVICE_OPENCL_C_FEATURES", "type": "CL_DEVICE_TYPE",
}  # fmt: skip
_TOPOLOGY = ("CL_DEVICE_PCI_BUS_INFO_KHR", "CL_DEVICE_TOPOLOGY_AMD", "CL_DEVICE_PCI_BUS_ID_NV")


def parse_json(text: str) -> tuple[list[dict[str, Any]], dict[str, str]] | None:
    """(platforms, properties of the loader) from `clinfo --json`; None for what is no such document. Keys that it repeats do not matter
    here."""
    start = text.find("{")
    try:
        data = json_text.loads(text[start:]) if start >= 0 else None
    except ValueError:
        return None
    if not isinstance(data, dict) or not isinstance(data.get("platforms"), list):
        return None
    online = data.get("devices") if isinstance(data.get("devices"), list) else []
    platforms = []
    for index, entry in enumerate(data["platforms"]):
        if not isinstance(entry, dict):
            continue
        name = str(entry.get("CL_PLATFORM_NAME", ""))
        group = online[index] if isinstance(online, list) and index < len(online) and isinstance(online[index], dict) else {}
        devices = []
        for raw in group.get("online") or []:
            if not isinstance(raw, dict):
                continue
            fields: dict[str, Any] = {key: raw.get(prop) for key, prop in _KEYS.items()}
            kind = fields["type"]
            fields["type"] = " ".join(map(str, kind.get("type", []))) if isinstance(kind, dict) else kind
            fields["address"] = next((a for key in _TOPOLOGY if (a := _address(raw.get(key)))), None)
            devices.append(_device(name, fields))
        platforms.append(_platform(name, str(entry.get("CL_PLATFORM_VENDOR", "")), str(entry.get("CL_PLATFORM_VERSION", "")), devices))
    loader = data.get("icd_loader")
    return platforms, {str(k): str(v) for k, v in loader.items()} if isinstance(loader, dict) else {}


def parse_raw(text: str) -> tuple[list[dict[str, Any]], dict[str, str]] | None:
    """(platforms, properties of the loader) from `clinfo --raw`, which lists all platforms and then the devices of each in the same order;
    None for what is no such output."""
    count = re.search(r"^#PLATFORMS\s+(\d+)", text, re.M)
    if not count:
        return None
    platforms: list[dict[str, Any]] = []
    loader: dict[str, str] = {}
    current, device = -1, None
    groups: list[list[dict[str, Any]]] = []
    for line in text.splitlines():
        match = re.match(r"\s*(?:\[([^\]]*)\]\s*)?(#?[A-Z]\w+)\s*(.*)$", line)
        if not match:
            continue
        tag, key, value = match[1], match[2], match[3].strip()
        if tag is None:
            if key == "CL_PLATFORM_NAME":
                platforms.append({"name": value})
            elif platforms and key in ("CL_PLATFORM_VENDOR", "CL_PLATFORM_VERSION"):
                platforms[-1][key] = value
        elif key.startswith("CL_ICDL_"):
            loader[key] = value
        elif tag.endswith("/*"):
            if key == "CL_PLATFORM_NAME":
                current += 1
                groups.append([])
                device = None
        elif current >= 0:
            number = tag.rpartition("/")[2]
            if device is None or device["#"] != number:
                device = {"#": number}
                groups[current].append(device)
            device.setdefault(key, value)
    out = []
    for index, platform in enumerate(platforms):
        raws = groups[index] if index < len(groups) else []
        devices = []
        for raw in raws:
            fields: dict[str, Any] = {key: raw.get(prop) for key, prop in _KEYS.items()}
            fields["vendor_id"] = (
                int(raw["CL_DEVICE_VENDOR_ID"], 0) if re.match(r"0x[0-9a-fA-F]+$", raw.get("CL_DEVICE_VENDOR_ID", "")) else None
            )
            fields["address"] = next((a for key in _TOPOLOGY if (a := _address(raw.get(key)))), None)
            devices.append(_device(platform["name"], fields))
        out.append(_platform(platform["name"], platform.get("CL_PLATFORM_VENDOR", ""), platform.get("CL_PLATFORM_VERSION", ""), devices))
    return out, loader


_PLAIN = {
    "Device Name": "name", "Device Vendor": "vendor", "Device Vendor ID": "vendor_id", "Device Version": "version",
    "Driver Version": "driver_version",
    "Device Type": "type", "Global memory size": "memory_bytes", "Max memory allocation": "max_alloc_bytes",
    "Max compute units": "compute_units",
    "Device Extensions": "extensions", "Device Board Name (AMD)": "board", "Device PCI bus info (KHR)": "address",
    "Device Topology (AMD)": "address",
    "Device OpenCL C features": "features",
}  # fmt: skip


def parse_plain(text: str) -> tuple[list[dict[str, Any]], dict[str, str]] | None:
    """(platforms, properties of the loader) from the listing that clinfo prints for people; None for what is no such listing."""
    if not re.search(r"^[ \t]*Number of platforms:?[ \t]+\d+", text, re.M):
        return None
    heads: list[dict[str, str]] = []
    groups: list[list[dict[str, Any]]] = []
    loader: dict[str, str] = {}
    in_devices = False
    for line in text.splitlines():
        match = re.match(r"\s*([A-Z][\w ()./-]{0,80}?):?(?:\s{2,}|\t)(\S.*)$", line.rstrip())
        if not match:
            continue
        key, value = match[1].strip(), match[2]
        if key.startswith("ICD loader "):
            loader[f"CL_ICDL_{key[11:].upper()}"] = value
        elif key == "Platform Name" and not in_devices and len(groups) == 0 and (not heads or "Platform Vendor" in heads[-1]):
            heads.append({"Platform Name": value})
            if len(heads) > _count(text):  # the second round names each platform again, before its devices
                heads.pop()
                groups.append([])
        elif key == "Platform Name":
            groups.append([])
            in_devices = True
        elif key in ("Platform Vendor", "Platform Version") and heads and not groups:
            heads[-1][key] = value
        elif key in _PLAIN and groups:
            if key == "Device Name":
                groups[-1].append({})
            if groups[-1]:
                groups[-1][-1].setdefault(_PLAIN[key], value)
    platforms = []
    for index, head in enumerate(heads):
        devices = []
        for fields in groups[index] if index < len(groups) else []:
            vendor_id = str(fields.get("vendor_id", ""))
            fields["vendor_id"] = int(vendor_id, 16) if vendor_id.startswith("0x") else None
            fields["address"] = _address(fields.get("address", ""))
            devices.append(_device(head["Platform Name"], fields))
        platforms.append(_platform(head["Platform Name"], head.get("Platform Vendor", ""), head.get("Platform Version", ""), devices))
    return platforms, loader


def _count(text: str) -> int:
    match = re.search(r"^[ \t]*Number of platforms:?[ \t]+(\d+)", text, re.M)
    return int(match[1]) if match else 0


def parse_list(text: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """(platforms, {}) from `clinfo -l`, a tree of names that is empty where there is no platform."""
    platforms: list[dict[str, Any]] = []
    for line in text.splitlines():
        if match := re.match(r"\s*Platform #\d+:\s*(.*)$", line.rstrip()):
            platforms.append(_platform(match[1], "", "", []))
        elif platforms and (match := re.match(r"[\s|`+-]*Device #\d+:\s*(.*)$", line.rstrip())):
            platforms[-1]["devices"].append(_device(platforms[-1]["name"], {"name": match[1]}))
    return platforms, {}


def parse_child(text: str) -> tuple[list[dict[str, Any]], str] | None:
    """(platforms, error of the loader) from target/payloads/opencl_devices.py; None for what is no output of it."""
    start = text.find('{"loader"')
    try:
        data = json_text.loads(text[start:]) if start >= 0 else None
    except ValueError:
        return None
    if not isinstance(data, dict):
        return None
    platforms = [
        _platform(
            str(p.get("name", "")),
            str(p.get("vendor", "")),
            str(p.get("version", "")),
            [_device(str(p.get("name", "")), d) for d in p.get("devices", [])],
        )
        for p in data.get("platforms", [])
        if isinstance(p, dict)
    ]
    return platforms, str(data.get("error") or "")
