"""What rocm-smi, amd-smi and rocminfo print, as text, table, JSON or CSV."""

from __future__ import annotations

import csv
import re

from gpudoctor.facts.probes.amd import (
    parse_amd_smi_static,
    parse_dotted,
    parse_rocm_smi,
    parse_rocminfo,
    parse_rocminfo_error,
    rocm_smi_driver,
)
from gpudoctor.facts.probes.device_table import lookup_name
from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.sections import Section, Sheet
from gpudoctor.model.lazy_pattern import lazy

_PRODUCT = lazy(r"\[(?P<product>[^\[\]]{2,80})\]")
_ROCM_SMI = lazy(r"^GPU\[(?P<index>\d+)\]\s*: (?P<label>[A-Za-z ]{3,30}):\s+(?P<value>\S.*)$")
_CONCISE = lazy(r"^\d{1,2}\s+\d{1,3}\s+(?P<device>0x[0-9a-f]{4}),\s+\d+\s")
"""A row of rocm-smi since ROCm 6: device, node, device id, GUID."""
_ROCM_DRIVER = lazy(r"^Driver version:\s+(?P<version>\d[\w.\-]*)")
_AMD_SMI = lazy(r"^\s+(?P<label>MARKET_NAME|DEVICE_ID|TARGET_GRAPHICS_VERSION): (?P<value>\S.*)$")
_AMD_SMI_VERSION = lazy(
    r"^(?:AMDSMI Tool: |\| AMD-SMI ).*?(?:\bamdgpu version: (?P<early>\d+(?:\.\d+)+)\s.*?)?\bROCm version: (?P<rocm>\d+\.\d+(?:\.\d+)?)"
    r"(?:.*\bamdgpu version: (?P<late>\d+(?:\.\d+)+))?"
)
_AMD_SMI_ROW = lazy(r"^\| [0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] (?P<name>\S.{1,160}?)\s{0,80}\|")
_HEX = lazy(r"^0x([0-9a-f]{4})$", re.IGNORECASE)


def read(sheet: Sheet, evidence: Evidence) -> None:
    small = sheet.lower
    if "gpu[" in small or "rocm system management" in small:
        _rocm_smi(sheet, evidence)
    if "market_name" in small or "amdsmi tool" in small or "| amd-smi " in small:
        _amd_smi(sheet, evidence)
    for section in sheet.sections:
        if "card series" in small or "market_name" in small:
            _json(section, evidence)
            _csv(section, evidence)
    _rocminfo(evidence)


def _rocm_smi(sheet: Sheet, evidence: Evidence) -> None:
    cards: dict[str, dict[str, str]] = {}
    for line in sheet.lines:
        found = _ROCM_SMI.match(line.text)
        if found:
            cards.setdefault(found["index"], {}).setdefault(found["label"].strip().lower(), found["value"].strip())
        concise = _CONCISE.match(line.text)
        if concise:
            _card("", concise["device"], evidence)
        driver = _ROCM_DRIVER.match(line.text)
        if driver:
            evidence.fact("amd.driver.version", parse_dotted(driver["version"]), "rocm-smi")
        if concise or driver or "ROCm System Management" in line.text:
            evidence.saw("rocm-smi")
    for card in cards.values():
        series = card.get("card series", "")
        named = _PRODUCT.search(series)
        _card(named["product"] if named else series, card.get("device id", "") or card.get("card model", ""), evidence)
        evidence.saw("rocm-smi")


def _amd_smi(sheet: Sheet, evidence: Evidence) -> None:
    name = ""
    for line in sheet.lines:
        version = _AMD_SMI_VERSION.match(line.text)
        if version:
            evidence.fact("rocm.version", version["rocm"], "amd-smi")
            evidence.fact("amd.driver.version", version["early"] or version["late"], "amd-smi")
            evidence.saw("amd-smi")
        row = _AMD_SMI_ROW.match(line.text)
        if row:
            _card(row["name"].strip(), "", evidence)
            evidence.saw("amd-smi")
        found = _AMD_SMI.match(line.text)
        if not found:
            continue
        evidence.saw("amd-smi")
        if found["label"] == "MARKET_NAME":
            name = found["value"].strip()
        elif found["label"] == "DEVICE_ID":
            _card(name, found["value"].strip(), evidence)


def _json(section: Section, evidence: Evidence) -> None:
    text = section.text
    if '"card0"' in text and (cards := parse_rocm_smi(text)):
        evidence.command(("rocm-smi", "--showallinfo", "--json"), text)
        evidence.fact("amd.driver.version", parse_dotted(rocm_smi_driver(text) or ""), "rocm-smi")
        for card in cards:
            _card(str(card["name"]), str(card["name"]), evidence)
        evidence.saw("rocm-smi")
    elif '"market_name"' in text and (cards := parse_amd_smi_static(text)):
        evidence.command(("amd-smi", "static", "--json"), text)
        evidence.fact("amd.devices", cards, "amd-smi static")
        evidence.fact("amd.driver.version", parse_dotted(str(cards[0].get("driver_version") or "")), "amd-smi static")
        for card in cards:
            _card(str(card["name"]), "", evidence)
        evidence.saw("amd-smi")


def _csv(section: Section, evidence: Evidence) -> None:
    """rocm-smi --csv begins with 'device,', amd-smi --csv with 'gpu,'."""
    for number, line in enumerate(section.lines):
        tool = {"device": "rocm-smi", "gpu": "amd-smi"}.get(line.text.partition(",")[0])
        header = [cell.strip().lower() for cell in line.text.split(",")]
        if tool is None or not {"card series", "market_name"} & set(header):
            continue
        for cells in csv.reader(row.text for row in section.lines[number + 1 : number + 65]):
            if len(cells) != len(header):
                break
            card = dict(zip(header, cells, strict=True))
            _card(card.get("card series") or card.get("market_name") or "", card.get("device_id") or card.get("card model") or "", evidence)
            evidence.saw(tool)


def _rocminfo(evidence: Evidence) -> None:
    """Records agents and errors also where no other line of the text shows an AMD GPU: the probe runs rocminfo only where there is one."""
    output = evidence.commands.get(("rocminfo",), "")
    if output:
        agents, error = parse_rocminfo(output), parse_rocminfo_error(output)
        evidence.fact("rocm.agents", agents if agents is not None or not error else [], "rocminfo")
        evidence.fact("rocm.rocminfo.error", error, "rocminfo")


def _card(name: str, device: str, evidence: Evidence) -> None:
    """Records a GPU by its name where the table of devices has it, else by its device ID (0x744c), which several cards may share."""
    by_id = _HEX.match(device)
    if by_id and lookup_name("amd", name[:80]) is None:
        evidence.gpu(f"1002:{by_id[1].lower()}", name[:80])
    elif name and name != "N/A" and not _HEX.match(name):
        evidence.gpu("amd", name[:80])
