"""The use case of `validate`: examine, choose devices and jobs, measure each in a worker under a monitor, and judge the results."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from time import thread_time

from msgspec import Struct, field
from msgspec.structs import replace

from gpudoctor.benchmark import (
    batch_choice,
    devices,
    job_plan,
    own_model,
    replica_jobs,
)
from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.job_plan import ValidateOptions
from gpudoctor.benchmark.measurement_listener import MeasurementListener
from gpudoctor.benchmark.workload_list import BY_ID
from gpudoctor.facts import measurement_store
from gpudoctor.facts.collect import Gathered, derive, gather
from gpudoctor.facts.measured_facts import records
from gpudoctor.model.batch_pick import BatchPick
from gpudoctor.model.check import Catalogue
from gpudoctor.model.facts import Known
from gpudoctor.model.measurement import FAILED, Measurement
from gpudoctor.model.report import Report
from gpudoctor.services import checking
from gpudoctor.services.measurement_run import Run
from gpudoctor.system.local_host import LocalHost

RESERVE = 2.0
"""Seconds of --quick that are kept for the report."""
OWN_WORK = 0.6
"""The processor seconds that gpudoctor itself takes before and after; on a busy machine they last longer."""
LONGEST_RESERVE = 15.0
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
