"""Lines about a run of `setup`: its steps, its end, and the history of runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpudoctor.model.plan import Plan, PlannedStep
from gpudoctor.reporters.plan.plan_text import marks
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.layout import Line, Span, hanging
from gpudoctor.reporters.shared.shell_text import Unwritable, flat

MARGIN = Span("      ")
TAIL = 12
"""The number of lines of a log that are shown."""
OUTCOMES = {
    "verified": ("good", "Done and verified"),
    "not-verified": ("warn", "Installed, not verified"),
    "failed": ("bad", "Failed"),
    "stopped": ("warn", "Stopped"),
    "undone": ("good", "Undone"),
}
_STATES = {"done": "good", "undone": "dim", "failed": "bad", "begun": "warn", "waiting": "warn"}


def step_begins(step: PlannedStep, total: int, width: int = 80) -> list[Line]:
    """The line of a step that begins: '3/8 Level Zero and OpenCL drivers … root'."""
    return hanging((Span(_count(step, total), "bold"),), step.title, width, last=marks(step))


def _count(step: PlannedStep, total: int) -> str:
    return f"{f'{step.number}/{total}':<6}"


def step_done(step: PlannedStep, seconds: float, width: int = 80) -> list[Line]:
    return hanging((MARGIN, Span("done", "good"), Span(f"  {duration(seconds)}", "dim")), "", width)


def step_failed(step: PlannedStep, reason: str, advice: str = "", tail: str = "", width: int = 80) -> list[Line]:
    """The reason, the end of the log, the advice, and how to continue or undo."""
    lines = hanging((MARGIN, Span("FAILED  ", "bad")), reason, width, style="bold")
    log = [line for line in tail.replace("\r", "\n").splitlines() if line.strip()]
    lines += [(MARGIN, Span(f"| {visible(line)}"[: max(width - 6, 20)], "dim")) for line in log[-TAIL:]]
    if advice:
        lines += hanging((MARGIN, Span("do      ", "good")), advice, width)
    return lines + _either(width)


def _either(width: int) -> list[Line]:
    return [
        *hanging((MARGIN, Span("then    ", "dim")), "gpudoctor setup --resume", width, style="command", last="continues with this step"),
        *hanging((MARGIN, Span("or      ", "dim")), "gpudoctor setup --undo", width, style="command", last="undoes everything"),
    ]


def waiting(step: PlannedStep, text: str, commands: Sequence[Sequence[str]] = (), width: int = 80) -> list[Line]:
    """What a person must do before the run can continue; each command is on one line, to be copied."""
    lines = hanging((MARGIN, Span("YOU     ", "warn")), text, width)
    lines += [(MARGIN, Span(" " * 8), Span(f"$ {command}", "command")) for command in (_typed(argv) for argv in commands)]
    return lines + hanging((MARGIN, Span("then    ", "dim")), "gpudoctor setup --resume", width, style="command", last="continues after it")


def _typed(argv: Iterable[str]) -> str:
    try:
        return " ".join(flat(text) for text in argv)
    except Unwritable as error:
        return f"({error})"


def finished(
    plan: Plan, outcome: str, *, reason: str = "", run: str = "", seconds: float | None = None, kept: Sequence[str] = (), width: int = 80
) -> list[Line]:
    """The end of a run. `outcome`: verified, not-verified, failed, stopped or undone. `reason`: in words, with the layer that it
    concerns. `kept`: files that undo left because a person had changed them."""
    style, word = OUTCOMES.get(outcome, ("", outcome))
    lines: list[Line] = [()]
    took = duration(seconds) if seconds is not None else ""
    lines += hanging((Span(f"{word}: ", style),), reason or plan.title, width, style="bold", last=took)
    lines += _kept(kept, width)
    if outcome in ("verified", "not-verified") and plan.env:
        lines.append((Span("Use it:    ", "dim"), Span(_typed((".", f"{plan.env}/bin/activate")), "command")))  # it sources our own script
    if outcome == "not-verified" and plan.stack:
        lines.append((Span("Look:      ", "dim"), Span(f"gpudoctor check --stack {visible(plan.stack)}", "command")))
    if outcome in ("failed", "stopped"):
        lines.append((Span("Continue:  ", "dim"), Span("gpudoctor setup --resume", "command")))
    if outcome != "undone":
        lines.append((Span("Undo:      ", "dim"), Span(f"gpudoctor setup --undo {visible(run)}".rstrip(), "command")))
    return lines


def _kept(kept: Iterable[str], width: int) -> Iterator[Line]:
    for text in kept:
        yield from hanging((Span("Kept: ", "warn"),), text, width)


def history(runs: Iterable[Mapping[str, Any]], width: int = 80) -> list[Line]:
    """One block for each run, newest first: id, name, started, status, steps [(title, state)], kept [text]."""
    lines: list[Line] = []
    for run in runs:
        status = _text(run, "status")
        lines += [()] if lines else []
        head = (Span(_text(run, "id"), "bold"), Span("  "))
        lines += hanging(head, " · ".join(filter(None, (_text(run, "name"), _text(run, "started")))), width, last=status)
        for title, state in run.get("steps", ()):
            shown = visible(str(state))
            lines += hanging((Span("  "), Span(f"{shown:<9}", _STATES.get(shown, "dim"))), str(title), width)
        lines += _kept((str(text) for text in run.get("kept", ())), width)
    return lines or [(Span("No runs yet."),)]


def _text(run: Mapping[str, Any], key: str) -> str:
    value = run.get(key)
    return " ".join(visible("" if value is None else str(value)).split())


def duration(seconds: float) -> str:
    """A duration in words: 0.4 s, 12 s, 3 min 20 s, 1 h 5 min."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
