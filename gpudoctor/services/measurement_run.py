"""The measurements of a run: assigns jobs to workers in turn, monitors them, and keeps each row as soon as it is finished."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.benchmark import job_plan, processes, processor, processor_speed, replica_jobs, replicas, turns, worker_group, workers
from gpudoctor.benchmark.blame import without_blame
from gpudoctor.benchmark.conditions import conditions
from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.job_plan import Budget, Job, ValidateOptions
from gpudoctor.benchmark.links import links_of
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
from gpudoctor.model.facts import Facts
from gpudoctor.model.measurement import FAILED, OK, OUT_OF_TIME, SKIPPED, Measurement
from gpudoctor.system.framework_child import Caches, one_line
from gpudoctor.system.local_host import LocalHost

BEGINNING = 1.0
"""The least number of seconds for which a measurement is begun."""
OF_PEAK = 0.6
"""Of the peak of arithmetic by the data sheet, what a matrix product usually reaches."""
IDLE = 20.0
"""A worker that computes on the processor counts as hung after this many seconds without any processor time."""


class Row(Struct):
    """A measurement that a process made alone: where it stands, what further processes of it take, and what each of them made."""

    place: int
    job: Job
    seconds: float
    parts: list[Measurement]


class Run:
    """Measurements, one after another, because two at once would disturb each other."""

    def __init__(self, host: LocalHost, facts: Facts, watcher: MeasurementListener | None) -> None:
        self._host, self._facts, self._watcher = host, facts, watcher
        self.measurements: list[Measurement] = []
        self._budget = Budget()
        self._on_processor: dict[int, OnProcessor] = {}
        """Measurements on the processor, by their index in `measurements`."""
        self._alone: list[Row] = []
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
        if not asked.within_budget:  # a minute is shared by what was seen in it
            self._guess(targets)
        waiting = self._planned(targets, asked)
        end = None if seconds is None else time.monotonic() + seconds
        if self._watcher is not None:
            needed = self._needed(waiting)
            self._watcher.planned([job for turn in waiting for job in turn.jobs], needed if seconds is None else min(needed, seconds))
        with Caches() as caches:
            while waiting:
                self._turn(waiting, end, caches)
                del waiting[0]
            self._disturbed_again(end, caches)
            most = processes.MOST if asked.full else processes.MORE  # --full has said how long it will take
            for number in range(2, most + 1):
                self._further(number, asked.within_budget, end, caches)
        for row in self._alone:
            found = self.measurements[row.place]
            self.measurements[row.place] = replace(found, notes=(*found.notes, *processes.too_few(found, row.job, row.seconds)))
        return replica_jobs.left_out(targets, asked)

    def _guess(self, targets: Sequence[MeasurementTarget]) -> None:
        """How fast they may be, by their data sheets and the processor's clock: what the announcement of a long run stands on."""
        for target in targets:
            peak = max((row.vector.get("fp32", 0.0) for row in peaks_of(self._host, self._facts, target)), default=0.0)
            if peak > 0:
                self._budget.guess(target, OF_PEAK * peak * 1e12)

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
            needed = self._needed(waiting[1:])
            self._watcher.left(needed if end is None else max(min(needed, end - time.monotonic()), 0.0))

    def full_seconds(self, targets: Sequence[MeasurementTarget], asked: ValidateOptions) -> float:
        """Seconds that the same run would take without a budget, by the speed measured so far; 0 where no job ran out of time."""
        if not any(each.out_of_time for each in self.measurements):
            return 0.0
        return self._needed(self._planned(targets, replace(asked, full=True, quick=False)), so_far=False)

    def _planned(self, targets: Sequence[MeasurementTarget], asked: ValidateOptions) -> list[Turn]:
        """All turns of first processes. Without a minute to keep, a row's time is divided between its processes."""
        plans = replica_jobs.plans(targets, asked)
        if not asked.within_budget:
            plans = [(target, [processes.first(job, self._budget) for job in jobs]) for target, jobs in plans]
        return turns.in_order(plans, asked.within_budget)

    def _needed(self, waiting: Sequence[Turn], so_far: bool = True) -> float:
        """Seconds for what waits, and for the further processes of that and of what was measured `so_far`."""
        jobs = [row.job for row in self._alone if so_far] + [job for turn in waiting for job in turn.jobs]
        return turns.seconds(waiting, self._budget) + processes.seconds(jobs, self._budget)

    def _out_of_time(self, job: Job) -> None:
        note = f"would take about {self._budget.expected(job):.0f} s"
        self.measurements.append(replace(skipped(job, OUT_OF_TIME), notes=(note,)))

    def _disturbed_again(self, end: float | None, caches: Caches) -> None:
        """Repeats measurements that other programs disturbed, if the device is idle now and time is left. The repetition counts."""
        for row in [row for row in self._alone if self.measurements[row.place].disturbed]:
            left = None if end is None else end - time.monotonic()
            if not self._budget.fits(row.job, left) or not is_quiet(self._host):
                return
            ((after, on_processor),) = self._beside((row.job,), caches, left)
            if after.status != SKIPPED and not after.disturbed:
                note = f"measured twice; the first time, {self.measurements[row.place].noisy}"
                row.parts = [replace(after, notes=(*after.notes, note))]
                if on_processor is not None:
                    self._on_processor[row.place] = on_processor
                self._joined(row)

    def _further(self, number: int, within_budget: bool, end: float | None, caches: Caches) -> None:
        """The process with this number for each row that is worth it and has time for it: each row's are spread over the run so."""
        rows = [row for row in self._alone if {self.measurements[row.place].status, row.parts[-1].status} == {OK}]
        rows = [row for row in rows if processes.worth(number, row.job, row.seconds, self.measurements[row.place])]
        jobs = {id(job): (row, job) for row in rows for job in [processes.further(row.job, number)]}
        waiting = turns.in_order(_by_target(job for _, job in jobs.values()), within_budget)
        while waiting:
            left = None if end is None else end - time.monotonic()
            wanted = [jobs[id(job)] for job in waiting.pop(0).jobs]
            while left is not None and wanted and sum(row.seconds for row, _ in wanted) > left:
                wanted.pop()
            made = self._beside([job for _, job in wanted], caches, left)
            for (row, _), (part, _) in zip(wanted, made, strict=True):
                row.parts.append(part)
                self._joined(row)
            if self._watcher is not None:
                passes = max(processes.MOST - number, 0)
                needed = sum(jobs[id(job)][0].seconds for turn in waiting for job in turn.jobs) + passes * sum(row.seconds for row in rows)
                self._watcher.left(needed if end is None else max(min(needed, end - time.monotonic()), 0.0))

    def _joined(self, row: Row) -> None:
        self.measurements[row.place] = found = processes.joined(row.parts)
        if row.place in self._on_processor:
            self._on_processor[row.place] = replace(self._on_processor[row.place], measured=found)

    def _beside(self, jobs: Sequence[Job], caches: Caches, limit: float | None) -> list[tuple[Measurement, OnProcessor | None]]:
        """Jobs that share a worker, measured once more: nothing of it is a row by itself, whatever happens."""
        count, alone = len(self.measurements), len(self._alone)
        try:
            self.in_turn(jobs, caches, limit)
            return [(each, self._on_processor.get(place)) for place, each in enumerate(self.measurements[count:], count)]
        finally:
            for place in range(count, len(self.measurements)):
                self._on_processor.pop(place, None)
            del self.measurements[count:], self._alone[alone:]

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
        done, since, begun, steps_at, operator = 0, time.monotonic(), None, None, ""
        report_stage = self._attended(jobs[0], watched[0])

        def measured(answer: WorkerAnswer, place: int) -> None:
            took = time.monotonic() - since
            again = took if steps_at is None else time.monotonic() - steps_at + ((begun or 0.0) if place == 0 else 0.0)
            if answer.stage == "operator":
                answer = replace(answer, reason=answer.reason.replace("operator:", f"operator {operator}:", 1))
            self._measured(jobs[place], answer, watched[place], variables, took, begun if place == 0 else None, again)

        def on_stage(stage: str, table: Mapping[str, Any]) -> None:
            nonlocal report_stage, begun, since, steps_at, operator
            operator = one_line(table.get("key")) if stage == "operator" else operator
            if stage == "device" and begun is None:
                begun = time.monotonic() - since
            if stage == "first":
                steps_at = time.monotonic()
            if stage != "job":
                report_stage(stage, table)
            elif done:
                report_stage, since, steps_at = self._attended(jobs[done], watched[done]), time.monotonic(), None

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
        self, job: Job, answer: WorkerAnswer, watching: Watching, variables: Mapping[str, str] | None, took: float, begun: float | None,
        again: float,
    ) -> None:  # fmt: skip
        """Makes an answer a measurement, and updates the budget's estimate of this machine's speed. `begun`: seconds until the worker had
        its device, where this job was its first; `again`: seconds without the check of correctness."""
        joules = watching.meter.total() if answer.status == OK else None
        seen, said = watching.seen(), {**answer.device, **answer.result}
        device = MeasuredDevice(
            () if job.target.on_processor else peaks_of(self._host, self._facts, job.target),
            1,
            conditions(self._host, self._facts, job, gpu_of(self._facts, job.target), seen, said),
        )
        found = measurement(job, answer, seen, joules, watching.meter.why_not, device, {**self._environment, **(variables or {})})
        if variables is None:
            self._alone.append(Row(len(self.measurements), job, again, [found]))
        if job.target.on_processor:
            cost = job.cost()
            costs = cost.per_item if cost is not None else None
            self._on_processor[len(self.measurements)] = OnProcessor(found, costs, answer.result.get("products"))
        self.measurements.append(found)
        if found.status != FAILED and job.process == 1:  # the duration of a failure does not say how fast the machine is
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
        if job.messages and measured[-1].status == OK:
            measured[-1] = replace(measured[-1], links=links_of(answers, job.peers))
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
        one = job if each.message is None else replace(job, messages=(each.message,))
        return measurement(one, answer, seen, joules, why_not, device, self._environment, each)

    def _most_addresses(self, job: Job) -> int | None:
        """The bytes of addresses for a worker on the processor: the free memory, and room for libraries and the arenas of threads. None
        for other devices, whose drivers reserve more addresses than there is memory, and where the free memory is unknown."""
        if not job.target.on_processor:
            return None
        free, _ = free_memory(self._host)
        return None if free is None else free + (8 << 30) + (os.cpu_count() or 1) * (1 << 29)


def _idle(job: Job) -> float | None:
    """Seconds without processor time after which a worker counts as hanging. None where a worker may wait: for another program that
    measures, or for a compiler."""
    return IDLE if job.target.on_processor and job.compile == "none" and not job.target.program else None


def _by_target(jobs: Iterable[Job]) -> list[tuple[MeasurementTarget, list[Job]]]:
    found: dict[tuple[str, str], tuple[MeasurementTarget, list[Job]]] = {}
    for job in jobs:
        found.setdefault((job.target.framework, job.target.device), (job.target, []))[1].append(job)
    return list(found.values())
