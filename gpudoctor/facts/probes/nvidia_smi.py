"""Parsers of the output of nvidia-smi in each of its forms: texts to plain tables.

The XML form has a small parser of its own that knows no external entities and no documents elsewhere, so that a recording cannot make
it expand or fetch anything.
"""

from __future__ import annotations

import re
from typing import Any

from gpudoctor.model.facts import Unknown
from gpudoctor.model.lazy_pattern import lazy

_TAG = lazy(r"<(/?)([A-Za-z_][\w.\-]*)((?:[^<>/\w.\-](?:[^<>/]|/(?!>))*)?)(/?)>|<[!?][^>]*>|([^<]+)")
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&amp;": "&"}
_DEPTH = 30
_NOTHING = (
    "",
    "n/a",
    "[n/a]",
    "not supported",
    "[not supported]",
    "none",
    "unknown error",
    "[unknown error]",
    "gpu is lost",
    "[gpu is lost]",
)

ERRORS = (  # (words of an error, whether its sentence begins before them)
    ("Failed to initialize NVML: ", False),
    ("NVIDIA-SMI has failed because", False),
    ("No devices were found", False),
    ("Unable to determine the device handle for ", False),
    ("NVIDIA-SMI couldn't find", False),
    ("Insufficient Permissions", False),
    ("GPU is lost", True),
    ("error while loading shared libraries", True),
    ("Function Not Found", True),
)


def parse_error(text: str) -> str | None:
    """The sentence with which nvidia-smi explains that it cannot answer; None where it prints none."""
    for pattern, whole_line in ERRORS:
        at = text.find(pattern)
        if at >= 0:
            begin = text.rfind("\n", 0, at) + 1 if whole_line else at
            return text[begin:].split("\n", 1)[0].strip()
    return None


def parse_nvml_version(text: str) -> str | None:
    """The version in a message about mismatched versions, '550.54' of 'NVML library version: 550.54'; None without one."""
    found = re.search(r"NVML library version:\s*([\d.]+)", text)
    return found.group(1) if found else None


def parse_header(text: str) -> dict[str, str]:
    """driver, cuda and smi: the versions in the head of nvidia-smi's table. Newer drivers write 'CUDA UMD Version'."""
    found: dict[str, str] = {}
    if not text:
        return found
    for key, pattern in (
        ("driver", r"(?:Driver Version|KMD Version|Driver\s+KMD Version)\s*:\s*(\d[\d.]*)"),
        ("cuda", r"CUDA (?:UMD )?Version\s*:\s*(\d+\.\d+)"),
        ("smi", r"NVIDIA-SMI (\d[\d.]*)"),
    ):
        match = re.search(pattern, text)
        if match:
            found[key] = match.group(1)
    return found


def parse_list(text: str) -> list[dict[str, Any]]:
    """The GPUs in `nvidia-smi -L`, each with the number of the MIG devices that are indented below it."""
    rows: list[dict[str, Any]] = []
    for line in text.splitlines():
        gpu = re.match(r"GPU (\d+): (.+?) \(UUID: ([^)]*)\)", line)
        if gpu:
            rows.append({"index": int(gpu[1]), "name": gpu[2], "uuid": gpu[3], "mig_instances": 0})
        elif rows and re.match(r"\s+MIG .*Device\s+\d+:", line):
            rows[-1]["mig_instances"] += 1
            if found := re.search(r"\(UUID: (MIG-[^)]*)\)", line):
                rows[-1].setdefault("mig_uuids", []).append(found[1])
    return rows


def parse_query(text: str) -> list[dict[str, Any]]:
    """The GPUs in the CSV form with the columns index, name, uuid, bus id, driver, memory (MiB) and capability."""
    rows = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(", ")]
        if len(cells) < 7 or not cells[0].isdigit():
            continue
        name = ", ".join(cells[1:-5])
        uuid, bus, driver, memory, capability = cells[-5:]
        rows.append(
            {
                "index": int(cells[0]),
                "name": name,
                "uuid": uuid,
                "address": pci_address(bus),
                "driver_version": driver,
                "memory_bytes": int(memory) * 2**20 if memory.isdigit() else Unknown("not recorded"),
                "compute_capability": capability if re.fullmatch(r"\d+\.\d+", capability) else Unknown("not recorded"),
            }
        )
    return rows


def pci_address(bus: str) -> str:
    """The form of a PCI address in sysfs: '0000:0a:00.0' for '00000000:0A:00.0'."""
    found = re.fullmatch(r"0*([0-9A-Fa-f]{4}):([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})\.([0-7])", bus.strip())
    return f"{found[1]}:{found[2]}:{found[3]}.{found[4]}".lower() if found else bus.strip().lower()


