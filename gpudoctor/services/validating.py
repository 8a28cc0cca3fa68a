"""The use case of `validate`: examine, choose devices and jobs, measure each in a worker under a monitor, and judge the results."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from time import thread_time
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from gpudoctor.benchmark import (
    batch_choice,
    devices,
    job_plan,
    own_model,
    processor,
    processor_speed,
    replica_jobs,
    replicas,
    turns,
    worker_group,
    workers,
)
from gpudoctor.benchmark.blame import without_blame
from gpudoctor.benchmark.conditions import conditions
from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.job_plan import Budget, Job, ValidateOptions
from gpudoctor.benchmark.measurement_listener import MeasurementListener
from gpudoctor.benchmark.monitors.main_memory import free_memory
from gpudoctor.benchmark.monitors.monitor import Watching
from gpudoctor.benchmark.monitors.monitor_choice import gpu_of, peaks_of, watching_for
from gpudoctor.benchmark.monitors.processor_load import is_quiet
from gpudoctor.benchmark.monitors.several_devices import TeamWatching
from gpudoctor.benchmark.processor_speed import OnProcessor
from gpudoctor.benchmark.results import MATTERS, MeasuredDevice, measurement, never_begun, skipped
from gpudoctor.benchmark.turns import Turn
from gpudoctor.benchmark.workers import WorkerAnswer
from gpudoctor.benchmark.workload_list import BY_ID
from gpudoctor.facts import measurement_store
from gpudoctor.facts.collect import Gathered, derive, gather
from gpudoctor.facts.measured_facts import records
from gpudoctor.model.batch_pick import BatchPick
from gpudoctor.model.check import Catalogue
from gpudoctor.model.facts import Facts, Known
from gpudoctor.model.measurement import FAILED, OK, OUT_OF_TIME, SKIPPED, Measurement
from gpudoctor.model.report import Report
from gpudoctor.services import checking
from gpudoctor.system.framework_child import Caches, one_line
from gpudoctor.system.local_host import LocalHost

RESERVE = 2.0
"""Seconds of --quick that are kept for the report."""
OWN_WORK = 0.6
"""The processor seconds that gpudoctor itself takes before and after; on a busy machine they last longer."""
LONGEST_RESERVE = 15.0
BEGINNING = 1.0
"""The least number of seconds for which a measurement is begun."""
IDLE = 20.0
"""A worker that computes on the processor counts as hung after this many seconds without any processor time."""
Progress = Callable[[str], None]


class ValidateRequest(Struct, frozen=True, kw_only=True):
    python: str | None = None
    devices: tuple[str, ...] = ()
    asked: ValidateOptions = field(default_factory=ValidateOptions)
    ignore: frozenset[str] = frozenset()


class Validated(Struct, frozen=True, kw_only=True):
    report: Report
    targets: tuple[MeasurementTarget, ...]
    left_out: tuple[str, ...] = ()
    """One line for each thing that was not measured, with the reason."""
    picks: tuple[BatchPick, ...] = ()
    """The largest batch for each network that --max-latency allows."""
    seconds: float = 0.0
    full_seconds: float = 0.0
    """The estimated seconds of --full on this machine; 0 where nothing was left out."""
    not_kept: str = ""
    """Why the measurements could not be saved for later checks; empty where they were."""
    broken: tuple[str, ...] = ()  # one line for each framework that cannot be imported
    interrupted: bool = False
    """Whether a person interrupted the run; the report then holds the finished measurements."""

    @property
    def failed(self) -> bool:
        return any(each.status == FAILED for each in self.report.measurements)


def validate(request: ValidateRequest, progress: Progress | None = None, watcher: MeasurementListener | None = None) -> Validated:
    """Measures, and judges the results. Raises services.checking.BAD_INPUT where nothing can be measured as requested."""
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
        own_model.check(request.asked, targets)
    except devices.BrokenFrameworkError as error:
        raise checking.FrameworkBroken(str(error)) from error
    except (devices.DeviceError, job_plan.MeasurementRequestError) as error:
        raise checking.RequestError(str(error)) from error
    reserve = min(RESERVE + OWN_WORK * crowded, LONGEST_RESERVE)
    left = job_plan.QUICK_BUDGET - reserve - (time.monotonic() - began) if request.asked.within_budget else None
    run = Run(LocalHost(budget=0.0), gathered.facts, watcher)
    left_out, interrupted = run.until_interrupted(targets, request.asked, left)
    picks = batch_choice.picks(run.measurements, request.asked.max_latency)
    report = judged(gathered, batch_choice.marked(run.measurements, picks), knowledge, check, host.origin)
    kept = [] if request.asked.model else run.measurements
    not_kept = measurement_store.keep(kept, gathered.facts) if kept else ""
    return Validated(
        report=report, targets=tuple(targets), left_out=tuple(left_out), picks=tuple(picks), seconds=time.monotonic() - began,
        full_seconds=run.full_seconds(targets, request.asked), not_kept=not_kept, interrupted=interrupted,
        broken=tuple(devices.broken(gathered.facts)),
    )  # fmt: skip


def _idle(job: Job) -> float | None:
    """Seconds without processor time after which a worker counts as hanging. None where a worker may wait: for another program that
    measures, or for a compiler."""
    return IDLE if job.target.on_processor and job.compile == "none" and not job.target.program else None


def _timed(work: Callable[[], Catalogue]) -> tuple[Catalogue, float]:
    """The result of `work`, and how many times as long as on an idle processor it took (`work` only computes)."""
    wall, own = time.monotonic(), thread_time()
    found = work()
    return found, max(1.0, (time.monotonic() - wall) / max(thread_time() - own, 0.02))


def judged(
    gathered: Gathered, measurements: Sequence[Measurement], knowledge: Catalogue, check: checking.CheckRequest, origin: str
) -> Report:
    """The report of `check` once more, with the measurements as facts. A person's own model is left out: its faults are its own."""
    known = [each for each in measurements if each.workload in BY_ID]
    gathered.facts.set("measurements", Known(records(known), "gpudoctor validate"))
    derive(gathered)
    return replace(
        checking.diagnosed_report(checking.GatheredMachine(gathered, origin), knowledge, check), measurements=tuple(measurements)
    )


