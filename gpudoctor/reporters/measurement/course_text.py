"""Steps over time: a line of cells for each measurement, its slowest steps, and the faults of its course."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.model.measurement import OK, Course, Measurement
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.layout import Line, Span, Terminal, hanging

LEVELS = {True: "▁▂▃▄▅▆▇█", False: "_.-=+*%#"}
CELLS = 24
LONGEST_NAME = 34
LONG_MS, LONG = 2000.0, 10.0
FULL = 1.0
"""A full cell is a step that takes so much more than the fastest part, or than that if the slowest part is slower still."""


def sparkline(values: Sequence[float], terminal: Terminal, cells: int = CELLS) -> str:
    """The scale of the cells begins at the fastest part of a run: equal steps give a flat line, and noise stays small."""
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
    """The lines. `names`: of the measurements, in their order."""
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
        if first := _first(each):
            yield from hanging((Span("      "),), first, width, style="dim")


def looked_at(done: Sequence[Measurement]) -> Iterator[str]:
    """One sentence: the number of timed steps whose outcomes were compared, and whether losses fell."""
    courses = [each.course for each in done if each.course is not None and each.course.outcomes_checked]
    losses = [course for course in courses if course.first_loss is not None]
    same = [course for course in courses if course.first_loss is None]
    found = []
    if same:
        found.append(f"the results of {_of(same)} timed steps were compared with the first: the same")
    if losses:
        fell = sum((course.last_loss or 0.0) < (course.first_loss or 0.0) for course in losses)
        found.append(f"losses of {_of(losses)} steps are finite, and fell in {fell} of {len(losses)} trainings")
    if found:
        yield "; ".join(found)


def _of(courses: Sequence[Course]) -> str:
    checked, steps = (sum(getattr(course, name) or 0 for course in courses) for name in ("outcomes_checked", "outcomes_of"))
    return f"{checked}" if checked == steps else f"{checked} of {steps}"


def _first(each: Measurement) -> str:
    """A remark on the first step, where it took conspicuously long."""
    latency = each.latency_ms
    if latency is None or each.first_ms is None or each.first_ms < LONG_MS or each.first_ms < LONG * latency.median:
        return ""
    times = each.first_ms / latency.median
    return f"the first step took {each.first_ms / 1000:.1f} s, {times:.0f} times a later one: kernels are compiled or searched for"


def _tail(each: Measurement) -> str:
    latency = each.latency_ms
    if latency is None or latency.p99 is None or latency.median <= 0:
        return ""
    return f"{latency.p99 / latency.median:.2f} x median"
