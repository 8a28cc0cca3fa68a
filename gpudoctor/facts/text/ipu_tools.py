"""What Graphcore's tools print of one IPU or of all: gc-info --device-info, gc-inventory, gc-monitor."""

from __future__ import annotations

import json
from collections.abc import Sequence

from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.sections import Sheet
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.signature import Numbered

_GC_MONITOR = lazy(r"^\|\s*gc-monitor\s*\|")
_PAIR = lazy(r"^\s*(?P<key>[a-z][\w /#()\-]{1,50}):\s+(?P<value>\S.*)$")
_OWN = frozenset(("board type", "ipu architecture", "board serial number", "ipu error state"))
"""Attributes that only an IPU has."""


def read(sheet: Sheet, evidence: Evidence) -> None:
    if "gc-monitor" in sheet.lower:
        _gc_monitor(sheet, evidence)
    if "board type:" in sheet.lower or "ipu architecture:" in sheet.lower:
        for section in sheet.sections:
            _attributes(section.lines, "gc-inventory" if section.program == "gc-inventory" else "gc-info -i", evidence)


def _attributes(lines: Sequence[Numbered], tool: str, evidence: Evidence) -> None:
    """Each device begins with its id. Records what gc-inventory --json would list, and gc-info's output for the first device."""
    devices: list[dict[str, str]] = []
    for line in lines:
        found = _PAIR.match(line.text)
        if found and found["key"] == "id" and found["value"].strip().isdigit():
            devices.append({})
        if found and devices:
            devices[-1].setdefault(found["key"], found["value"].strip())
    devices = [device for device in devices if _OWN & set(device)]
    if devices:
        evidence.command(("gc-inventory", "--json"), json.dumps({"devices": devices}))
        evidence.command(("gc-info", "-i", "-d", "0"), "".join(f"  {key}: {value}\n" for key, value in devices[0].items()))
        evidence.saw(tool)


def _gc_monitor(sheet: Sheet, evidence: Evidence) -> None:
    """Passes the table on to the probe, which reads the attached processes."""
    for section in sheet.sections:
        start = next((number for number, line in enumerate(section.lines) if _GC_MONITOR.match(line.text)), None)
        if start is not None:
            lines = section.lines[max(0, start - 1) :]
            evidence.command(("gc-monitor",), "\n".join(line.text for line in lines if line.text[:1] in "+|") + "\n")
            evidence.saw("gc-monitor")