class Run:
    """Measurements, one after another, because two at once would disturb each other."""

    def __init__(self, host: LocalHost, facts: Facts, watcher: MeasurementListener | None) -> None:
        self._host, self._facts, self._watcher = host, facts, watcher
        self.measurements: list[Measurement] = []
        self._budget = Budget()
        self._on_processor: dict[int, OnProcessor] = {}
        """Measurements on the processor, by their index in `measurements`."""
        self._alone: list[tuple[int, Job]] = []  # (index in `measurements`, job)
        self._environment = {name: value for name in MATTERS if (value := host.env(name)) is not None}

    def until_interrupted(self, targets: Sequence[MeasurementTarget], asked: ValidateOptions, left: float | None) -> tuple[list[str], bool]:
        """As `all`, and whether the run was interrupted. Raises KeyboardInterrupt where nothing was finished by then."""
        try:
            return self.all(targets, asked, left), False
        except KeyboardInterrupt:
            if not any(each.status != SKIPPED for each in self.measurements):
                raise
            self.measurements += never_begun([job for _, jobs in replica_jobs.plans(targets, asked) for job in jobs], self.measurements)
            return replica_jobs.left_out(targets, asked), True
        finally:
            self.against_the_processor()

    def all(self, targets: Sequence[MeasurementTarget], asked: ValidateOptions, seconds: float | None) -> list[str]:
        """Measures all targets within `seconds`, which they share. Returns the names of the jobs that were left out."""
        waiting = turns.in_order(replica_jobs.plans(targets, asked), asked.within_budget)
        end = None if seconds is None else time.monotonic() + seconds
        if self._watcher is not None:
            needed = turns.seconds(waiting, self._budget)
            self._watcher.planned([job for turn in waiting for job in turn.jobs], needed if seconds is None else min(needed, seconds))
        with Caches() as caches:
            while waiting:
                self._turn(waiting, end, caches)
                del waiting[0]
            self._disturbed_again(end, caches)
        return replica_jobs.left_out(targets, asked)

    def against_the_processor(self) -> None:
        """Relates measurements on the processor to its ceiling. The fastest one is that ceiling, so that this follows all of them."""
        cache = processor.last_cache(self._host)
        speeds = list(processor_speed.reached(self._on_processor.values(), cache))
        peak = processor_speed.peaks(processor.peaks(self._host), speeds)
        for number, row in self._on_processor.items():
            self.measurements[number] = replace(row.measured, ceiling=processor_speed.roof(row, peak, cache))

    def _turn(self, waiting: Sequence[Turn], end: float | None, caches: Caches) -> None:
        """Measures the first turn of `waiting`. Jobs that do not fit into the time become skipped ones: the report holds the whole plan."""
        left = None if end is None else end - time.monotonic()
        jobs, too_long = turns.fitting(waiting[0], self._budget, left)
        limit = None if left is None else turns.limit(waiting, self._budget, left)
        if jobs and jobs[0].peers:
            self.together(jobs[0], caches, limit)
        elif jobs:
            self.in_turn(jobs, caches, limit)
        for job in too_long:
            self._out_of_time(job)
        if self._watcher is not None:
            needed = turns.seconds(waiting[1:], self._budget)
            self._watcher.left(needed if end is None else max(min(needed, end - time.monotonic()), 0.0))

    def full_seconds(self, targets: Sequence[MeasurementTarget], asked: ValidateOptions) -> float:
        """Seconds that the same run would take without a budget, by the speed measured so far; 0 where no job ran out of time."""
        if not any(each.out_of_time for each in self.measurements):
            return 0.0
        return turns.seconds(turns.in_order(replica_jobs.plans(targets, replace(asked, full=True, quick=False)), False), self._budget)

    def _out_of_time(self, job: Job) -> None:
        note = f"would take about {self._budget.expected(job):.0f} s"
        self.measurements.append(replace(skipped(job, OUT_OF_TIME), notes=(note,)))

    def _disturbed_again(self, end: float | None, caches: Caches) -> None:
        """Repeats measurements that other programs disturbed, if the device is idle now and time is left. The repetition counts."""
        for place, job in [(place, job) for place, job in self._alone if self.measurements[place].disturbed]:
            left = None if end is None else end - time.monotonic()
            if not self._budget.fits(job, left) or not is_quiet(self._host):
                return
            count = len(self.measurements)
            after = self.one(job, caches, limit=left)
            del self.measurements[count:]
            on_processor = self._on_processor.pop(count, None)
            if after.status != SKIPPED and not after.disturbed:
                note = f"measured twice; the first time, {self.measurements[place].noisy}"
                self.measurements[place] = after = replace(after, notes=(*after.notes, note))
                if on_processor is not None:
                    self._on_processor[place] = replace(on_processor, measured=after)

    def one(self, job: Job, caches: Caches, variables: Mapping[str, str] | None = None, limit: float | None = None) -> Measurement:
        """Carries out one job in a worker of its own."""
        self.in_turn((job,), caches, limit, variables)
        return self.measurements[-1]

    def in_turn(
        self, jobs: Sequence[Job], caches: Caches, limit: float | None = None, variables: Mapping[str, str] | None = None
    ) -> None:  # fmt: skip
        """Carries out jobs that share a worker; after a failure, a new one does the rest. `limit`: seconds after which it is stopped,
        without blame: it did not hang."""
        end, hopeless = None if limit is None else time.monotonic() + limit, False
        while jobs:
            left = None if end is None else end - time.monotonic()
            if left is not None and left < BEGINNING:
                for job in jobs:
                    self._out_of_time(job)
                return
            jobs = jobs[self._worker(jobs, caches, left, variables, hopeless) :]
            last = self.measurements[-1]
            hopeless = last.status == FAILED and last.stage in (None, "import")

    def _worker(
        self, jobs: Sequence[Job], caches: Caches, limit: float | None, variables: Mapping[str, str] | None, hopeless: bool
    ) -> int:  # fmt: skip
        """One worker, watched while it measures; the number of jobs that came to an end with it. `hopeless`: the one before could not even
        import the framework, so that a second such end is that of all jobs."""
        pids: list[int | str] = [os.getpid()]
        watched = [watching_for(self._host, self._facts, job.target, pids) for job in jobs]
        patience = [job_plan.hang_limit(job) for job in jobs]
        done, since, begun, operator = 0, time.monotonic(), None, ""
        told = self._attended(jobs[0], watched[0])

        def measured(answer: WorkerAnswer, place: int) -> None:
            took = time.monotonic() - since
            if answer.stage == "operator":
                answer = replace(answer, reason=answer.reason.replace("operator:", f"operator {operator}:", 1))
            self._measured(jobs[place], answer, watched[place], variables, took, begun if place == 0 else None)

        def on_stage(stage: str, table: Mapping[str, Any]) -> None:
            nonlocal told, begun, since, operator
            operator = one_line(table.get("key")) if stage == "operator" else operator
            if stage == "device" and begun is None:
                begun = time.monotonic() - since
            if stage != "job":
                told(stage, table)
            elif done:
                told, since = self._attended(jobs[done], watched[done]), time.monotonic()

        def on_answer(answer: WorkerAnswer) -> None:
            nonlocal done
            if done < len(jobs) - 1:
                measured(answer, done)
                done += 1

        def stop() -> str:
            waited = time.monotonic() - since
            return f"no end after {waited:.0f} s" if waited > patience[done] else ""

        most = sum(patience) if limit is None else min(sum(patience), limit)
        try:
            answer = workers.ask(
                self._host, jobs[0].target.python, turns.request(jobs, limit), caches=caches, limit=most, variables=variables,
                on_stage=on_stage, on_answer=on_answer, on_start=pids.append, address_space=self._most_addresses(jobs[0]),
                stop=stop if len(jobs) > 1 else None, idle=_idle(jobs[0]),
            )  # fmt: skip
        finally:
            for each in watched:
                each.end()
        answer = without_blame(answer, limit is not None and most == limit, self._budget.expected(jobs[done]))
        none_begun = hopeless and answer.status == FAILED and answer.stage in ("", "import")
        end = len(jobs) if none_begun else done + 1
        for place in range(done, end):
            measured(answer, place)
        return end

    def _measured(
        self, job: Job, answer: WorkerAnswer, watching: Watching, variables: Mapping[str, str] | None, took: float, begun: float | None
    ) -> None:  # fmt: skip
        """Makes an answer a measurement, and updates the budget's estimate of this machine's speed. `begun`: seconds until the worker had
        its device, where this job was its first."""
        joules = watching.meter.total() if answer.status == OK else None
        seen, said = watching.seen(), {**answer.device, **answer.result}
        device = MeasuredDevice(
            () if job.target.on_processor else peaks_of(self._host, self._facts, job.target),
            1,
            conditions(self._host, self._facts, job, gpu_of(self._facts, job.target), seen, said),
        )
        found = measurement(job, answer, seen, joules, watching.meter.why_not, device, {**self._environment, **(variables or {})})
        if variables is None:
            self._alone.append((len(self.measurements), job))
        if job.target.on_processor:
            cost = job.cost()
            costs = cost.per_item if cost is not None else None
            self._on_processor[len(self.measurements)] = OnProcessor(found, costs, answer.result.get("products"))
        self.measurements.append(found)
        if found.status != FAILED:  # the duration of a failure does not say how fast the machine is
            reached = found.throughput.value * 1e12 if found.throughput and found.throughput.unit == "TFLOP/s" else None
            self._budget.learn(job, took, reached, begun)
        if self._watcher is not None:
            self._watcher.ends(job, found)

    def together(self, job: Job, caches: Caches, limit: float | None = None) -> Measurement:
        """Runs several workers that begin at the same time; returns the last of their measurements."""
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
        """Tells the watcher that `job` begins; returns the function that receives its stages, and watches the device while it measures."""

        def on_stage(stage: str, table: Mapping[str, Any]) -> None:
            if stage == "measure":
                watching.begin()
            elif stage in ("result", "skipped", "failed"):
                watching.end()
            if self._watcher is not None:
                self._watcher.stage(job, stage, table)

        if self._watcher is not None:
            self._watcher.begins(job)
        return on_stage

    def _of_team(self, job: Job, each: replicas.Together, watching: TeamWatching, short: bool) -> Measurement:
        answer = without_blame(each.answer, short)
        joules, why_not = watching.total(replica_jobs.ENERGY_SECONDS) if answer.status == OK and not job.messages else (None, "")
        seen, said = watching.seen(), {**answer.device, **answer.result}
        device = MeasuredDevice(
            () if job.target.on_processor else peaks_of(self._host, self._facts, job.target), len({peer.device for peer in job.peers}),
            conditions(self._host, self._facts, job, gpu_of(self._facts, job.target), seen, said),
        )  # fmt: skip
        job_of_peer = job if each.message is None else replace(job, messages=(each.message,))
        return measurement(job_of_peer, answer, seen, joules, why_not, device, self._environment, each)

    def _most_addresses(self, job: Job) -> int | None:
        """The bytes of addresses for a worker on the processor: the free memory, and room for libraries and the arenas of threads. None
        for other devices, whose drivers reserve more addresses than there is memory, and where the free memory is unknown."""
        if not job.target.on_processor:
            return None
        free, _ = free_memory(self._host)
        return None if free is None else free + (8 << 30) + (os.cpu_count() or 1) * (1 << 29)
