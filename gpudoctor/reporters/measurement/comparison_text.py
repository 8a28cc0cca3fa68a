"""The screen of `gpudoctor validate --compare`: each measurement of both reports, and what differs between the machines."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.model.comparison import Comparison, ComparisonRow
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.layout import Line, Span, Terminal, hanging

STYLES = {"faster": "good", "slower": "bad", "same": "dim", "unknown": "dim"}
MOST = 20


def render(found: Comparison, terminal: Terminal | None = None) -> str:
    terminal = terminal or Terminal()
    width = min(max(terminal.width, 70), 120)
    lines: list[Line] = list(_rows(found, width))
    if found.speed is not None and len(found.rows) > 1:
        lines += [(), (Span(f"All together: {found.speed:.2f}x (geometric mean; above 1 is faster here)", "bold"),)]
    if found.words:
        lines += [(), *hanging((), found.words, width, style="dim")]
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
    first = min(max(map(len, names)), width - 60) + 2
    here, there = (visible(name)[:12] for name in (found.here, found.there))
    yield (Span(" " * first), Span(f"{here:>12}  {there:>12}   speed", "dim"))
    for name, row in zip(names, found.rows, strict=True):
        if len(name) > first - 2:
            yield (Span(name[:width]),)
            name = ""
        interval = f" ({row.low:.2f} to {row.high:.2f})" if row.low is not None and row.high is not None else ""
        yield (
            Span(name[: first - 2].ljust(first)), Span(f"{_ms(row.here_ms):>12}  {_ms(row.there_ms):>12}   "),
            Span(f"{row.speed:.2f}x", STYLES[row.verdict]), Span(f"{interval} {row.verdict}", "dim"),
        )  # fmt: skip
        for text in row.differs:
            yield from hanging((Span("    "),), text, width, style="dim")


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
