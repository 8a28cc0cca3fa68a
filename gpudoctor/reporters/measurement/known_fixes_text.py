"""The screen of `gpudoctor validate --try-fixes`: what each known fix does here, what it costs, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.model.trials import BY_HAND, TrialResult
from gpudoctor.reporters.shared.layout import Line, Span, Terminal, hanging

STYLES = {"helps": "good", "harms": "bad", "wrong": "bad", "failed": "warn", "no difference": "dim", "unclear": "warn",
          "not possible": "dim", "by hand": "dim"}  # fmt: skip
NOTHING = (
    "There is nothing left to try on this device and workload: of the known fixes none applies, or all are set. "
    "gpudoctor validate --sweep-batch shows whether a larger batch helps."
)
LONGEST_NAME = 26


def render(results: Sequence[TrialResult], terminal: Terminal | None = None, interrupted: bool = False) -> str:
    """The screen. `results`: in the order of benchmark.trial_runs.best_first; `interrupted`: some fixes were not tried."""
    terminal = terminal or Terminal()
    width = min(max(terminal.width, 60), 110)
    if not results:
        return terminal.draw(hanging((), NOTHING, width))
    lines: list[Line] = []
    name = min(max(len(result.id) for result in results), LONGEST_NAME) + 2
    for workload in dict.fromkeys(result.workload for result in results):
        title = f"Known fixes tried on {workload}{' (interrupted: the others were not tried)' if interrupted else ''}"
        lines += [(), *hanging((), title, width, style="bold")] if lines else hanging((), title, width, style="bold")
        for result in results:
            if result.workload == workload and result.outcome != BY_HAND:
                lines += _result(result, name, width)
    lines += [(), *_todo([result for result in results if result.recommended], width)]
    by_hand = {result.id: result for result in results if result.outcome == BY_HAND}
    if by_hand:
        lines += [(), (Span("Known to help, and not to be tried from here:", "bold"),)]
        for result in by_hand.values():
            lines += [*hanging((Span("  "),), f"{result.title}: {result.reason}", width), *hanging((Span("    "),), result.advice, width)]
    return terminal.draw(lines)


def _todo(chosen: Sequence[TrialResult], width: int) -> list[Line]:
    if not chosen:
        return [(Span("None of them is worth it here."),)]
    lines: list[Line] = []
    for result in chosen:
        lines += hanging((Span("Do: ", "good"),), result.advice, width, style="command")
        lines += hanging((Span("    It costs: "),), result.costs, width) if result.costs else []
    return lines


def _result(result: TrialResult, name: int, width: int) -> list[Line]:
    short = len(result.id) + 2 <= name
    head = Span(result.id.ljust(name) if short else " " * name), Span(result.outcome.ljust(15), STYLES[result.outcome])
    above: list[Line] = [] if short else [(Span(result.id),)]
    if result.speed_up is None or result.low is None or result.high is None:
        return [*above, *hanging(head, result.reason, width)]
    text = f"{result.speed_up:.3f}x ({result.low:.3f} to {result.high:.3f}), {_ms(result.without_ms)} to {_ms(result.with_ms)} ms"
    if result.measures == "first":
        text += ", first step"
    if result.reason:
        text += f"; {result.reason}"
    return [*above, *hanging(head, text, width)]


def _ms(value: float | None) -> str:
    return "?" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"
