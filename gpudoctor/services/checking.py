"""The service of `check`, and the one module that wires host, probes, catalogue and diagnosis together for all services."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from gpudoctor import __version__
from gpudoctor.capture.open_host import open_host
from gpudoctor.diagnosis.candidates import may_speak_by_facts, speaks_without_a_message
from gpudoctor.diagnosis.diagnose import Hits, diagnose, in_reading_order
from gpudoctor.diagnosis.ladders import demote_unused, first_broken, ladder, used_stacks
from gpudoctor.diagnosis.summary import fact_tree, headline, not_looked_at, unknown_facts
from gpudoctor.facts import vocabulary
from gpudoctor.facts.collect import Gathered, gather
from gpudoctor.facts.derive import measured, package_commands, pip_commands, shell_commands
from gpudoctor.facts.measurement_store import LastRun, last_measurements, recorded_runs
from gpudoctor.facts.tool_messages import said
from gpudoctor.knowledge.compiled_catalogue import Entry
from gpudoctor.knowledge.loader import load_catalogue, our_catalogue
from gpudoctor.knowledge.stack_names import every_name, stack_of, suggestion
from gpudoctor.knowledge.structure import DataError
from gpudoctor.model.check import Catalogue
from gpudoctor.model.deadline import Deadline
from gpudoctor.model.door import Wanted
from gpudoctor.model.facts import Fact, Facts, Known
from gpudoctor.model.report import Finding, Report, StackResult, Trace
from gpudoctor.rules.conditions import did_you_mean
from gpudoctor.system.host import CaptureError, DoorError, Host

if TYPE_CHECKING:
    from gpudoctor.model.measurement import Measurement
    from gpudoctor.model.policy import Demand
    from gpudoctor.model.report_document import ReportDocument
    from gpudoctor.rules.signatures import SearchedText


class RequestError(ValueError):
    """A request that names something that does not exist. The message is one line."""


class FrameworkBroken(RequestError):
    """A request that is right, for a framework that cannot be imported here: a finding."""


BAD_INPUT = (CaptureError, DataError, DoorError, RequestError)
"""Errors that a caller shows as one line: some input cannot be used."""


class CheckRequest(Struct, frozen=True, kw_only=True):
    """The options of `check`. `budget` is in seconds; None is 30, or 3 with `quick`."""

    capture: str | None = None
    door: Wanted | None = None
    """A process, root, container or machine in the place of this machine; None where it is this machine, or a capture."""
    python: str | None = None
    quick: bool = False
    budget: float | None = None
    stack: str | None = None
    checks: Sequence[str] = ()
    expect: str | None = None
    """A policy file: what must be true of the machine."""
    ignore: frozenset[str] = field(default_factory=frozenset)
    every_check: bool = False
    """Builds also checks that need a message in a text, which a machine does not have: for `--why`."""

    every_trace: bool = False
    """Builds also checks whose facts are unknown, and which can therefore have no finding: for formats that list every check."""

    def __post_init__(self) -> None:
        if self.stack is not None:  # by whatever name: `cuda`, `nvidia` and `torch-cuda` are one
            force_setattr(self, "stack", stack_of(self.stack))


def catalogue(extra: Sequence[str] = (), wanted: Iterable[Entry] | None = None) -> Catalogue:
    """All stacks, and all checks or those of ours that are `wanted`. Raises knowledge.structure.DataError."""
    return load_catalogue(vocabulary.items(), extra, wanted)


def speaking_by_facts(facts: Facts) -> list[Entry]:
    """The checks of ours that can have a finding where nothing else is known than these facts."""
    items = vocabulary.items()
    return [entry for entry in our_catalogue(items).with_facts(facts.known) if may_speak_by_facts(facts, items, entry["head"])]


def speaking_by_messages(text: SearchedText) -> list[Entry]:
    """The checks of ours of which the text holds all literals of a signature."""
    from gpudoctor.diagnosis.messages import may_show  # late: most machines have no text

    entries = our_catalogue(vocabulary.items()).with_words(text.words)
    if text.long:
        text.look_for(literal for entry in entries for choices in entry["head"]["signature"] for choice in choices for literal in choice)
    return [entry for entry in entries if may_show(text, entry["head"])]


def open_for(request: CheckRequest) -> Host:
    """The host to examine; system.doors.opening.close_door ends it. Raises system.host.CaptureError for an unreadable recording, and
    system.host.DoorError for what cannot be reached."""
    budget = request.budget if request.budget is not None else (3.0 if request.quick else 30.0)
    if request.door is not None:
        from gpudoctor.system.doors.opening import open_door  # late: most checks are of this machine

        return open_door(request.door, budget=budget, quick=request.quick, python=request.python)
    return open_host(request.capture, budget, request.quick, request.python)


def check(request: CheckRequest, progress: Callable[[str], None] | None = None) -> Report:
    """Examines a machine and returns the report. Raises the errors of BAD_INPUT."""
    began = time.monotonic()
    document = _report_in(request.capture) if request.capture else None
    host = None if document is not None or request.door is not None else open_for(request)
    knowledge = _asked_by_name(request)
    demands = _demands(request.expect) if request.expect else ()
    if document is not None:
        looked = gather_report(document)
    elif request.door is not None:
        looked = gather_behind(request, progress)
    else:
        assert host is not None
        looked = gather_machine(host, "capture" if request.capture else host.origin, progress, live=request.capture is None)
    if knowledge is None:
        knowledge = catalogue(request.checks, speaking_by_facts(looked.gathered.facts))
    report = diagnosed_report(looked, knowledge, request, demands)
    return replace(narrowed(report, request.stack) if request.stack else report, seconds=time.monotonic() - began)


def _report_in(path: str) -> ReportDocument | None:
    from gpudoctor.system.report_file import read_report  # late: not for this machine

    return read_report(path)


def _asked_by_name(request: CheckRequest) -> Catalogue | None:
    """The catalogue where the request names something of it, so that an unknown name is refused before anything is examined. Else None:
    only checks whose facts are known will be built."""
    if request.every_check or request.ignore:
        knowledge = catalogue(request.checks)
    elif request.stack or request.checks or request.every_trace:
        every = our_catalogue(vocabulary.items()).entries()
        knowledge = catalogue(request.checks, [entry for entry in every if speaks_without_a_message(entry["head"])])
    else:
        return None
    refuse_unknown_names(request, knowledge)
    return knowledge


def narrowed(report: Report, stack: str) -> Report:
    """The report of one stack: its ladder, and the findings that concern it or no stack in particular."""
    ladders = [result for result in report.stacks if result.stack == stack]
    findings = [finding for finding in report.findings if not finding.stacks or stack in finding.stacks]
    return replace(report, stacks=tuple(ladders), findings=tuple(findings), summary=_summary(findings, ladders))


class GatheredMachine(Struct, frozen=True):
    """The facts of a machine, where they come from (live, capture or text), and its earlier measurements."""

    gathered: Gathered
    origin: str
    measurements: tuple[Measurement, ...] = ()


def diagnosed_report(looked: GatheredMachine, knowledge: Catalogue, request: CheckRequest, demands: Sequence[Demand] = ()) -> Report:
    """The report of a machine whose facts were gathered. `check`, `report`, `diff` and the assistant's tools all use this function."""
    deadline = Deadline()
    knowledge, hits = match_tool_messages(looked.gathered.facts, knowledge, deadline)
    if deadline.passed:
        looked.gathered.incidents.append("the output of failing programs was not read to the end: it takes too long")
    return replace(report_from_facts(looked.gathered, knowledge, request, looked.origin, demands, hits), measurements=looked.measurements)


