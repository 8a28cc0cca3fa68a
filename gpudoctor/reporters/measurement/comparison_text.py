"""The screen of `gpudoctor validate --compare`: each measurement of both reports, and what differs between the machines."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.model.comparison import Comparison, ComparisonRow
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.layout import Line, Span, Terminal, hanging

STYLES = {"faster": "good", "slower": "bad", "same": "dim", "unknown": "dim"}
MOST = 20
SPEED = 21
"""Columns for a speed and its interval."""
BESIDE_A_NAME = 68


def render(found: Comparison, terminal: Terminal | None = None) -> str:
    terminal = terminal or Terminal()
    width = min(max(terminal.width, 70), 120)
    lines: list[Line] = list(_rows(found, width))
    if found.speed is not None and len(found.rows) > 1:
        lines += [(), (Span(f"All together: {found.speed:.2f}x (geometric mean; above 1 is faster here)", "bold"),)]
    lines.append(())
    for text in how_to_read(found):
        lines += hanging((), text, width, style="dim")
    for title, items in (("Broken on one side", found.broken), ("Only here", found.only_here), ("Only there", found.only_there)):
        if items:
            lines.append(())
            for item in items[:MOST]:
                lines += hanging((Span(f"{title}: ", "warn"),), item, width)
            if len(items) > MOST:
                lines.append((Span(f"and {len(items) - MOST} more", "dim"),))
    lines += _machines(found, width)
    return terminal.draw(lines)


def _rows(found: Comparison, width: int) -> Iterator[Line]:
    if not found.rows:
        yield (Span("No measurement is in both reports.", "warn"),)
        return
    names = [_name(row) for row in found.rows]
    first = min(max(map(len, names)), width - BESIDE_A_NAME) + 2
    here, there = (visible(name)[:10] for name in (found.here, found.there))
    yield (Span(" " * first), Span(f"{here:>10}  {there:>10}   speed (95 %)          seen from", "dim"))
    for name, row in zip(names, found.rows, strict=True):
        if len(name) > first - 2:
            yield (Span(name[:width]),)
            name = ""
        interval = f" ({row.low:.2f} to {row.high:.2f})" if row.low is not None and row.high is not None else ""
        speed = f"{row.speed:.2f}x"
        yield (
            Span(name[: first - 2].ljust(first)), Span(f"{_ms(row.here_ms):>10}  {_ms(row.there_ms):>10}   "),
            Span(speed, STYLES[row.verdict]), Span(f"{interval:{SPEED - len(speed)}} {seen_from(row):>9}  {row.verdict}", "dim"),
        )  # fmt: skip
        for text in row.differs:
            yield from hanging((Span("    "),), text, width, style="dim")


def seen_from(row: ComparisonRow) -> str:
    """The change of the time that would have been seen: '+12 %', or '3.1 times'."""
    if row.seen_from is None:
        return "-"
    return f"+{100 * (row.seen_from - 1):.0f} %" if row.seen_from < 2 else f"{row.seen_from:.1f} times" if row.seen_from < 100 else "-"


def how_to_read(found: Comparison) -> Iterator[str]:
    """How to read the rows, and what their intervals rest on."""
    if any(row.seen_from is not None for row in found.rows):
        yield "Seen from: the least change of a time that four of five such pairs of runs would show; a smaller one may be there unseen."
    fast = [row for row in found.rows if row.statistic == "p10"]
    if fast:
        which = "all rows" if len(fast) == len(found.rows) else ", ".join(dict.fromkeys(f"{row.workload} {row.task}" for row in fast))
        yield f"Compared by the 10th percentile of the steps, which other programs disturb less than the median: {which}."
    if found.words:
        yield found.words


def _name(row: ComparisonRow) -> str:
    return visible(f"{row.workload} {row.task} {row.framework} {row.dtype}" + (f" b{row.batch}" if row.batch else ""))


def _machines(found: Comparison, width: int) -> Iterator[Line]:
    yield ()
    if not found.machines:
        yield (Span("Nothing that is known of the two machines differs."),)
        return
    yield (Span("What differs", "bold"),)
    first = max(len(each.name) for each in found.machines) + 2
    for each in found.machines:
        yield from hanging((Span("  " + visible(each.name).ljust(first), "dim"),), f"{each.here} here, {each.there} there", width)


def _ms(value: float) -> str:
    return f"{value:.4g} ms"
