"""The screen of `gpudoctor` without a command: the machine in a few lines, and three commands. It has at most 24 lines of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from gpudoctor.model.plan import Recommendation
from gpudoctor.model.report import Finding, Report, StackResult
from gpudoctor.reporters.report.console import machine_lines
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.layout import Line, Span, Terminal, hanging, wrapped
from gpudoctor.reporters.shared.phrases import name, no_gpu, python_line

STACKS = 4
"""The number of stacks that are named; the others are counted."""
LINES = 3
"""The largest number of lines of one paragraph."""
Commands = list[tuple[str, str]]


def render(report: Report, choice: Recommendation, terminal: Terminal | None = None) -> str:
    terminal = terminal or Terminal()
    width = min(max(terminal.width, 40), 80)
    if "gpus" not in report.facts:
        report = replace(report, headline={**report.headline, "machine": "GPU not looked for yet"})
    if len(python_line(report.headline)) > width - 2:  # a long path leaves no room for the reason of its choice
        report = replace(report, headline={**report.headline, "python_why": ""})
    parts: list[list[Line]] = [
        list(machine_lines(report, width))[:6],
        list(_stacks(report, width)),
        list(_first(report, choice, width)),
        list(_commands(report, choice, width)),
        hanging((), "This was a quick look at files only. All commands: gpudoctor --help", width, style="dim"),
    ]
    lines = [line for part in parts if part for line in (*part, ())]
    return terminal.draw(lines[:-1])


def _stacks(report: Report, width: int) -> Iterator[Line]:
    here = [stack for stack in report.stacks if stack.used and stack.verdict != "not-applicable"]
    for stack in here[:STACKS]:
        title, (verdict, style) = visible(stack.title), _verdict(stack)
        yield Span(title, "bold"), Span(" " * max(width - len(title) - len(verdict), 2)), Span(verdict, style)
    if len(here) > STACKS:
        yield (Span(f"and {len(here) - STACKS} more: {', '.join(stack.stack for stack in here[STACKS:])}"[:width], "dim"),)


def _verdict(stack: StackResult) -> tuple[str, str]:
    """The verdict of a quick look. Frameworks are not imported, so that an undetermined layer is no fault."""
    if stack.verdict == "broken":
        return f"broken at {name(stack.broken_layer or '')}".removesuffix(" at "), "bad"
    if stack.verdict == "ok":
        return "ok", "good"
    return ("installed, no problems so far", "good") if _installed(stack) else ("not complete", "dim")


def _installed(stack: StackResult) -> bool:
    """Whether the stack is used and not known to be broken; the stack of the processor is 'incomplete' where no device is seen."""
    framework = any(rung.layer == "framework" and rung.status == "ok" for rung in stack.layers)
    return stack.used and (stack.verdict in ("ok", "unknown") or (stack.verdict == "incomplete" and framework))


def _first(report: Report, choice: Recommendation, width: int) -> Iterator[Line]:
    finding = _worst(report)
    if finding:
        more = sum(other.severity == finding.severity for other in report.findings) - 1
        title = finding.title + (f" (and {more} more)" if more else "")
        yield from hanging((Span("First: ", "bad" if finding.severity == "error" else "warn"),), title, width, style="bold")[:LINES]
        yield from hanging((Span("       "),), finding.advice.text, width)[:LINES]
    elif "gpus" not in report.facts:
        yield from hanging((), "To find the GPU a program has to be run, and this quick look runs none: gpudoctor check does.", width)
    elif not no_gpu(report) and not _in_use(report):
        first = choice.first
        said = f"No framework in this environment can use it{'; ' + first.title + ' would serve it' if first else ''}."
        yield from hanging((), said, width)[:LINES]
        if first and first.reasons:
            yield from hanging((), f"Why: {first.reasons[0]}.".replace("..", "."), width, style="dim")[:LINES]


def _worst(report: Report) -> Finding | None:
    return next((finding for finding in report.findings if finding.severity != "info"), None)


def _in_use(report: Report) -> bool:
    return any(stack.verdict == "broken" or _installed(stack) for stack in report.stacks if stack.used)


def commands(report: Report, choice: Recommendation) -> Commands:
    """Three commands with their purposes, the most useful first."""
    finding = _worst(report)
    setup = choice.first.command if choice.first and choice.first.command.startswith("gpudoctor setup") else ""
    whole = ("gpudoctor check", "everything, frameworks included")
    record = ("gpudoctor capture -o machine.tar.gz", "to look at it on another machine")
    if finding:
        recipe = finding.advice.recipe
        mend = (f"gpudoctor setup {recipe} --plan", "how to fix it, step by step") if recipe else record
        return [(f"gpudoctor show {finding.id}", "why, and what to do"), whole, mend]
    if no_gpu(report):
        measure = ("gpudoctor validate", "are the results right, and how fast?")
        install = (f"{setup} --plan", "what serves a machine without a GPU") if setup else ("gpudoctor setup", "what would fit")
        looked = ("gpudoctor check -v", "what was checked, and the evidence")
        return [looked, measure if _in_use(report) else install, record]
    if "gpus" not in report.facts:
        fits = ("gpudoctor setup", "which stack fits this machine, and why")
        return [whole, ("gpudoctor validate", "are the results right, and how fast?") if _in_use(report) else fits, record]
    if not _in_use(report):
        plan = (f"{setup} --plan", "how to install it, step by step") if setup else record
        return [plan, ("gpudoctor setup", "which stack fits best, and why"), whole]
    return [
        whole,
        ("gpudoctor validate", "are the results right, and how fast?"),
        ("gpudoctor check --write-expect policy.toml", "to notice when this changes"),
    ]


def _commands(report: Report, choice: Recommendation, width: int) -> Iterator[Line]:
    rows = commands(report, choice)
    yield (Span("Next steps:"),)
    column = max(len(command) for command, _ in rows) + 4
    beside = all(column + len(why) <= width for _, why in rows)
    for command, why in rows:
        if beside:
            yield Span(f"  {visible(command):<{column - 2}}", "command"), Span(why)
        else:
            yield (Span(f"  {visible(command)}", "command"),)
            yield from ((Span(f"      {line}"),) for line in wrapped(why, width - 6))