def gather_report(document: ReportDocument) -> GatheredMachine:
    """The facts and measurements of a report, in the place of a machine."""
    from gpudoctor.facts.report_facts import facts_of as facts_of_report  # late: as for all that is not this machine

    of_today = document["tool"]["version"] == __version__
    facts = facts_of_report(document["facts"], document.get("unknown", {}), of_today=of_today)
    return GatheredMachine(facts, "capture", tuple(document["measurements"]))


def gather_machine(host: Host, origin: str, progress: Callable[[str], None] | None = None, *, live: bool) -> GatheredMachine:
    """All facts of a machine, and its earlier measurements: of the last `validate` here, or those in its recording."""
    from_beside = getattr(host, "beside", None)
    gathered = gather(host, progress, given=None if from_beside is None else _beside(from_beside()), deadline=None if live else Deadline())
    if live:
        return GatheredMachine(
            gathered, origin, recall_measurements(gathered, last_measurements(gathered.facts)) if host.origin == "live" else ()
        )
    from gpudoctor.capture.recorded_host import RecordedHost  # late: not for this machine

    recorded = recorded_runs(host.measurements() if isinstance(host, RecordedHost) else None)
    return GatheredMachine(gathered, origin, recall_measurements(gathered, recorded))


def _beside(recording: object) -> Mapping[str, Fact] | None:
    if recording is None:
        return None
    from gpudoctor.services.beside import recorded  # late: most recordings are of a machine

    return recorded(recording)


