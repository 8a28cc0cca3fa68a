"""Carries out a journaled plan step by step, from the step at which it was left. For each the order is: journal, act, verify, journal."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from gpudoctor.model.plan import Plan, PlannedStep
from gpudoctor.setup.journal import Journal, StepRow
from gpudoctor.setup.steps import kind_named
from gpudoctor.setup.steps._step import Kind, Waiting
from gpudoctor.system.writable_host import ActFailed, NeedsRoot, WritableHost


class RunListener(Protocol):
    """What is called at each step of a run, to show it on a screen."""

    def begins(self, step: PlannedStep, total: int) -> None: ...
    def ends(self, step: PlannedStep, seconds: float) -> None: ...
    def undoes(self, step: PlannedStep, total: int) -> None: ...
    def says(self, text: str) -> None:
        """Shows one line of progress, which the next one overwrites."""
        ...


class Stopped(Struct, frozen=True):
    """The step at which a run stopped, and why. `state`: failed or waiting."""

    state: str
    step: PlannedStep
    reason: str
    advice: str = ""
    tail: str = ""
    commands: tuple[tuple[str, ...], ...] = ()


def carry_out(
    run: int, plan: Plan, journal: Journal, machine: WritableHost, watcher: RunListener, enter: Callable[[int], None]
) -> Stopped | None:
    """Carries out every step that is not done yet; None where all are. `enter(number)` is called before each, so that its processes are
    journaled under it."""
    rows = journal.steps(run)
    journal.set_run(run, "running")
    for step in plan.steps:
        row = rows[step.number]
        if row.state in ("done", "skipped"):
            continue
        enter(step.number)
        began = time.monotonic()
        watcher.begins(step, len(plan.steps))
        stopped = _one(run, step, row, journal, machine)
        if stopped is not None:
            journal.set_step(run, step.number, stopped.state, stopped.reason)
            journal.set_run(run, stopped.state, f"{step.title}: {stopped.reason}")
            return stopped
        watcher.ends(step, time.monotonic() - began)
    return None


def _one(run: int, step: PlannedStep, row: StepRow, journal: Journal, machine: WritableHost) -> Stopped | None:
    kind = kind_named(step.kind)
    try:
        before = row.before
        if before is None:
            before = kind.before(step.settings, machine)
            journal.begin(run, step.number, before)
        else:
            # The person did it. Only `apply` knows whether the machine was restarted, by what `before` noted.
            if row.state == "waiting" and step.kind != "reboot" and not kind.missing(step.settings, machine):
                journal.finish(run, step.number, kind.after(step.settings, before, machine))
                return None
            kind.recover(step.settings, before, machine)
        kind.apply(step.settings, before, machine)
        missing = kind.missing(step.settings, machine)
        if missing:
            return Stopped("failed", step, f"it ran, and yet {missing}", "gpudoctor setup --resume tries again; --undo takes it back")
        journal.finish(run, step.number, kind.after(step.settings, before, machine))
    except Waiting as waiting:
        return Stopped("waiting", step, str(waiting), "then: gpudoctor setup --resume")
    except NeedsRoot as refused:
        return Stopped("waiting", step, str(refused), refused.advice, commands=refused.commands)
    except ActFailed as failed:
        advice = failed.advice or "gpudoctor setup --resume tries again; --undo takes it back"
        return Stopped("failed", step, str(failed), advice, failed.tail)
    return None


def take_back(
    run: int, plan: Plan, journal: Journal, machine: WritableHost, watcher: RunListener, enter: Callable[[int], None]
) -> Stopped | list[str]:
    """Undoes the steps, the last one first, from whatever state each was left in. Returns a line for each thing that was kept because a
    person has changed it since, or where it stopped."""
    rows = journal.steps(run)
    journal.set_run(run, "undoing")
    kept: list[str] = [row.note for row in rows.values() if row.state == "kept" and row.note]
    for step in reversed(plan.steps):
        row = rows[step.number]
        if row.before is None or row.state in ("todo", "skipped", "undone", "kept"):
            continue
        enter(step.number)
        watcher.undoes(step, len(plan.steps))
        journal.set_step(run, step.number, "undoing")
        stopped = _undo_one(step, row, kind_named(step.kind), machine)
        if isinstance(stopped, Stopped):
            journal.set_run(run, "undoing", f"{step.title}: {stopped.reason}")
            return stopped
        journal.set_step(run, step.number, "kept" if stopped else "undone", "; ".join(stopped))
        kept += stopped
    journal.set_run(run, "kept" if kept else "undone", "; ".join(kept))
    return kept


def _undo_one(step: PlannedStep, row: StepRow, kind: Kind, machine: WritableHost) -> Stopped | tuple[str, ...]:
    assert row.before is not None
    try:
        return kind.undo(step.settings, row.before, row.after, machine)
    except NeedsRoot as refused:
        return Stopped("waiting", step, str(refused), "then gpudoctor setup --undo again", commands=refused.commands)
    except ActFailed as failed:
        return Stopped("failed", step, str(failed), failed.advice or "gpudoctor setup --undo goes on where it stopped", failed.tail)
