"""The screen of `check`: the machine, how far each stack gets, what is broken first, what to do, and what could not be examined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from gpudoctor.model.check import UPDATE
from gpudoctor.model.report import Report
from gpudoctor.reporters.report import memory_text
from gpudoctor.reporters.report.finding_order import MOST, arrange
from gpudoctor.reporters.report.findings_text import arranged_lines, info_lines, notes_line
from gpudoctor.reporters.report.ladder_text import ladders
from gpudoctor.reporters.shared.layout import Line, Span, Terminal, hanging, joined, wrapped
from gpudoctor.reporters.shared.phrases import AGAIN, NO_GPU, looked_for, next_step, no_gpu, nothing_wrong, python_line, verdict_words

SCREEN = 24
"""The number of lines of a plain terminal; less important parts are shortened until the screen fits."""


class Screen(Struct, frozen=True):
    """The options of a screen. `again`: the command line that made it; `tight` is increased until the screen fits."""

    width: int
    verbose: bool = False
    quiet: bool = False
    stack: str | None = None
    again: str = AGAIN
    tight: int = 0


def render(
    report: Report,
    terminal: Terminal | None = None,
    *,
    verbose: bool = False,
    quiet: bool = False,
    stack: str | None = None,
    ignored: Mapping[str, str] | None = None,
    again: str = AGAIN,
) -> str:
    """The whole screen. `quiet` leaves out ladders and hints; `stack` is the only one to show; `ignored`: checks that were left out,
    with reasons; `again`: the command line, for hints that repeat it."""
    terminal = terminal or Terminal()
    width = min(max(terminal.width, 40), 100)
    lines: list[Line] = []
    for tight in range(1 if verbose or not _serious(report) else 5):
        lines = _screen(report, Screen(width, verbose, quiet, stack, again, tight), ignored or {})
        if len(lines) <= SCREEN:
            break
    return terminal.draw(lines)


def _serious(report: Report) -> bool:
    return any(finding.severity != "info" and finding.confidence != "possible" for finding in report.findings)


def _screen(report: Report, screen: Screen, ignored: Mapping[str, str]) -> list[Line]:
    parts = [list(machine_lines(report, screen.width))]
    if report.headline.get("looked_at") and not screen.quiet:
        from gpudoctor.reporters.report.looked_at_text import looked_at_lines

        parts.append(list(looked_at_lines(report, screen.width, verbose=screen.verbose, brief=screen.tight > 3)))
    if not screen.quiet:
        tight = screen.tight
        parts += ladders(report, screen.width, verbose=screen.verbose, only=screen.stack, tight=tight > 0, brief=tight > 3)
    if screen.verbose:
        parts.append(list(memory_text.lines(report, screen.width)))
    parts += _findings(report, screen)
    parts.append(list(_tail(report, screen, ignored)))
    if screen.tight > 3:
        parts[-3:] = [[line for part in parts[-3:] for line in part]]
    return [line for part in parts if part for line in (*part, ())][:-1]


def machine_lines(report: Report, width: int) -> Iterator[Line]:
    if report.incomplete:
        yield from hanging((Span("incomplete: ", "warn"),), "; ".join(report.incomplete), width)
    head = report.headline
    machine = NO_GPU if no_gpu(report) else head.get("machine", "")
    kernel = f"kernel {head['kernel']}" if head.get("kernel") else ""
    for text in joined([head.get("looked_at", ""), machine, head.get("os", ""), kernel, python_line(head)], width, indent=2):
        yield (Span(text, "bold"),)
    if no_gpu(report):
        yield ()
        yield from hanging((), looked_for(report), width)


def _findings(report: Report, screen: Screen) -> Iterator[list[Line]]:
    """The findings in full where they fit; on a short screen the first one, and the titles of the others."""
    arranged = arrange(report.findings, None if screen.verbose else MOST)
    tight = screen.tight
    yield from arranged_lines(arranged, screen.width, verbose=screen.verbose, whole=1 if tight > 1 else None, brief=tight > 3)
    if arranged.left_out:
        yield [(Span(f"{arranged.left_out} more: {screen.again} -v", "dim"),)]
    if not arranged.hints:
        return
    if screen.tight > 2 and len(arranged.hints) > 1:
        yield notes_line(arranged.hints, screen.again, screen.width)
    else:
        yield [line for finding in arranged.hints for line in info_lines(finding, screen.width, screen.verbose)]


def _tail(report: Report, screen: Screen, ignored: Mapping[str, str]) -> Iterator[Line]:
    width = screen.width
    silenced = {trace.check for trace in report.traces if trace.outcome == "problem"} & set(ignored)
    for check in sorted(silenced):
        yield from hanging((Span("Ignored: ", "dim"),), f"{check} ({ignored[check]})", width, style="dim")
    if report.undetermined:
        yield from hanging((Span("Policy not decided: ", "warn"),), "; ".join(report.undetermined), width)
    unread = [line for line in report.not_looked_at if line not in report.incomplete]
    if unread and not screen.quiet:
        yield from hanging((Span("Not read: ", "dim"),), "; ".join(unread) + ".", width, style="dim")
    _, update, made = report.catalogue_version.partition(UPDATE)
    if update and not screen.quiet:
        yield (Span(f"Checks: the update of {made} (gpudoctor update-checks).", "dim"),)
    requested = next((result for result in report.stacks if result.stack == screen.stack), None)
    if requested and requested.verdict in ("not-applicable", "incomplete") and not _serious(report):  # the ladder shows it already
        if verdict_words(requested) == "not installed" and not screen.quiet:
            yield from _following("Next, to install it:", (f"gpudoctor setup {requested.stack} --plan",), screen)
        return
    if not _serious(report):
        words = nothing_wrong(report)
        style = "good" if words.startswith("No problems") and not report.incomplete else ""
        yield from ((Span(text, style),) for text in wrapped(words, width))
    if not screen.quiet:
        yield from _next(report, screen)


def _next(report: Report, screen: Screen) -> Iterator[Line]:
    lead, commands = next_step(report, screen.again)
    if len(commands) > 1 and screen.tight > 2:
        lead, commands = f"Next: run the {len(commands)} commands of finding 1, in their order.", ()
    yield from _following(lead, commands, screen)


def _following(lead: str, commands: Sequence[str], screen: Screen) -> Iterator[Line]:
    if len(commands) == 1 and len(lead) + len(commands[0]) + 1 <= screen.width:
        yield Span(f"{lead} "), Span(commands[0], "command")
        return
    for number, text in enumerate(wrapped(lead, screen.width - 2)):
        yield (Span(f"  {text}" if number else text),)
    for command in commands:
        yield (Span(f"  {command}", "command"),)
