"""What `guard` found, for the screen: what is kept, what a command would change, and the command that changes less."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.model.guard import Guard, PackageChange, Trial
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.layout import Line, Span, Terminal, hanging

MOST = 12
"""Changes that are shown of those that break nothing."""


def render(guard: Guard, terminal: Terminal | None = None) -> str:
    terminal = terminal or Terminal()
    return terminal.draw(_lines(guard, min(max(terminal.width, 60), 120)))


def _lines(guard: Guard, width: int) -> Iterator[Line]:
    names = ", ".join(f"{package.name} {package.version}" for package in guard.kept)
    yield (Span("Kept", "bold"), Span(f" in {visible(guard.python)}"))
    yield from hanging((Span("  "),), visible(names), width)
    if guard.trial is None:
        return
    yield ()
    yield from _trial(guard.trial, width)


def _trial(trial: Trial, width: int) -> Iterator[Line]:
    command = visible(trial.command)
    if trial.outcome == "unknown":
        yield from hanging((Span("? ", "warn"), Span("Not determined", "warn"), Span(": ")), visible(trial.reason), width)
        return
    if trial.outcome == "kept":
        yield (Span("+ ", "good"), Span("It leaves them as they are.", "good"))
        yield from _changes(trial.changes)
        yield ()
        yield (Span(f"Next: {command}", "bold"),)
        return
    yield (Span("x ", "bad"), Span("It would break this environment", "bad"))
    yield from hanging((Span("  $ "),), command, width)
    yield from _changes(trial.changes)
    for conflict in trial.conflicts:
        yield from hanging((Span("  ! ", "warn"),), visible(f"{conflict.package} {conflict.says}"), width)
    yield ()
    if not trial.safe:
        yield from hanging((Span("It cannot keep them: ", "bold"),), visible(trial.reason), width)
        yield from hanging((Span("Next: ", "bold"),), "install it into an environment of its own, or name another release of it", width)
        return
    others = [change for change in trial.with_constraints or () if change.old != change.new]
    yield (Span("With the constraints it leaves them as they are" + (":" if others else "."), "good"),)
    yield from _changes(others)
    yield ()
    yield (Span(f"Next: gpudoctor guard -o constraints.txt && {visible(trial.safe)}", "bold"),)


def _changes(changes: Sequence[PackageChange]) -> Iterator[Line]:
    broken = [change for change in changes if change.breaks]
    others = [change for change in changes if not change.breaks]
    shown = [*broken, *others[:MOST]]
    wide = max((len(visible(change.name)) for change in shown), default=0)
    for change in shown:
        sign, style = ("x", "bad") if change.breaks else (" ", "")
        versions = f"{visible(change.old) or 'new'} -> {visible(change.new) or 'removed'}" if change.old else f"new, {visible(change.new)}"
        source = f"  from {visible(change.source)}" if change.source and change.breaks else ""
        yield (Span(f"  {sign} ", style), Span(f"{visible(change.name):{wide}}  {versions}", style), Span(source, "dim"))
    if len(others) > MOST:
        yield (Span(f"    and {len(others) - MOST} more", "dim"),)
