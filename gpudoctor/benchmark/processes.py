"""Several processes for one measurement: how its time is divided, how many are worth their start, and their results as one. Pure.

Processes of the same work differ (where pages lie, what else runs), and a single one cannot know by how much. The first has half of the
time, so that what goes wrong late is still seen; the others come when each row has had its first, so that they are spread over the run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, geometric_mean
from typing import Any

from msgspec.structs import replace

from gpudoctor.benchmark import job_plan
from gpudoctor.benchmark.job_plan import Budget, Job
from gpudoctor.benchmark.significance import of_processes, student
from gpudoctor.model.comparison import LEAST_PROCESSES
from gpudoctor.model.measurement import FAILED, OK, Conditions, Latency, Measurement, Throughput

MOST = 5
"""Processes of one row. Where they lie a tenth apart, as on a virtual machine with neighbours, two of three devices that are 30 % slower
are called so; with four processes it is every second one."""
MORE = 9
"""Processes of a row whose time MOST do not know within CLOSE. Where they lie a tenth apart, four of five devices that are 25 % slower are
called so with nine processes, and every second one with five."""
CLOSE = 6.0
"""Per cent: half the 95 % interval of a time that needs no more processes."""
SHARE = 1 / (MOST - 1)
"""The time of a further process by that of the first."""
SHORTEST = 1.0
"""Seconds of a further process, where the first has as much: its start takes longer than that, and a few steps tell little."""
WARM_UP = 2.0
"""Seconds at most: the first process has shown how the work settles."""
PATIENCE = 30.0
"""Seconds that the further processes of a row may take together, where its own time is not longer."""
NOT_BEGUN = (None, "import")
"""Stages of a worker that has nothing to do with its job yet."""
DIFFER = 10.0
"""Per cent: a time that processes know no better is noisy."""


def possible(job: Job) -> bool:
    """Whether another process would measure the same: verdicts are not timed, teams are several already, and compilers take minutes."""
    compiles = job.compile != "none" or job.target.framework in job_plan.COMPILING or job.target.backend == "ipu"
    return not (job.peers or compiles or job.workload.unit == "operators")


def first(job: Job, budget: Budget) -> Job:
    """Half of the time, where others are expected to have the rest."""
    half = replace(job, duration=job.duration / 2)
    return half if count(half, budget.expected(further(half, 2))) else job


def further(job: Job, number: int) -> Job:
    """The process with this number, from 2 on. `job`: that of the first."""
    duration = max(job.duration * SHARE, min(job.duration, SHORTEST))
    return replace(job, duration=duration, warm_up=min(job.warm_up, WARM_UP), process=number)


def count(job: Job, seconds: float) -> int:
    """How many further processes a row is worth: as many as there can be, fewer where each takes `seconds`, none where they would not
    suffice to tell how far processes lie apart. `job`: that of the first."""
    affordable = _affordable(job, seconds)
    return min(affordable, MOST - 1) if affordable >= LEAST_PROCESSES - 1 else 0


def worth(number: int, job: Job, seconds: float, known: Measurement) -> bool:
    """Whether the process with this number is worth it. `known`: what those before it made; `seconds`: what it takes. How well the time
    is known decides, and not the time itself."""
    if number <= MOST:
        return number - 1 <= count(job, seconds)
    interval = known.latency_ms.ci95_percent if known.latency_ms is not None else None
    return interval is not None and interval > CLOSE and number - 1 <= _affordable(job, seconds)


def _affordable(job: Job, seconds: float) -> int:
    """The number of further processes that PATIENCE allows."""
    return int(max(PATIENCE, 4 * job.duration) / max(seconds, 0.01)) if possible(job) else 0


def too_few(found: Measurement, job: Job, seconds: float) -> Sequence[str]:
    """Why too few processes measured a row to show how far they lie apart; nothing where there were enough, or can only be one."""
    measured = max(len(found.latency_ms.processes), 1) if found.latency_ms is not None else 0
    if found.status != OK or not 0 < measured < LEAST_PROCESSES or not possible(job):
        return ()
    why = "there was no time for more" if count(job, seconds) else f"each further one would take {seconds:.0f} s"
    return (f"measured in {'one process' if measured == 1 else 'two processes'}: {why}",)


def seconds(jobs: Sequence[Job], budget: Budget) -> float:
    """What the further processes of rows will take, estimated. Small measurements of a device share theirs."""
    whole = 0.0
    started: set[tuple[str, str, int]] = set()
    for job in jobs:
        one = further(job, 2)
        each = budget.expected(one)
        start = each - budget.work(one)
        for number in range(count(job, each)):
            key = (job.target.framework, job.target.device, number)
            shared = not job.network and key in started
            whole += each - (start if shared else 0.0)
            if not job.network:
                started.add(key)
    return whole


def joined(measured: Sequence[Measurement]) -> Measurement:
    """One row of those that its processes made, in their order. A fault of a later one is the row's. One that had no time, or that did not
    even begin (somebody deleted the environment), says nothing of the row."""
    one = measured[0]
    if one.status != OK or len(measured) < 2:
        return one
    for number, each in enumerate(measured[1:], 2):
        if each.status == FAILED and each.stage not in NOT_BEGUN:
            return replace(each, notes=(*each.notes, f"in process {number}; those before it found nothing wrong"))
    notes = tuple(f"no further process: {each.reason}" for each in measured[1:] if each.status == FAILED)
    done = [each for each in measured if each.status == OK and each.latency_ms is not None]
    if len(done) < 2:
        return replace(one, notes=(*one.notes, *notes))
    conditions = _conditions([each.conditions for each in done])
    latency = _latency([each.latency_ms for each in done if each.latency_ms is not None])
    rates = [each.throughput.value for each in done if each.throughput is not None]
    peaks = [each.memory_peak_bytes for each in done if each.memory_peak_bytes is not None]
    return replace(
        one, latency_ms=latency, iterations=sum(each.iterations or 0 for each in done), conditions=conditions,
        throughput=Throughput(value=_middle(rates), unit=one.throughput.unit) if one.throughput is not None else None,
        memory_peak_bytes=max(peaks, default=None), noisy=_noise(done, latency), notes=(*one.notes, *notes),
    )  # fmt: skip


def _latency(several: Sequence[Latency]) -> Latency:
    times = tuple(each.median for each in several)
    found: dict[str, Any] = {
        name: _middle(values) if None not in values else None
        for name in ("median", "p50", "p95", "p99", "mean", "stdev")
        if (values := [getattr(each, name) for each in several])
    }
    within = [each.ci95_percent for each in several if each.ci95_percent is not None]
    interval = _interval(times) if len(times) >= LEAST_PROCESSES else max(within, default=None)
    fast = tuple(each.p10 for each in several if each.p10 is not None)  # one that others disturbed has too few steps for it
    found["p10"] = _middle(fast) if fast else None
    return Latency(**found, ci95_percent=interval, processes=times, processes_p10=fast if len(fast) >= LEAST_PROCESSES else ())


def _interval(times: Sequence[float]) -> float:
    """Half the 95 % interval of their geometric mean, in per cent of it."""
    found = of_processes(times)
    return 100 * math.expm1(min(student(found.freedom) * math.sqrt(found.variance), 5.0))


def _middle(values: Sequence[float]) -> float:
    """The geometric mean; where one of them is 0, the mean."""
    return geometric_mean(values) if min(values) > 0 else fmean(values)


def _conditions(several: Sequence[Conditions | None]) -> Conditions | None:
    """Those of the first, and what others took of the machine over all and beside each."""
    shares = tuple(each.others_share for each in several if each is not None and each.others_share is not None)
    if several[0] is None or not shares:
        return several[0]
    return replace(several[0], others_share=fmean(shares), others_shares=shares if len(shares) == len(several) else ())


def _noise(done: Sequence[Measurement], latency: Latency) -> str | None:
    """What disturbed most of the processes, and whether they differ much."""
    found = []
    for name in ("others", "throttled"):
        said = [text for each in done if each.conditions is not None and (text := getattr(each.conditions, name))]
        if 2 * len(said) > len(done):
            found.append(said[0])
    if latency.ci95_percent is None or len(latency.processes) < LEAST_PROCESSES:
        return done[0].noisy
    if latency.ci95_percent > DIFFER:
        found.append(f"processes of the same work differ: the time is known within {latency.ci95_percent:.0f} % only")
    return "; ".join(found) or None
