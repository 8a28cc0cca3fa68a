"""The screen of `gpudoctor validate --sweep-batch`: a bar of throughput for each batch, with latency and memory."""

from __future__ import annotations

from gpudoctor.model.batch_sweep import FAILED, MEMORY, Sweep, SweepPoint
from gpudoctor.reporters.shared.layout import Line, Span, Terminal, hanging

ENDS = {
    "memory": "memory is full beyond it", "time": "a step took too long beyond it", "failure": "it failed beyond it",
    "most": "larger ones were not asked for",
}  # fmt: skip


def render(sweep: Sweep, terminal: Terminal | None = None) -> str:
    terminal = terminal or Terminal()
    width = min(max(terminal.width, 60), 110)
    best = max((point.throughput or 0 for point in sweep.points), default=0.0)
    bar = max(width - 52, 8)
    lines: list[Line] = [
        *hanging((), f"{sweep.workload} on {sweep.device}: throughput against batch", width, style="bold"),
        (Span(f"{'batch':>6}  {sweep.unit:>10}  {'latency':>11}  {'memory':>9}", "dim"),),
    ]
    lines += [_row(point, sweep, best, bar, terminal.unicode) for point in sweep.points]
    lines.append(())
    if sweep.limit is None:
        lines += hanging(
            (Span("No batch ran: ", "bad"),), next((point.reason for point in sweep.points if point.reason), "no reason given"), width
        )
        return terminal.draw(lines)
    lines.append((Span("Knee:  ", "good"), Span(f"batch {sweep.knee}: the smallest with 95 % of the best throughput")))
    lines.append((Span("Limit: ", "good"), Span(f"batch {sweep.limit}: {ENDS[sweep.ended_by]}")))
    if sweep.max_latency_ms is not None:
        found = f"batch {sweep.chosen}" if sweep.chosen else "no batch"
        lines.append((Span("Pick:  ", "good" if sweep.chosen else "warn"), Span(f"{found} within {sweep.max_latency_ms:g} ms (p95)")))
    if sweep.volatile:
        lines += hanging((Span("Volatile: ", "warn"),), sweep.volatile, width)
    return terminal.draw(lines)


def _row(point: SweepPoint, sweep: Sweep, best: float, room: int, unicode: bool) -> Line:
    head = Span(f"{point.batch:>6}  ")
    if not point.measured:
        words = {MEMORY: "memory is full", FAILED: "failed"}.get(point.status, point.status)
        return head, Span(
            f"{words}: {point.reason}"[: room + 40] if point.status == FAILED else words, "warn" if point.status == MEMORY else "bad"
        )
    value = point.throughput or 0.0
    memory = f"{point.memory_bytes / 1e9:.2f} GB" if point.memory_bytes else "-"
    marks = [name for name, at in (("knee", sweep.knee), ("pick", sweep.chosen), ("limit", sweep.limit)) if at == point.batch]
    filled = round(room * value / best) if best else 0
    return (
        head, Span(f"{value:>10.4g}  {_ms(point.latency_ms):>11}  {memory:>9}  "), Span(("█" if unicode else "#") * filled, "good"),
        Span(f" {', '.join(marks)}" if marks else "", "dim"),
    )  # fmt: skip


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g} ms" if value < 10_000 else f"{value / 1000:.1f} s"
