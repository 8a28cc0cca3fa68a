"""The memory of each GPU that a program can use, and what fits into it: part of the screen of `gpudoctor check -v`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpudoctor.model.report import Report
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.layout import Line, Span, hanging


def lines(report: Report, width: int) -> Iterator[Line]:
    """The lines; empty where no GPU's memory is known."""
    rows = [row for row in report.facts.get("gpu_memory") or () if isinstance(row, Mapping) and _bytes(row, "usable_bytes")]
    if not rows:
        return
    yield (Span("Memory that programs can use", "bold"),)
    for row in rows:
        yield from hanging((Span(f"  {visible(str(row.get('name') or 'GPU'))}: "),), _words(row), width)


def _words(row: Mapping[str, Any]) -> str:
    usable, free = _bytes(row, "usable_bytes"), _bytes(row, "free_bytes")
    words = gibibytes(usable or 0) + (f", {gibibytes(free)} of it free" if free is not None else "")
    words += f" ({visible(str(row['how']))})" if row.get("how") else ""
    half, four = row.get("fits_float16"), row.get("fits_4bit")
    if isinstance(half, int | float) and isinstance(four, int | float) and half > 0:
        words += f"; weights of some {half:g} billion parameters fit in float16, {four:g} in 4 bits"
    users = [visible(str(name)) for name in row.get("users") or ()]
    return words + (f"; in use by {', '.join(users[:3])}" + (f" and {len(users) - 3} more" if len(users) > 3 else "") if users else "")


def gibibytes(size: int) -> str:
    return f"{size / 2**30:.{0 if size >= 10 * 2**30 else 1}f} GiB"


def _bytes(row: Mapping[str, Any], name: str) -> int | None:
    value = row.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
