"""Steps over time: a line of cells for each measurement, its tail, and what is wrong with its course."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.model.measurement import OK, Measurement
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.layout import Line, Span, Terminal, hanging

LEVELS = {True: "▁▂▃▄▅▆▇█", False: "_.-=+*%#"}
CELLS = 24
LONGEST_NAME = 34
FULL = 1.0
"""A full cell is a step that takes so much more than the fastest part, or than that if the slowest part is slower still."""


def sparkline(values: Sequence[float], terminal: Terminal, cells: int = CELLS) -> str:
    """From the fastest part of a run up: even steps are a flat line, and noise stays small."""
    levels = LEVELS[terminal.unicode]
    known = [value for value in values if value > 0]
    if not known:
        return ""
    parts = min(cells, len(known))
    shown = [max(known[len(known) * part // parts : len(known) * (part + 1) // parts]) for part in range(parts)]
    lowest = min(known)
    reach = max(max(shown) / lowest - 1, FULL)
    return "".join(levels[min(int((value / lowest - 1) / reach * len(levels)), len(levels) - 1)] for value in shown)


def lines(mine: Sequence[Measurement], names: Sequence[str], terminal: Terminal, width: int) -> Iterator[Line]:
    """`names`: of the measurements, in their order."""
    shown = [(each, name) for each, name in zip(mine, names, strict=True) if each.status == OK and each.course and each.course.slices_ms]
    if not shown:
        return
    room = min(max(len(visible(name)) for _, name in shown), LONGEST_NAME)
    yield (Span("  " + "step times, from first to last".ljust(room + 2 + CELLS) + "  99th percentile", "dim"),)
    for each, name in shown:
        assert each.course is not None
        cells = sparkline(each.course.slices_ms, terminal)
        style = "warn" if each.course.concern else "command"
        yield Span(f"  {visible(name)[:room].ljust(room)}  "), Span(cells.ljust(CELLS), style), Span(f"  {_tail(each)}")
        for words in each.course.words:
            yield from hanging((Span("      "),), words, width, style="warn")


def _tail(each: Measurement) -> str:
    latency = each.latency_ms
    if latency is None or latency.p99 is None or latency.median <= 0:
        return ""
    return f"{latency.p99 / latency.median:.2f} x median"
