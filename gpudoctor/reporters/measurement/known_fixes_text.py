"""The screen of `gpudoctor validate --try-fixes`: what each known fix does here, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.model.trials import TrialResult
from gpudoctor.reporters.shared.layout import Line, Span, Terminal, hanging

STYLES = {"helps": "good", "harms": "bad", "wrong": "bad", "failed": "warn", "no difference": "dim", "unclear": "warn"}


def render(results: Sequence[TrialResult], terminal: Terminal | None = None) -> str:
    """`results` as benchmark.known_fixes.best_first orders them."""
    terminal = terminal or Terminal()
    width = min(max(terminal.width, 60), 110)
    if not results:
        return terminal.draw([(Span("No known fix applies to this device and workload."),)])
    lines: list[Line] = []
    name = max(len(result.id) for result in results) + 2
    for workload in dict.fromkeys(result.workload for result in results):
        lines += [(), *hanging((), f"Known fixes tried on {workload}", width, style="bold")] if lines else [
            (Span(f"Known fixes tried on {workload}", "bold"),)]  # fmt: skip
        for result in results:
            if result.workload == workload:
                lines += _result(result, name, width)
    chosen = [result for result in results if result.recommended]
    lines.append(())
    if not chosen:
        lines.append((Span("None of them is worth it here."),))
    for result in chosen:
        lines += hanging((Span("Do: ", "good"),), result.advice, width, style="command")
    return terminal.draw(lines)


def _result(result: TrialResult, name: int, width: int) -> list[Line]:
    head = Span(result.id.ljust(name)), Span(result.outcome.ljust(15), STYLES[result.outcome])
    if result.speed_up is None or result.low is None or result.high is None:
        return hanging(head, result.reason, width)
    text = f"{result.speed_up:.3f}x ({result.low:.3f} to {result.high:.3f}), {_ms(result.without_ms)} to {_ms(result.with_ms)} ms"
    if result.measures == "first":
        text += ", first step"
    if result.reason:
        text += f"; {result.reason}"
    return hanging(head, text, width)


def _ms(value: float | None) -> str:
    return "?" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"
