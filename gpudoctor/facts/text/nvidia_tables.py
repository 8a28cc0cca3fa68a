"""`nvidia-smi --query-gpu=… --format=csv`: with the line of column names, or with the columns of the typed command."""

from __future__ import annotations

import re

from gpudoctor.facts.probes.nvidia import QUERY
from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.sections import Section, Sheet
from gpudoctor.model.lazy_pattern import lazy

_HEADER = lazy(r"^(?:[a-z][\w.]+(?: \[[\w%/]+\])?)(?:, [a-z][\w.]+(?: \[[\w%/]+\])?)*$")
_TYPED = lazy(r"--query-gpu=(?P<columns>[\w.,]+)")
_COLUMNS = ("index", "name", "uuid", "pci.bus_id", "driver_version", "memory.total", "compute_cap")
"""The columns in the order of the probe's query."""
_ALSO = {"gpu_name": "name", "count": "count", "gpu_uuid": "uuid", "pci.bus": "pci.bus_id", "gpu_bus_id": "pci.bus_id"}


def read(sheet: Sheet, evidence: Evidence) -> None:
    if "driver_version" not in sheet.lower and "--query-gpu" not in sheet.lower:
        return
    for section in sheet.sections:
        rows = _rows(section)
        if rows:
            evidence.command(QUERY, "\n".join(_in_probe_columns(row, number) for number, row in enumerate(rows)) + "\n")
            evidence.saw("nvidia-smi --query-gpu")


def _rows(section: Section) -> list[dict[str, str]]:
    """The table's rows as cells by column name, for those GPUs that have a name."""
    typed = _TYPED.search(section.typed)
    columns = typed["columns"].split(",") if typed else []
    found: list[dict[str, str]] = []
    for line in section.lines:
        text = line.text.strip()
        if _HEADER.match(text) and ("driver_version" in text or columns):
            columns = [re.sub(r" \[.*", "", cell) for cell in text.split(", ")]
            continue
        cells = [cell.strip() for cell in text.split(",")]
        if columns and len(cells) == len(columns) and text:
            row = {_ALSO.get(column, column): cell for column, cell in zip(columns, cells, strict=True)}
            if row.get("name") and not row["name"].startswith("["):
                found.append(row)
        elif found:
            break
    return found


def _in_probe_columns(row: dict[str, str], number: int) -> str:
    """One row in the columns and order of the probe's own query; what the text does not show becomes 'N/A'."""
    full = {"index": str(number), "uuid": "N/A", "pci.bus_id": "N/A", "driver_version": "N/A", "memory.total": "", "compute_cap": "", **row}
    full["memory.total"] = full["memory.total"].removesuffix("MiB").rstrip() or "N/A"
    full["compute_cap"] = full["compute_cap"] or "N/A"
    return ", ".join(full[column] for column in _COLUMNS)