def gather_behind(request: CheckRequest, progress: Callable[[str], None] | None = None) -> GatheredMachine:
    """All facts of what is examined in place of this machine; beside a container, those of this machine that concern it."""
    from gpudoctor.services.beside import outside
    from gpudoctor.system.doors.opening import close_door, confirm_door

    host = open_for(request)
    try:
        gathered = gather(host, progress, given=outside(host))
        confirm_door(host)
    finally:
        close_door(host)
    return GatheredMachine(gathered, host.origin)


def recall_measurements(gathered: Gathered, runs: Sequence[LastRun]) -> tuple[Measurement, ...]:
    """The earlier measurements of this environment, which are added to the facts as well. Runs whose conditions have changed since are
    left out."""
    runs = [run for run in runs if not run.stale]
    if not runs:
        return ()
    from gpudoctor.facts.measured_facts import records  # late: most machines were never measured

    rows = [row for run in runs for row in records(run.measurements, run.date, recalled=True)]
    gathered.facts.set("measurements", Known(rows, "the last gpudoctor validate"))
    for name, fact in measured.derive(gathered.facts):
        gathered.facts.set(name, fact)
    return tuple(replace(each, notes=(f"measured {run.date}", *each.notes)) for run in runs for each in run.measurements)


def match_tool_messages(facts: Facts, knowledge: Catalogue, deadline: Deadline) -> tuple[Catalogue, Hits]:
    """Searches the output of the machine's own failed tools for messages, as in a pasted text. Returns the catalogue with the checks
    concerned, and the places."""
    lines = said(facts)
    if not lines:
        return knowledge, {}
    from gpudoctor.diagnosis.messages import hits_in  # late: most machines have no failed tool
    from gpudoctor.rules.signatures import SearchedText

    text, present = SearchedText(lines, deadline=deadline), {check.id for check in knowledge.checks}
    added = catalogue(wanted=[entry for entry in speaking_by_messages(text) if entry["head"]["id"] not in present])
    knowledge = replace(knowledge, checks=(*knowledge.checks, *added.checks))
    return knowledge, hits_in(text, knowledge.checks)


def _demands(policy: str) -> Sequence[Demand]:
    from gpudoctor.knowledge.policy import read_policy
    from gpudoctor.model.bounds import TooComplex, check_toml
    from gpudoctor.system.project_files import read_given

    if os.path.isfile(policy):
        try:
            check_toml(read_given(policy))
        except TooComplex as error:
            raise RequestError(f"--expect {policy}: {error}; write one with gpudoctor check --write-expect FILE") from None
    try:
        return read_policy(policy, vocabulary.specs())
    except RecursionError:
        raise RequestError(f"--expect {policy}: it is nested too deep; write its conditions in fewer levels") from None


def _of_the_policy(demands: Sequence[Demand], facts: Facts) -> tuple[list[Finding], list[str], list[Trace]]:
    if not demands:
        return [], [], []
    from gpudoctor.diagnosis.policy_demands import unmet_demands  # late: most are asked without a policy

    return unmet_demands(demands, facts)


def refuse_unknown_names(request: CheckRequest, knowledge: Catalogue) -> None:
    """Raises RequestError for a stack or a check that does not exist."""
    stacks, checks = [stack.stack for stack in knowledge.stacks], [check.id for check in knowledge.checks]
    if request.stack is not None and request.stack not in stacks:
        near = suggestion(request.stack, (*stacks, *every_name()))
        raise RequestError(f"--stack {request.stack}: there is no such stack{near}; known: {', '.join(sorted(stacks))}")
    for name in sorted(request.ignore):
        if name not in checks and name not in knowledge.redirects:
            raise RequestError(f"there is no check '{name}' to ignore{did_you_mean(name, checks)}; gpudoctor list checks names them")


