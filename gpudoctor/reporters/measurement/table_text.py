"""The screen of `gpudoctor validate --table`: each row of a published table as measured here, with the published numbers under it."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.model.measurement import OK, Measurement
from gpudoctor.model.published_table import PublishedNumber, TableMeasured, TableRow
from gpudoctor.reporters.measurement.validation_text import rate_text, time_text
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.layout import Line, Span, Terminal, hanging

MOST = 6
"""Published numbers under one row, the nearest first; -v shows all."""


def render(found: TableMeasured, terminal: Terminal | None = None, verbose: bool = False) -> str:
    terminal = terminal or Terminal()
    width = min(max(terminal.width, 70), 120)
    lines: list[Line] = [*hanging((), f"{found.title} ({found.source})", width, style="bold")]
    if found.interrupted:
        lines.append((Span("Interrupted: what follows was finished.", "warn"),))
    for row in found.rows:
        lines += [(), *_row(row, found.relative_to, width, verbose)]
    for title, texts in (
        ("Published relations", found.relations),
        ("Left out", found.left_out),
        ("To have the same conditions", found.notes),
    ):
        if texts:
            lines += [(), (Span(title, "bold"),)]
            for text in texts:
                lines += hanging((Span("  "),), text, width)
    return terminal.draw(lines)


def _row(row: TableRow, relative_to: str, width: int, verbose: bool) -> Iterator[Line]:
    yield from hanging((), _name(row.measured, row.note), width, style="bold")
    yield from hanging((Span("  measured here  "),), _result(row.measured), width)
    correct = row.measured.correctness
    if correct is not None and correct.max_relative_error is not None and correct.tolerance is not None:
        yield from hanging(
            (Span("  correctness    "),), f"error {correct.max_relative_error:.2g}, {correct.tolerance:.2g} is allowed", width, style="dim"
        )
    if row.relative is not None:
        yield (Span(f"  {row.relative:.2f} of {visible(relative_to)}"),)
    elif relative_to and row.measured.status == OK:
        yield (Span(f"  {visible(relative_to)} has no such measurement", "dim"),)
    shown = row.published if verbose else row.published[:MOST]
    if not shown:
        yield (Span("  no published number for this row", "dim"),)
        return
    common = [text for text in shown[0].differs if len(shown) > 1 and all(text in one.differs for one in shown)]
    batch = row.measured.batch
    first = min(max(len(_who(one, batch)) for one in shown), width - 40) + 2
    yield (Span("  " + "published".ljust(first)), Span(f"{'value':>16}  here by published", "dim"))
    for one in shown:
        ratio = f"{one.ratio:.3g}" if one.ratio is not None else "a score" if one.unit == "%" else "not to be compared"
        yield (Span("  " + _who(one, batch)[: first - 1].ljust(first)), Span(f"{f'{one.value:.4g} {one.unit}':>16}  "), Span(ratio))
        own = [text for text in one.differs if text not in common]
        if own and (verbose or one is shown[0] or one.unit == "%"):
            yield from hanging((Span("      "),), f"not the same: {'; '.join(own)}", width, style="dim")
    if len(shown) < len(row.published):
        yield (Span(f"  and {len(row.published) - len(shown)} more: -v", "dim"),)
    if common:
        yield from hanging((Span("  "),), f"not the same in all: {'; '.join(common)}", width, style="dim")


def _name(measured: Measurement, note: str) -> str:
    size = f" {measured.input[2]}x{measured.input[1]}" if measured.input and len(measured.input) == 3 else ""
    batch = f" batch {measured.batch}" if measured.batch else ""
    several = f" {measured.replicas} replicas" if measured.replicas else ""
    extra = f", {note}" if note else ""
    return visible(f"{measured.workload} {measured.task} {measured.dtype}{batch}{size}{several} on {measured.device}{extra}")


def _result(measured: Measurement) -> str:
    if measured.status != OK:
        return f"{measured.status}: {measured.reason or 'no reason is known'}"
    energy = measured.energy
    watts = f", {energy.throughput_per_watt:.3g} {_unit(measured)}/W" if energy is not None and energy.throughput_per_watt else ""
    return f"{rate_text(measured)}, {time_text(measured)}{watts}"


def _unit(measured: Measurement) -> str:
    return measured.throughput.unit if measured.throughput is not None else ""


def _who(one: PublishedNumber, batch: int | None) -> str:
    return visible(", ".join(filter(None, (one.device, one.software, f"batch {one.batch}" if one.batch != batch and one.batch else ""))))
