"""Lines about what is examined instead of this machine: the libraries of a process, and this machine next to a container."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpudoctor.model.report import Report
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.layout import Line, Span, hanging

_MOST = 8
_LEFT = 15


def looked_at_lines(report: Report, width: int, *, verbose: bool = False, brief: bool = False) -> Iterator[Line]:
    """The lines. `verbose`: with all libraries; `brief`: shortened, for a screen without room."""
    process, sides = report.facts.get("process"), report.facts.get("sides")
    if isinstance(process, Mapping):
        yield from _process(process, width, None if verbose else _MOST, brief)
    rows = sides.get("rows") if isinstance(sides, Mapping) else None
    if isinstance(rows, Sequence) and rows:
        yield from _sides([row for row in rows if isinstance(row, Mapping)], width)


def _process(process: Mapping[str, Any], width: int, most: int | None, brief: bool) -> Iterator[Line]:
    libraries = [each for each in process.get("libraries") or [] if isinstance(each, Mapping)]
    named = [f"{each.get('soname')} ({each.get('origin')})" for each in libraries]
    rest = f" and {len(named) - most} more (-v names all)" if most is not None and len(named) > most else ""
    said = (", ".join(named[:most]) + rest) if named else "no library of a GPU or a framework"
    if brief:
        yield from _row("loaded", f"{len(named)} libraries of GPUs and frameworks (-v names them)", width)
        return
    yield from _row("loaded", said, width)
    yield from _row("devices open", ", ".join(map(str, process.get("devices") or [])) or "none of a GPU", width)


def _row(name: str, text: str, width: int) -> Iterator[Line]:
    yield from hanging((Span(f"  {name:<{_LEFT}}", "dim"),), text, width)


def _sides(rows: Sequence[Mapping[str, Any]], width: int) -> Iterator[Line]:
    """Two columns where they fit, else one below the other."""
    column = max(len(str(row.get("outside"))) for row in rows)
    column = max(column, len("this machine"))
    wide = 2 + _LEFT + column + 2 + max(len(str(row.get("inside"))) for row in rows)
    if wide <= width:
        yield (Span(f"  {'':<{_LEFT}}{'this machine':<{column}}  container", "dim"),)
        for row in rows:
            yield Span(f"  {visible(str(row.get('what'))):<{_LEFT}}", "dim"), Span(f"{row.get('outside')!s:<{column}}  {row.get('inside')}")
        return
    for row in rows:
        here = f"here {row.get('outside')}; " if row.get("outside") else ""
        yield from _row(str(row.get("what")), f"{here}in the container {row.get('inside')}", width)