def report_from_facts(
    gathered: Gathered, knowledge: Catalogue, request: CheckRequest, origin: str, demands: Sequence[Demand] = (), hits: Hits | None = None
) -> Report:
    """From facts and catalogue to the report; besides them only the clock is read. `hits`: the messages in a text, or in the output of
    the machine's tools."""
    facts = gathered.facts
    judged = judge(facts, knowledge, request, origin, demands, hits)
    findings = judged.findings
    ladders = [
        ladder(stack, facts, findings, stack.stack in judged.used, origin, asked=stack.stack == request.stack) for stack in knowledge.stacks
    ]
    if request.stack:
        ladders.sort(key=lambda result: result.stack != request.stack)
    unread, incomplete = not_looked_at(facts, vocabulary.specs(), gathered.incidents)
    return Report(
        tool_version=__version__, created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), origin=origin,
        facts=fact_tree(facts, vocabulary.specs()), unknown=unknown_facts(facts),
        stacks=tuple(_in_order(ladders, findings)), findings=tuple(findings),
        summary=_summary(findings, ladders), headline=headline(facts), not_looked_at=unread, incomplete=incomplete,
        traces=tuple(judged.traces), catalogue_version=knowledge.version, undetermined=tuple(judged.undetermined),
    )  # fmt: skip


class Judged(Struct, frozen=True, kw_only=True):
    """The findings in reading order, how each check was decided, the demands that could not be judged, and the stacks that are used."""

    findings: list[Finding]
    traces: list[Trace]
    undetermined: list[str]
    used: AbstractSet[str]


def judge(
    facts: Facts, knowledge: Catalogue, request: CheckRequest, origin: str, demands: Sequence[Demand] = (), hits: Hits | None = None
) -> Judged:
    """The findings on the facts, without the ladders of the stacks."""
    used = used_stacks(knowledge.stacks, facts)
    ignored = frozenset(knowledge.redirects.get(name) or name for name in request.ignore)
    makers = {stack.stack: stack.vendors for stack in knowledge.stacks if stack.vendors}
    found, traces = diagnose(knowledge.checks, facts, ignored, hits, makers)
    unmet, undetermined, weighed = _of_the_policy(demands, facts)
    wanted = used | {request.stack} if request.stack else used
    manager = str(facts.value("packages.manager") or "")
    # The interpreter that a pasted text names belongs to another machine.
    python = pip_commands.examined(facts) if origin != "text" else None
    platform = str(facts.value("platform.kind") or "")
    adapted = [
        _for_this_system(finding, manager, platform, python) for finding in demote_unused(found, knowledge.stacks, used, request.stack)
    ]
    findings = in_reading_order(adapted + unmet, wanted)
    return Judged(findings=findings, traces=[*traces, *weighed], undetermined=undetermined, used=used)


def _for_this_system(finding: Finding, manager: str, platform: str, python: pip_commands.Interpreter | None) -> Finding:
    """The finding with its commands in the syntax of the system's shell and package manager, and for the interpreter that was examined."""
    before = shell_commands.for_shell(platform, package_commands.here(finding.advice.commands, manager))
    commands = pip_commands.here(pip_commands.quoted_for(platform, before), python)
    text = pip_commands.in_words(finding.advice.text, before, commands)
    gather_machine = pip_commands.here((finding.look,), python)[0]
    return replace(finding, look=gather_machine, advice=replace(finding.advice, text=text, commands=commands))


def _in_order(ladders: Sequence[StackResult], findings: Sequence[Finding]) -> list[StackResult]:
    """Stacks in use first, among them those of the first findings, then those with a device; stacks that are not applicable come last."""
    named = [stack for finding in findings if finding.severity == "error" for stack in finding.stacks]

    def rank(result: StackResult) -> tuple[object, ...]:
        place = named.index(result.stack) if result.stack in named else len(named)
        any_processor = all(rung.layer != "device" for rung in result.layers)
        return (result.verdict == "not-applicable", not result.used, place, any_processor)

    return sorted(ladders, key=rank)


def _summary(findings: Sequence[Finding], ladders: Sequence[StackResult]) -> dict[str, object]:
    sure = [finding for finding in findings if finding.confidence != "possible"]
    count = {severity: sum(finding.severity == severity for finding in sure) for severity in ("error", "warning", "info")}
    unknown = sum(
        rung.status == "unknown" and rung.layer not in ("compute", "performance")
        for result in ladders if result.verdict != "not-applicable" for rung in result.layers
    )  # fmt: skip
    return {
        "errors": count["error"], "warnings": count["warning"], "infos": count["info"], "unknown": unknown,
        "first_broken": first_broken(findings, ladders),
    }  # fmt: skip
