"""The services of `setup` that change the machine: apply, resume, undo and verify; and the history of runs."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from gpudoctor import __version__
from gpudoctor.benchmark.first_network import try_network
from gpudoctor.model.plan import Plan, PlannedStep
from gpudoctor.model.recipe import Address
from gpudoctor.model.report import Report
from gpudoctor.services import checking
from gpudoctor.setup.first_computation import compute
from gpudoctor.setup.journal import UNFINISHED, Journal, JournaledProcess, JournalError, RunRow
from gpudoctor.setup.runner import RunListener, Stopped, carry_out, take_back
from gpudoctor.system import children
from gpudoctor.system.live_changes import ActingHost
from gpudoctor.system.local_host import LocalHost, find_program
from gpudoctor.system.state_folder import state_folder
from gpudoctor.system.writable_host import ActFailed


class ApplyRequest(Struct, frozen=True, kw_only=True):
    """A plan that the person agreed to."""

    plan: Plan
    offline: bool = False
    """No socket is opened: everything comes from a bundle."""


class UndoRequest(Struct, frozen=True, kw_only=True):
    """The run to take back; None is the last one that changed something and was not taken back."""

    run: int | None = None


class BundleRequest(Struct, frozen=True, kw_only=True):
    """What to download for a machine without a network, and the folder to put it into."""

    plan: Plan
    addresses: Mapping[str, Address]
    folder: str


class Outcome(Struct, frozen=True):
    """How a run ended. `state`: done, unverified, failed, waiting, undone, kept or nothing. `text` is one line."""

    run: int
    state: str
    text: str
    step: PlannedStep | None = None
    advice: str = ""
    tail: str = ""
    commands: tuple[tuple[str, ...], ...] = ()
    kept: tuple[str, ...] = ()
    plan: Plan | None = None

    @property
    def succeeded(self) -> bool:
        return self.state in ("done", "undone", "nothing")


def open_journal() -> Journal:
    """The journal of this machine. Raises services.checking.RequestError where it cannot be used."""
    try:
        return Journal(state_folder())
    except JournalError as error:
        raise checking.RequestError(str(error)) from error


def apply(request: ApplyRequest, watcher: RunListener) -> Outcome:
    """Journals the plan and carries it out."""
    with _alone(open_journal()) as journal:
        left = journal.unfinished()
        if left is not None:
            raise checking.RequestError(
                f"run {left.id} ({left.name}) is not finished ({left.state}); gpudoctor setup --resume goes on with it, "
                f"gpudoctor setup --undo {left.id} takes it back"
            )
        run = journal.start(request.plan, __version__)
        return _go_on(run, request.plan, journal, watcher, request.offline)


def resume(watcher: RunListener) -> Outcome:
    """Continues the last unfinished run; an interrupted undo is continued as an undo."""
    with _alone(open_journal()) as journal:
        left = journal.unfinished()
        if left is None:
            return Outcome(0, "nothing", "there is nothing to resume")
        _settle(left.id, journal, watcher)
        if left.state == "undoing":
            return _take_back(left, journal, watcher)
        return _go_on(left.id, left.plan, journal, watcher, _from_bundle(left.plan))


def undo(request: UndoRequest, watcher: RunListener) -> Outcome:
    """Takes back one run."""
    number = request.run
    with _alone(open_journal()) as journal:
        rows = [row for row in journal.runs() if row.id == number] if number is not None else [
            row for row in journal.runs() if row.state in UNFINISHED
            or (row.state not in ("undone", "kept") and any(step.before is not None for step in row.steps))
        ]  # fmt: skip
        if not rows:
            if number is not None:
                raise checking.RequestError(f"there is no run {number}; gpudoctor setup --history lists them")
            return Outcome(0, "nothing", "there is nothing to undo")
        row = rows[-1]
        later = [other.id for other in journal.runs() if other.id > row.id and other.state not in ("undone", "kept")]
        if later:
            watcher.says(f"runs {', '.join(map(str, later))} came after run {row.id}; what they share with it stays")
        _settle(row.id, journal, watcher)
        return _take_back(row, journal, watcher)


def history() -> list[RunRow]:
    """All runs, oldest first. No file is created."""
    if not (state_folder() / "journal.sqlite").is_file():
        return []
    journal = open_journal()
    try:
        return journal.runs()
    except JournalError as error:
        raise checking.RequestError(str(error)) from error
    finally:
        journal.close()


@contextlib.contextmanager
def _alone(journal: Journal) -> Iterator[Journal]:
    try:
        with journal.held():
            yield journal
    except JournalError as error:
        raise checking.RequestError(str(error)) from error
    finally:
        journal.close()


def _settle(run: int, journal: Journal, watcher: RunListener) -> None:
    """Waits for, or ends, processes that an interrupted run left. Raises services.checking.RequestError where one does not end."""
    for child in journal.open_children(run):
        if children.living([(child.pid, child.began)]):
            gone = _wait_or_end(child, watcher)
            if not gone:
                raise checking.RequestError(
                    f"process {child.pid} ({child.program}) of run {run} is still at work; wait for it, then try again"
                )
        journal.child_ends(run, child.pid)
    if not children.wait_for_lock(progress=watcher.says):
        raise checking.RequestError("another program holds the lock of dpkg; wait for it, then try again")


def _wait_or_end(child: JournaledProcess, watcher: RunListener) -> bool:
    if child.finish:
        watcher.says(f"waiting for {child.program} (process {child.pid}), which an earlier run left at work")
        return children.wait_for(child.pid, child.began, watcher.says)
    return children.end(child.pid, child.began)


@contextlib.contextmanager
def _machine(run: int, journal: Journal, watcher: RunListener, offline: bool) -> Iterator[tuple[ActingHost, Callable[[int], None]]]:
    """The writable host. Its child processes are recorded in the journal under the current step; the second value sets the number of
    that step."""
    current = [0]

    def starts(pid: int, began: int, finish: bool, argv: Sequence[str]) -> None:
        journal.child_starts(run, current[0], JournaledProcess(pid, began, finish, argv[0]))

    machine = ActingHost(
        LocalHost(budget=86_400.0), log=journal.folder / f"run-{run}.log", offline=offline, progress=watcher.says,
        on_child=starts, on_child_end=lambda pid: journal.child_ends(run, pid),
        sudo=find_program("sudo", os.environ.get("PATH", os.defpath)),
    )  # fmt: skip
    try:
        yield machine, lambda number: current.__setitem__(0, number)
    except KeyboardInterrupt:
        row = journal.run(run)
        if row is not None and row.state == "running":
            journal.set_run(run, "interrupted", "stopped by the person")
        raise


def _go_on(run: int, plan: Plan, journal: Journal, watcher: RunListener, offline: bool) -> Outcome:
    with _machine(run, journal, watcher, offline) as (machine, enter):
        stopped = carry_out(run, plan, journal, machine, watcher, enter)
        if stopped is not None:
            return _outcome(run, stopped)
        outcome = _verify(run, plan, watcher)
    journal.set_run(run, outcome.state, outcome.text)
    return outcome


def _verify(run: int, plan: Plan, watcher: RunListener) -> Outcome:
    """Verifies the result: a check of the stack, a first computation on the device in the target environment, then a whole network
    there."""
    watcher.says("checking what is there now")
    report = checking.check(checking.CheckRequest(python=plan.env or None, stack=plan.stack or None, budget=90.0), watcher.says)
    still = [finding for finding in report.findings if finding.key in plan.mends]
    if still:
        text = f"everything is installed, and this is still so: {still[0].title}"
        return Outcome(run, "failed", text, advice=still[0].advice.text, plan=plan)
    if not plan.compute:
        lacking = _first_not_ok(report, plan.stack)
        text = f"everything is in place{lacking}" if lacking or not plan.stack else f"every rung of {plan.stack} holds"
        return Outcome(run, "unverified" if lacking else "done", text, plan=plan)
    watcher.says("computing something on the device")
    computed = compute(plan.compute, _interpreter(plan.env) if plan.env else "", variables=plan.variables)
    if computed.ok:
        watcher.says("trying a network on it")
        tried = try_network(plan.compute, computed.device, _interpreter(plan.env) if plan.env else "", variables=plan.variables)
        if tried.wrong:
            more = f"gpudoctor validate --operators{f' --python {shlex.quote(plan.env)}' if plan.env else ''} finds the operator"
            return Outcome(run, "failed", f"installed, and {computed.text}, but {tried.text}", advice=more, plan=plan)
        return Outcome(run, "done", "; ".join(text for text in (computed.text, tried.text) if text), plan=plan)
    text = computed.text.removeprefix("installed, not verified: ") + _first_not_ok(report, plan.stack)
    if computed.no_device:
        return Outcome(run, "unverified", text, plan=plan)
    look = f"gpudoctor check --stack {plan.stack}{f' --python {shlex.quote(plan.env)}' if plan.env else ''} shows the ladder"
    return Outcome(run, "failed", text, advice=look, plan=plan)


def _interpreter(env: str) -> str:
    return f"{env}/Scripts/python.exe" if sys.platform == "win32" else f"{env}/bin/python"


def _first_not_ok(report: Report, stack: str) -> str:
    """A clause such as '; the first rung of ipex that is not ok: device (no Intel GPU on this machine)'; empty where all are ok."""
    result = next((result for result in report.stacks if result.stack == stack), None)
    if result is None:
        return ""
    if result.verdict == "not-applicable":  # without a device no rung was looked at: it is the lowest
        ladder = next((known.rungs for known in checking.catalogue().stacks if known.stack == stack), ())
        layer, detail = (ladder[0].layer, ladder[0].missing) if ladder else ("device", "none here")
    else:
        first = next((rung for rung in result.layers if rung.status != "ok"), None)
        if first is None:
            return ""
        layer, detail = first.layer, first.detail or first.status
    return f"; the first rung of {stack} that is not ok: {layer} ({detail})"


def _outcome(run: int, stopped: Stopped) -> Outcome:
    return Outcome(run, stopped.state, stopped.reason, stopped.step, stopped.advice, stopped.tail, stopped.commands)


def _from_bundle(plan: Plan) -> bool:
    """Whether this run must not use the network. Undo may use it otherwise: a removed or upgraded package is downloaded again."""
    return any(step.settings.get("bundle") for step in plan.steps)


def _take_back(row: RunRow, journal: Journal, watcher: RunListener) -> Outcome:
    with _machine(row.id, journal, watcher, _from_bundle(row.plan)) as (machine, enter):
        result = take_back(row.id, row.plan, journal, machine, watcher, enter)
    if isinstance(result, Stopped):
        return _outcome(row.id, result)
    if result:
        return Outcome(row.id, "kept", f"run {row.id} is undone, except for what was changed since", kept=tuple(result), plan=row.plan)
    return Outcome(row.id, "undone", f"run {row.id} ({row.name}) is undone", plan=row.plan)


def fill_bundle(request: BundleRequest, watcher: RunListener) -> str:
    """Downloads everything the plan needs into the folder, and changes nothing else. Returns one line: the content, and how to use it."""
    from gpudoctor.setup.offline.bundle import BundleError, manifest_sha256
    from gpudoctor.setup.offline.bundle_making import make_bundle

    log = state_folder() / "bundle.log"
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        machine = ActingHost(LocalHost(budget=86_400.0), log=log, progress=watcher.says)
        bundle = make_bundle(request.plan, request.addresses, request.folder, machine)
    except (BundleError, ActFailed) as error:
        raise checking.RequestError("; ".join(text for text in (str(error), getattr(error, "advice", "")) if text)) from error
    pin = manifest_sha256(bundle.folder)
    return (
        f"{bundle.folder}: {len(bundle.files)} files; on the other machine: gpudoctor setup {request.plan.name} "
        f"--offline-bundle {bundle.folder} --bundle-sha256 {pin} (bring this number by another way than the bundle)"
    )
