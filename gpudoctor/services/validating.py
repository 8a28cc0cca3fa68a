"""The use case of `validate`: look, choose devices and jobs, measure each in a worker while it is watched, and judge what came of it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import thread_time
from typing import Any, Protocol

from gpudoctor.benchmark import batch_choice, devices, job_plan, replica_jobs, replicas, worker_group, workers
from gpudoctor.benchmark.conditions import conditions
from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.job_plan import Budget, Job, ValidateOptions
from gpudoctor.benchmark.monitors.main_memory import free_memory
from gpudoctor.benchmark.monitors.monitor import Seen, Watching
from gpudoctor.benchmark.monitors.monitor_choice import gpu_of, peaks_of, watching_for
from gpudoctor.benchmark.monitors.processor_load import is_quiet
from gpudoctor.benchmark.monitors.several_devices import TeamWatching
from gpudoctor.benchmark.results import MATTERS, MeasuredDevice, measurement
from gpudoctor.benchmark.workers import WorkerAnswer
from gpudoctor.facts import measurement_store
from gpudoctor.facts.collect import Gathered, derive, gather
from gpudoctor.facts.measured_facts import records
from gpudoctor.model.batch_pick import BatchPick
from gpudoctor.model.check import Catalogue
from gpudoctor.model.facts import Facts, Known
from gpudoctor.model.measurement import FAILED, OK, SKIPPED, Measurement
from gpudoctor.model.report import Report
from gpudoctor.services import checking
from gpudoctor.system.framework_child import Caches
from gpudoctor.system.local_host import LocalHost

RESERVE = 2.0
"""Seconds of --quick that are kept for the report."""
OWN_WORK = 0.6
"""Seconds of a processor that the doctor itself takes, before and after: more by the clock where others are at work on it."""
LONGEST_RESERVE = 15.0
IDLE = 15.0
"""Seconds without any processor time after which what computes on the processor hangs."""
LEAST = 5.0
"""Seconds that the first measurement gets in any case."""
OUT_OF_TIME = "out of time; --full measures all, --workload NAME a single one"
INTERRUPTED = "the run was interrupted before"
Progress = Callable[[str], None]


class MeasurementListener(Protocol):
    """What receives the progress of a run: a table on a terminal, or nothing."""

    def planned(self, jobs: Sequence[Job]) -> None: ...
    def begins(self, job: Job) -> None: ...
    def stage(self, job: Job, stage: str, table: Mapping[str, Any]) -> None: ...
    def ends(self, job: Job, measured: Measurement) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateRequest:
    python: str | None = None
    devices: tuple[str, ...] = ()
    asked: ValidateOptions = field(default_factory=ValidateOptions)
    ignore: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Validated:
    report: Report
    targets: tuple[MeasurementTarget, ...]
    left_out: tuple[str, ...] = ()
    """What was not measured, and why: a line each."""
    picks: tuple[BatchPick, ...] = ()
    """The largest batch for each network that --max-latency allows."""
    seconds: float = 0.0
    not_kept: str = ""
    """Why a later check will not know of it."""
    interrupted: bool = False
    """Somebody ended it: the report holds what was finished by then."""

    @property
    def failed(self) -> bool:
        return any(each.status == FAILED for each in self.report.measurements)


def validate(request: ValidateRequest, progress: Progress | None = None, watcher: MeasurementListener | None = None) -> Validated:
    """Raises services.checking.BAD_INPUT for what cannot be measured as asked."""
    began = time.monotonic()
    try:
        job_plan.check(request.asked)
        replica_jobs.check(request.asked)
        for name in request.devices:
            devices.canonical(name)
        check = checking.CheckRequest(python=request.python, ignore=request.ignore)
        host = checking.open_for(check)
        knowledge, crowded = _timed(checking.catalogue)
        gathered = gather(host, progress)
        targets = devices.choose(gathered.facts, request.devices, sys.executable)
    except (devices.DeviceError, job_plan.MeasurementRequestError) as error:
        raise checking.RequestError(str(error)) from error
    reserve = min(RESERVE + OWN_WORK * crowded, LONGEST_RESERVE)
    left = job_plan.QUICK_BUDGET - reserve - (time.monotonic() - began) if request.asked.within_budget else None
    run = Run(LocalHost(budget=0.0), gathered.facts, watcher)
    left_out, interrupted = run.until_interrupted(targets, request.asked, left)
    picks = batch_choice.picks(run.measurements, request.asked.max_latency)
    report = judged(gathered, batch_choice.marked(run.measurements, picks), knowledge, check, host.origin)
    not_kept = measurement_store.keep(run.measurements, gathered.facts) if run.measurements else ""
    return Validated(
        report=report, targets=tuple(targets), left_out=tuple(left_out), picks=tuple(picks), seconds=time.monotonic() - began,
        not_kept=not_kept, interrupted=interrupted,
    )  # fmt: skip


def _timed(work: Callable[[], Catalogue]) -> tuple[Catalogue, float]:
    """What `work` gives, and how many times as long as on an idle processor it took: it only computes."""
    wall, own = time.monotonic(), thread_time()
    found = work()
    return found, max(1.0, (time.monotonic() - wall) / max(thread_time() - own, 0.02))


def judged(
    gathered: Gathered, measurements: Sequence[Measurement], knowledge: Catalogue, check: checking.CheckRequest, origin: str
) -> Report:
    """The report of `check` once more, with the measurements as facts."""
    gathered.facts.set("measurements", Known(records(measurements), "gpudoctor validate"))
    derive(gathered)
    return replace(
        checking.diagnosed_report(checking.GatheredMachine(gathered, origin), knowledge, check), measurements=tuple(measurements)
    )


class Run:
    """Measurements, one after another: two at once would measure each other."""

    def __init__(self, host: LocalHost, facts: Facts, watcher: MeasurementListener | None) -> None:
        self._host, self._facts, self._watcher = host, facts, watcher
        self.measurements: list[Measurement] = []
        self._budget = Budget()
        self._begun = 0.0
        """When the last worker had its device."""
        self._bandwidth: dict[str, float] = {}
        self._alone: list[tuple[int, Job]] = []
        """Places in `measurements`, and their jobs: those that had the device to themselves."""
        self._environment = {name: value for name in MATTERS if (value := host.env(name)) is not None}

    def until_interrupted(
        self, targets: Sequence[MeasurementTarget], asked: ValidateOptions, seconds: float | None
    ) -> tuple[list[str], bool]:
        """As `all`, and whether it was interrupted. What was finished is worth a report: only where nothing was, KeyboardInterrupt goes
        on."""
        try:
            return self.all(targets, asked, seconds), False
        except KeyboardInterrupt:
            if not any(each.status != SKIPPED for each in self.measurements):
                raise
            done = {(each.workload, each.task, each.framework, each.device, each.dtype, each.batch) for each in self.measurements}
            for _, jobs in replica_jobs.plans(targets, asked):
                for job in jobs:
                    skipped = measurement(job, WorkerAnswer(status=SKIPPED, reason=INTERRUPTED), Seen(), None, "", MeasuredDevice(), {})
                    if (skipped.workload, skipped.task, skipped.framework, skipped.device, skipped.dtype, skipped.batch) not in done:
                        self.measurements.append(skipped)
            return replica_jobs.left_out(targets, asked), True

    def all(self, targets: Sequence[MeasurementTarget], asked: ValidateOptions, seconds: float | None) -> list[str]:
        """Within `seconds`, shared fairly between targets; says what was left out."""
        plans = replica_jobs.plans(targets, asked)
        if self._watcher is not None:
            self._watcher.planned([job for _, jobs in plans for job in jobs])
        end = None if seconds is None else time.monotonic() + seconds
        left_out = replica_jobs.left_out(targets, asked)
        with Caches() as caches:
            for place, (_, jobs) in enumerate(plans):
                share = None
                if end is not None:
                    now = time.monotonic()
                    share = now + max(0.0, end - now) / (len(plans) - place)
                self._target(jobs, share, caches)
            self._disturbed_again(end, caches)
        return left_out

    def _target(self, jobs: Sequence[Job], end: float | None, caches: Caches) -> None:
        """What does not fit into the time is skipped by name: the report holds what was planned."""
        for number, job in enumerate(jobs):
            left = None if end is None else end - time.monotonic()
            if number and not self._budget.fits(job, left):  # the first tells how fast this is, whatever it takes
                skipped = measurement(job, WorkerAnswer(status=SKIPPED, reason=OUT_OF_TIME), Seen(), None, "", MeasuredDevice(), {})
                self.measurements.append(replace(skipped, notes=(f"would take about {self._budget.expected(job):.0f} s",)))
                continue
            began = time.monotonic()
            limit = None if left is None else max(left, LEAST)
            measured = self.together(job, caches, limit) if job.peers else self.one(job, caches, limit=limit)
            reached = measured.throughput.value * 1e12 if measured.throughput and measured.throughput.unit == "TFLOP/s" else None
            begun = self._begun - began if self._begun > began else None
            if measured.status != FAILED:  # how fast something failed tells nothing
                self._budget.learn(job, time.monotonic() - began, reached, begun)

    def _disturbed_again(self, end: float | None, caches: Caches) -> None:
        """What others disturbed, once more where it is quiet now and time is left: the later one takes the place of the first."""
        for place, job in tuple(self._alone):
            before = self.measurements[place]
            if before.status != OK or not before.noisy or before.conditions is None or not before.conditions.others:
                continue
            left = None if end is None else end - time.monotonic()
            if not self._budget.fits(job, left) or not is_quiet(self._host):
                return
            count = len(self.measurements)
            after = self.one(job, caches, limit=left)
            del self.measurements[count:]
            if after.status == FAILED or (after.status == OK and not (after.conditions and after.conditions.others)):
                note = f"measured twice; the first time, {before.noisy}"
                self.measurements[place] = replace(after, notes=(*after.notes, note))

    def one(self, job: Job, caches: Caches, variables: Mapping[str, str] | None = None, limit: float | None = None) -> Measurement:
        """One worker, watched from its first measured step to its result. `limit`: seconds after which it is stopped, without blame:
        it did not hang."""
        pids: list[int | str] = [os.getpid()]
        watching = watching_for(self._host, self._facts, job.target, pids)
        on_stage, patience = self._attended(job, watching), job_plan.hang_limit(job)
        idle = IDLE if job.target.on_processor and job.compile == "none" else None
        try:
            answer = workers.ask(
                self._host, job.target.python, {**job.request(), "within": limit}, caches=caches,
                limit=patience if limit is None else min(patience, limit), variables=variables, on_stage=on_stage,
                on_start=pids.append, address_space=self._most_addresses(job), idle=idle,
            )  # fmt: skip
        finally:
            watching.end()
        answer = _without_blame(answer, limit is not None and limit < patience)
        joules = watching.meter.total() if answer.status == OK else None
        seen, said = watching.seen(), {**answer.device, **answer.result}
        device = MeasuredDevice(
            peaks_of(self._host, self._facts, job.target, self._bandwidth.get(job.target.device)),
            1,
            conditions(self._host, self._facts, job, gpu_of(self._facts, job.target), seen, said),
        )
        environment = {**self._environment, **(variables or {})}
        measured = measurement(job, answer, seen, joules, watching.meter.why_not, device, environment)
        if measured.workload == "memory_bandwidth" and measured.throughput is not None:
            self._bandwidth[job.target.device] = measured.throughput.value
        if variables is None:
            self._alone.append((len(self.measurements), job))
        self.measurements.append(measured)
        if self._watcher is not None:
            self._watcher.ends(job, measured)
        return measured

    def together(self, job: Job, caches: Caches, limit: float | None = None) -> Measurement:
        """Several workers that begin at once; the last of the measurements that come of it."""
        pids: list[int | str] = [os.getpid()]
        watching = TeamWatching(self._host, self._facts, job.peers, pids)
        on_stage, patience = self._attended(job, watching), job_plan.hang_limit(job)
        try:
            answers = worker_group.run(
                self._host, job.target.python, lambda folder: replica_jobs.members(job, folder), caches=caches,
                limit=patience if limit is None else min(patience, limit), on_stage=on_stage, on_start=pids.append,
                address_space=self._most_addresses(job),
            )  # fmt: skip
        finally:
            watching.end()
        found = replicas.of_messages(answers, job.messages) if job.messages else [replicas.of_batches(answers)]
        measured = [self._of_team(job, each, watching, limit is not None and limit < patience) for each in found]
        self.measurements += measured
        if self._watcher is not None:
            self._watcher.ends(job, measured[-1])
        return measured[-1]

    def _attended(self, job: Job, watching: Watching | TeamWatching) -> Callable[[str, Mapping[str, Any]], None]:
        """Tells the watcher that `job` begins; what comes back hears its stages, and watches the device while it measures."""

        def on_stage(stage: str, table: Mapping[str, Any]) -> None:
            if stage == "device":
                self._begun = time.monotonic()
            elif stage == "measure":
                watching.begin()
            elif stage in ("result", "skipped", "failed"):
                watching.end()
            if self._watcher is not None:
                self._watcher.stage(job, stage, table)

        if self._watcher is not None:
            self._watcher.begins(job)
        return on_stage

    def _of_team(self, job: Job, each: replicas.Together, watching: TeamWatching, short: bool) -> Measurement:
        answer = _without_blame(each.answer, short)
        joules, why_not = watching.total(replica_jobs.ENERGY_SECONDS) if answer.status == OK and not job.messages else (None, "")
        seen, said = watching.seen(), {**answer.device, **answer.result}
        device = MeasuredDevice(
            peaks_of(self._host, self._facts, job.target, self._bandwidth.get(job.target.device)), len({peer.device for peer in job.peers}),
            conditions(self._host, self._facts, job, gpu_of(self._facts, job.target), seen, said),
        )  # fmt: skip
        one = job if each.message is None else replace(job, messages=(each.message,))
        return measurement(one, answer, seen, joules, why_not, device, self._environment, each)

    def _most_addresses(self, job: Job) -> int | None:
        """More than there is memory is refused to a processor's worker at once; libraries and the arenas of threads come on top."""
        if not job.target.on_processor:
            return None
        free, _ = free_memory(self._host)
        return None if free is None else free + (8 << 30) + (os.cpu_count() or 1) * (1 << 29)


def _without_blame(answer: WorkerAnswer, short: bool) -> WorkerAnswer:
    """An answer that is late only because its time was `short` did not hang."""
    if not (answer.late and short):
        return answer
    return replace(answer, status=SKIPPED, reason=f"{OUT_OF_TIME}; it was stopped at '{answer.stage or 'start'}'")