def parse_xml(text: str) -> dict[str, Any] | None:
    """Nested tables of the XML form, in which an element that occurs twice is a list; None for what is no document of nvidia-smi."""
    if "<nvidia_smi_log" not in text or "<!ENTITY" in text[: text.find("<nvidia_smi_log")]:
        return None
    root: dict[str, Any] = {}
    stack: list[tuple[str, dict[str, Any], list[str]]] = [("", root, [])]
    for closing, name, attributes, empty, chars in _TAG.findall(text):
        if chars:
            stack[-1][2].append(chars)
        elif closing:
            if len(stack) < 2 or stack[-1][0] != name:
                return None
            _, inner, said = stack.pop()
            _add(stack[-1][1], name, inner or _unescape("".join(said)).strip())
        elif name:
            table: dict[str, Any] = {}
            given = re.search(r'id="([^"]*)"', attributes)
            if given:
                table["@id"] = given.group(1)
            if empty:
                _add(stack[-1][1], name, table or "")
            elif len(stack) > _DEPTH:
                return None
            else:
                stack.append((name, table, []))
    log = root.get("nvidia_smi_log")
    return log if len(stack) == 1 and isinstance(log, dict) else None


def _add(into: dict[str, Any], name: str, value: Any) -> None:
    if name not in into:
        into[name] = value
    elif isinstance(into[name], list):
        into[name].append(value)
    else:
        into[name] = [into[name], value]


def _unescape(text: str) -> str:
    for entity, char in _ENTITIES.items():
        text = text.replace(entity, char)
    return text


def parse_plain(text: str) -> dict[str, Any] | None:
    """Nested tables of `nvidia-smi -q`, which prints indented 'Key : value' lines, with the names of the XML form where these agree."""
    if "NVSMI LOG" not in text:
        return None
    root: dict[str, Any] = {"gpu": []}
    stack: list[tuple[int, dict[str, Any]]] = [(-1, root)]
    for line in text.splitlines():
        if not line.strip() or line.startswith("=="):
            continue
        depth = len(line) - len(line.lstrip())
        gpu = re.match(r"GPU ([0-9A-Fa-f:.]+)\s*$", line)
        if gpu:
            stack = [(-1, root), (0, {"@id": gpu.group(1)})]
            root["gpu"].append(stack[-1][1])
            continue
        while len(stack) > 1 and depth <= stack[-1][0]:
            stack.pop()
        key, colon, value = line.partition(" : ")
        name = re.sub(r"\W+", "_", key.strip().lower()).strip("_")
        if colon:
            stack[-1][1][name] = value.strip()
        elif len(stack) <= _DEPTH:
            inner: dict[str, Any] = {}
            stack[-1][1][name] = inner
            stack.append((depth, inner))
    return root if root["gpu"] else None


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value in (None, "") else [value]


def look(table: Any, *paths: str) -> str | None:
    """The value at the first of these dotted paths that holds one other than N/A; None where none does."""
    for path in paths:
        here: Any = table
        for part in path.split("."):
            here = here.get(part) if isinstance(here, dict) else None
        if isinstance(here, str) and here.strip().lower() not in _NOTHING and "deprecated" not in here:
            return here.strip()
    return None


def number(text: str | None) -> float | None:
    found = re.match(r"-?\d+(?:\.\d+)?", text or "")
    return float(found.group(0)) if found else None


def _whole(text: str | None) -> Any:
    value = number(text)
    return Unknown("not recorded") if value is None else int(value)


def _text(text: str | None) -> Any:
    return Unknown("not recorded") if text is None else text


def _sum(table: Any, *paths: str) -> Any:
    counts = [int(n) for n in (number(look(table, path)) for path in paths) if n is not None]
    return sum(counts) if counts else Unknown("not recorded")


