"""GPUs as tools print them that no probe asks in this form: plain lspci, rocm-smi, amd-smi, intel_gpu_top, gc-monitor."""

from __future__ import annotations

import re

from gpudoctor.probes.device_table import lookup_name
from gpudoctor.readers.evidence import Evidence
from gpudoctor.readers.sheet import Sheet

_PCI = re.compile(
    r"^[\s>|]*(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] "
    r"(?:VGA compatible controller|3D controller|Display controller|Processing accelerators): (?P<name>.+)$"
)
_MAKERS = (
    ("intel", re.compile(r"^Intel Corporation ")), ("nvidia", re.compile(r"^NVIDIA Corporation ")),
    ("amd", re.compile(r"^Advanced Micro Devices, Inc\. \[AMD(?:/ATI)?\] ")), ("graphcore", re.compile(r"^Graphcore (?:Ltd )?")),
)  # fmt: skip
_PRODUCT = re.compile(r"\[(?P<product>[^\[\]]{2,80})\]")
_ROCM_SMI = re.compile(r"^GPU\[(?P<index>\d+)\]\s*: (?P<label>[A-Za-z ]{3,30}):\s+(?P<value>\S.*)$")
_AMD_SMI = re.compile(r"^\s+(?P<label>MARKET_NAME|DEVICE_ID|TARGET_GRAPHICS_VERSION): (?P<value>\S.*)$")
_AMD_SMI_VERSION = re.compile(r"^AMDSMI Tool: .*\bROCm version: (?P<rocm>\d+\.\d+(?:\.\d+)?)")
_HEX = re.compile(r"^0x([0-9a-f]{4})$", re.IGNORECASE)
_INTEL_GPU_TOP = re.compile(r"^card\d+\s+\S.*\bpci:vendor=(?P<vendor>[0-9A-Fa-f]{4}),device=(?P<device>[0-9A-Fa-f]{4}),card=\d+")
_GC_MONITOR = re.compile(r"^\|\s*gc-monitor\s*\|")
_VENDORS = ("8086", "10de", "1002", "1d95")


def read(sheet: Sheet, evidence: Evidence) -> None:
    if "controller: " in sheet.lower or "processing accelerators: " in sheet.lower:
        _lspci(sheet, evidence)
    if "gpu[" in sheet.lower:
        _rocm_smi(sheet, evidence)
    if "market_name" in sheet.lower or "amdsmi tool" in sheet.lower:
        _amd_smi(sheet, evidence)
    if "pci:vendor=" in sheet.lower:
        _intel_gpu_top(sheet, evidence)
    if "gc-monitor" in sheet.lower:
        _gc_monitor(sheet, evidence)


def product_of(name: str) -> tuple[str, str] | None:
    """Vendor and product of a device as lspci names it without numbers: 'Intel Corporation DG2 [Arc A770] (rev 08)'."""
    for maker, pattern in _MAKERS:
        found = pattern.match(name)
        if found:
            rest = re.sub(r" \(rev \w+\).*$", "", name[found.end() :]).strip()
            named = _PRODUCT.search(rest)
            return maker, (named["product"] if named else rest)[:80]
    return None


def _lspci(sheet: Sheet, evidence: Evidence) -> None:
    """Lines with numbers ([8086:56a0]) are left to the probe, which knows more."""
    for line in sheet.lines:
        found = _PCI.match(line.text)
        known = product_of(found["name"]) if found and not re.search(r"\[[0-9a-f]{4}:[0-9a-f]{4}\]", found["name"]) else None
        if known:
            maker, product = known
            evidence.gpu(maker, f"{product} Graphics" if maker == "intel" and product.startswith("Arc ") else product)
            evidence.saw("lspci")


def _rocm_smi(sheet: Sheet, evidence: Evidence) -> None:
    cards: dict[str, dict[str, str]] = {}
    for line in sheet.lines:
        found = _ROCM_SMI.match(line.text)
        if found:
            cards.setdefault(found["index"], {}).setdefault(found["label"].strip().lower(), found["value"].strip())
    for card in cards.values():
        named = _PRODUCT.search(card.get("card series", ""))
        _amd(named["product"] if named else card.get("card series", ""), card.get("device id", "") or card.get("card model", ""), evidence)
        evidence.saw("rocm-smi")


def _amd_smi(sheet: Sheet, evidence: Evidence) -> None:
    name = ""
    for line in sheet.lines:
        version = _AMD_SMI_VERSION.match(line.text)
        if version:
            evidence.fact("rocm.version", version["rocm"], "amd-smi")
            evidence.saw("amd-smi")
        found = _AMD_SMI.match(line.text)
        if not found:
            continue
        evidence.saw("amd-smi")
        if found["label"] == "MARKET_NAME":
            name = found["value"].strip()
        elif found["label"] == "DEVICE_ID":
            _amd(name, found["value"].strip(), evidence)


def _amd(name: str, device: str, evidence: Evidence) -> None:
    """The name where our table has it, else the number (0x744c), which is sure but often stands for several cards."""
    by_id = _HEX.match(device)
    if lookup_name("amd", name[:80]) is None and by_id:
        evidence.gpu(f"1002:{by_id[1].lower()}", name[:80])
    elif name and name != "N/A" and not _HEX.match(name):
        evidence.gpu("amd", name[:80])


def _intel_gpu_top(sheet: Sheet, evidence: Evidence) -> None:
    for line in sheet.lines:
        found = _INTEL_GPU_TOP.match(line.text)
        if found and found["vendor"].lower() in _VENDORS:
            evidence.gpu(f"{found['vendor'].lower()}:{found['device'].lower()}", "")
            evidence.saw("intel_gpu_top -L")


def _gc_monitor(sheet: Sheet, evidence: Evidence) -> None:
    """The table is handed on: attached processes are read by the probe."""
    for section in sheet.sections:
        start = next((number for number, line in enumerate(section.lines) if _GC_MONITOR.match(line.text)), None)
        if start is not None:
            lines = section.lines[max(0, start - 1) :]
            evidence.command(("gc-monitor",), "\n".join(line.text for line in lines if line.text[:1] in "+|") + "\n")
            evidence.saw("gc-monitor")
