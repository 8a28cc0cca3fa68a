"""The screen of `gpudoctor setup` without a stack: the recommendation for this machine, why, the alternative, and what speaks against
others."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.model.plan import Option, Recommendation
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.layout import Line, Span, Terminal, hanging


def render(choice: Recommendation, terminal: Terminal | None = None, *, machine: str = "") -> str:
    terminal = terminal or Terminal()
    width = min(max(terminal.width, 40), 100)
    parts: list[list[Line]] = [hanging((), machine[:1].upper() + machine[1:], width, style="bold")] if machine else []
    if choice.first:
        parts.append(list(_option("Recommended: ", "good", choice.first, width)))
    else:
        parts.append(hanging((Span("Nothing to recommend: ", "warn"),), "no stack here fits a device of this machine.", width))
    if choice.runner_up:
        parts.append(list(_option("Or:          ", "dim", choice.runner_up, width)))
    parts.append([line for text in choice.against for line in hanging((Span("Not ", "dim"),), text, width)])
    parts.append(list(_next(choice)))
    lines = [line for part in parts if part for line in (*part, ())]
    return terminal.draw(lines[:-1])


def _option(lead: str, style: str, option: Option, width: int) -> Iterator[Line]:
    yield from hanging((Span(lead, style),), f"{option.title} ({option.name})", width, style="bold")
    margin = Span(" " * 3)
    if option.device:
        yield from hanging((margin, Span("on     ", "dim")), option.device, width)
    label = "why    "
    for reason in option.reasons:
        yield from hanging((margin, Span(label, "dim")), reason, width)
        label = " " * len(label)
    yield margin, Span("do     ", "good"), Span(f"$ {_command(option)}", "command")


def _command(option: Option) -> str:
    return " ".join(visible(option.command or f"gpudoctor setup {option.name}").split())


def _next(choice: Recommendation) -> Iterator[Line]:
    if choice.first and _command(choice.first).startswith("gpudoctor setup"):
        yield Span("Next, to see each step: "), Span(f"{_command(choice.first)} --plan", "command")
    else:
        yield Span("Next: "), Span(_command(choice.first) if choice.first else "gpudoctor check", "command")