def device(table: dict[str, Any], index: int) -> dict[str, Any]:
    """The record of nvidia.devices for one GPU of the XML or the plain form."""
    reasons = {}
    for group in ("clocks_event_reasons", "clocks_throttle_reasons"):
        if isinstance(table.get(group), dict):
            reasons = table[group]
    active = sorted(
        re.sub(r"^clocks_(event|throttle)_reasons?_", "", key)
        for key, value in reasons.items()
        if value == "Active" and isinstance(key, str)
    )
    draw = ("gpu_power_readings", "power_readings")
    limit = number(look(table, *(f"{d}.current_power_limit" for d in draw), *(f"{d}.power_limit" for d in draw)))
    normal = number(look(table, *(f"{d}.default_power_limit" for d in draw)))
    mig = table.get("mig_devices")
    instances = len(as_list(mig.get("mig_device"))) if isinstance(mig, dict) else 0
    volatile, remapped = "ecc_errors.volatile", "remapped_rows"
    memory, used = (number(look(table, f"fb_memory_usage.{part}")) for part in ("total", "used"))
    processes = table.get("processes")
    address = look(table, "pci.pci_bus_id", "pci.bus_id", "@id") or ""
    return {
        "index": index,
        "name": _text(look(table, "product_name")),
        "architecture": _text(look(table, "product_architecture")),
        "uuid": _text(look(table, "uuid", "gpu_uuid")),
        "address": pci_address(address) if address else Unknown("not recorded"),
        "pci_device_id": _text(look(table, "pci.pci_device_id", "pci.device_id")),
        "memory_bytes": Unknown("not recorded") if memory is None else int(memory) * 2**20,
        "memory_used_bytes": Unknown("not recorded") if used is None else int(used) * 2**20,
        "memory_users": _users(processes),
        "mig_mode": _text(look(table, "mig_mode.current_mig", "mig_mode.current")),
        "mig_pending": _text(look(table, "mig_mode.pending_mig", "mig_mode.pending")),
        "mig_instances": instances,
        "compute_mode": _text(look(table, "compute_mode")),
        "persistence": _text(look(table, "persistence_mode")),
        "driver_model": _text(look(table, "driver_model.current_dm", "driver_model.current")),
        "virtualization": _text(look(table, "gpu_virtualization_mode.virtualization_mode")),
        "license": _text(look(table, "vgpu_software_licensed_product.license_status")),
        "pstate": _text(look(table, "performance_state")),
        "temperature": _whole(look(table, "temperature.gpu_temp", "temperature.gpu_current_temp")),
        "power_limit": Unknown("not recorded") if limit is None else limit,
        "power_limit_default": Unknown("not recorded") if normal is None else normal,
        "power_limit_share": limit / normal if limit and normal else Unknown("not recorded"),
        "throttle_reasons": active,
        "link_generation": _whole(look(table, "pci.pci_gpu_link_info.pcie_gen.current_link_gen")),
        "link_generation_max": _whole(look(table, "pci.pci_gpu_link_info.pcie_gen.max_link_gen")),
        "link_width": _whole(look(table, "pci.pci_gpu_link_info.link_widths.current_link_width")),
        "link_width_max": _whole(look(table, "pci.pci_gpu_link_info.link_widths.max_link_width")),
        "ecc_mode": _text(look(table, "ecc_mode.current_ecc", "ecc_mode.current")),
        "ecc_errors": _sum(
            table,
            f"{volatile}.sram_uncorrectable",
            f"{volatile}.dram_uncorrectable",
            f"{volatile}.sram_uncorrectable_parity",
            f"{volatile}.sram_uncorrectable_secded",
            f"{volatile}.double_bit.total",
        ),
        "remap_pending": _yes(look(table, f"{remapped}.remapped_row_pending", f"{remapped}.pending", "retired_pages.pending_retirement")),
        "remap_failed": _yes(look(table, f"{remapped}.remapped_row_failure", f"{remapped}.remapping_failure_occurred")),
        "fabric_state": _text(look(table, "fabric.state")),
        "fabric_status": _text(look(table, "fabric.status")),
        "recovery_action": _text(look(table, "gpu_recovery_action")),
        "gsp": _text(look(table, "gsp_firmware_version")),
        "processes": len(as_list(processes.get("process_info"))) if isinstance(processes, dict) else 0,
    }


def _users(processes: Any) -> list[str]:
    """The processes that hold memory, the largest first: 'python3 (4711), 3072 MiB'. One of another container or user may have no name."""
    rows = [row for row in as_list(processes.get("process_info")) if isinstance(row, dict)] if isinstance(processes, dict) else []
    sized = [(int(number(look(row, "used_memory", "used_gpu_memory")) or 0), row) for row in rows]
    found = []
    for size, row in sorted(sized, key=lambda each: -each[0]):
        name = (look(row, "process_name", "name") or "a process").rpartition("/")[2]
        found.append(f"{name} ({look(row, 'pid', 'process_id') or '?'})" + (f", {size} MiB" if size else ""))
    return found


def _yes(text: str | None) -> Any:
    if text is None:
        return Unknown("not recorded")
    return text.lower() in ("yes", "1", "true", "pending")


def devices(log: dict[str, Any]) -> list[dict[str, Any]]:
    """The records of all GPUs of a parsed document, in nvidia-smi's order."""
    return [device(table, index) for index, table in enumerate(as_list(log.get("gpu"))) if isinstance(table, dict)]
