"""Reads the output of intel_gpu_top (list, screen, JSON) and of xpu-smi or xpumcli (discovery, statistics, health, diagnosis, errors)."""

from __future__ import annotations

import re

from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.sections import Sheet
from gpudoctor.model.lazy_pattern import lazy

_LISTED = lazy(r"^card\d+\s+\S.*\bpci:vendor=(?P<vendor>[0-9A-Fa-f]{4}),device=(?P<device>[0-9A-Fa-f]{4}),card=\d+")
_SCREEN = lazy(r"^intel-gpu-top:\s+(?P<name>\S.{2,60}?) (?:@ /dev/dri/card\d+ )?- ")
_VENDORS = ("8086", "10de", "1002", "1d95")
_ROW = lazy(r"^\|\s{0,40}(?P<index>\d*)\s{0,40}\|\s{0,40}(?P<label>[A-Z][\w /()\-]{2,40}):\s{0,40}(?P<value>\S.{0,400}?)\s{0,120}\|\s*$")
_KEYS = {"device name": "name", "pci bdf address": "address", "drm device": "card_node", "driver version": "driver",
         "pci device id": "pci_id", "gfx firmware version": "firmware"}  # fmt: skip
_TABLES = (
    ("xpu-smi stats", lazy(r"^\|\s*(?:GPU Utilization \(%\)|GPU Memory Used \(MiB\)|Start Time)")),
    ("xpu-smi health", lazy(r"^\|\s*\d\. (?:GPU|Xe Link|Power)[^|]*\|\s*Status: ")),
    ("xpu-smi diag", lazy(r"^\|\s*(?:Level|Result|Items|GPU_ID)\s*\|\s*(?:\d|Pass|Fail|Total)")),
    ("xpu-smi topology", lazy(r"^\|\s*(?:Local CPU List|Local CPUs|PCIe Switch Count)\s*\|")),
    ("xpu-smi dump", lazy(r"^Timestamp, DeviceId, ")),
)
_ERROR = lazy(r"^\s*(?:Error|ERROR):\s*(?P<said>\S.{3,200})$")
_OF_XPU_SMI = lazy(r"XPUM|No device discovered|Level Zero Initialization|xpum", re.IGNORECASE)


def read(sheet: Sheet, evidence: Evidence) -> None:
    if "pci:vendor=" in sheet.lower or "intel-gpu-top" in sheet.lower or "intel_gpu_top" in sheet.lower:
        _intel_gpu_top(sheet, evidence)
    if "device name:" in sheet.lower or "xpu-smi" in sheet.lower or "xpumcli" in sheet.lower:
        _xpu_smi(sheet, evidence)


def _intel_gpu_top(sheet: Sheet, evidence: Evidence) -> None:
    for line in sheet.lines:
        listed, screen = _LISTED.match(line.text), _SCREEN.match(line.text)
        if listed and listed["vendor"].lower() in _VENDORS:
            evidence.gpu(f"{listed['vendor'].lower()}:{listed['device'].lower()}", "")
            evidence.saw("intel_gpu_top -L")
        elif screen:
            if not any(maker == "intel" or maker.startswith("8086:") for maker, _ in evidence.gpus):
                evidence.gpu("intel", screen["name"])
            evidence.saw("intel_gpu_top")
    for section in sheet.sections:
        if section.program == "intel_gpu_top" and '"engines"' in section.text and '"period"' in section.text:
            evidence.saw("intel_gpu_top -J")


def _xpu_smi(sheet: Sheet, evidence: Evidence) -> None:
    devices: list[dict[str, object]] = []
    for section in sheet.sections:
        own = section.program in ("xpu-smi", "xpumcli", "xpumd")
        for line in section.lines:
            row = _ROW.match(line.text)
            key = _KEYS.get(row["label"].lower()) if row else None
            if row and row["index"]:
                devices.append({"index": int(row["index"])})
            if row and key and devices:
                devices[-1].setdefault(key, row["value"])
            for name, pattern in _TABLES:
                if pattern.match(line.text):
                    evidence.saw(name)
            error = _ERROR.match(line.text)
            if error and (own or _OF_XPU_SMI.search(error["said"])):
                evidence.fact("xpu_smi.error", error["said"].strip(), "xpu-smi")
                evidence.saw("xpu-smi")
    named = [device for device in devices if "name" in device]
    for device in named:
        evidence.gpu("intel", str(device["name"]))
        evidence.saw("xpu-smi discovery")
    if named:
        evidence.fact("xpu_smi.devices", named, "xpu-smi discovery")
