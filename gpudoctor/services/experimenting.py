"""The other use cases of `validate`: operators one by one, known fixes, batches up to the end of memory, another report beside this."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from gpudoctor.benchmark import comparison, fixes_together, job_plan, known_fixes, operators, own_model, sweep, trial_runs, worker_client
from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.job_plan import Job
from gpudoctor.benchmark.workload_list import BY_ID
from gpudoctor.model.batch_sweep import Sweep, SweepPoint
from gpudoctor.model.comparison import Comparison
from gpudoctor.model.facts import Facts
from gpudoctor.model.operators import Coverage, OperatorChange
from gpudoctor.model.trials import TrialResult
from gpudoctor.services import checking
from gpudoctor.services.measurement_setting import MeasurementSetting, look
from gpudoctor.services.validating import ValidateRequest
from gpudoctor.system import json_text
from gpudoctor.system.framework_child import Caches
from gpudoctor.system.local_host import LocalHost
from gpudoctor.system.memory_limit import limited_memory

OPERATORS_OF = ("torch", "ipex", "torch-directml", "torch-opencl")
"""The frameworks whose operators can be tested one by one."""
SHORT = {"duration": 1.5, "warm_up": 2.0}
"""The seconds of one run: many short runs show more than a few long ones."""
RUN_LIMIT = 300.0
Progress = Callable[[str], None]
LARGEST = 200_000_000


@contextmanager
def _asking(looked: MeasurementSetting, target: MeasurementTarget, limit: float = RUN_LIMIT) -> Iterator[worker_client.Ask]:
    with Caches() as caches:
        yield worker_client.through(looked.host, target.python, limit, caches, on_processor=target.on_processor)


def cover(request: ValidateRequest, progress: Progress | None = None) -> list[Coverage]:
    """Tests the operators on each device of a torch; --dtype restricts the types. Returns one Coverage for each device."""
    looked, found = look(request, progress), []
    for target in looked.targets:
        if target.framework not in OPERATORS_OF:
            continue
        with _asking(looked, target, limit=1800.0) as ask:
            say = None if progress is None else lambda done, whole, name=target.device: progress(f"{name}: {done} of {whole} operators")
            found.append(operators.probe(ask, target.framework, target.device, dtypes=request.asked.dtypes, progress=say))
    if not found:
        raise checking.RequestError(
            "--operators measures operators of torch, and torch does not work here; for the reason: gpudoctor check"
        )
    return found


def changes(now: Sequence[Coverage], other: Any) -> list[tuple[OperatorChange, ...] | None]:
    """For each coverage, its differences from an earlier one of the same device (`--operators --format json`); None without one.

    Raises services.checking.RequestError where `other` holds no coverage."""
    listed = other.get("operators") if isinstance(other, Mapping) else None
    before = [one for table in (listed if isinstance(listed, list) else ()) if (one := operators.coverage_from_json(table)) is not None]
    if not before:
        raise checking.RequestError("--compare: holds no operators; give a file that `gpudoctor validate --operators --format json` wrote")
    found: list[tuple[OperatorChange, ...] | None] = []
    for coverage in now:
        same = [one for one in before if one.device == coverage.device] or (before if len(before) == 1 and len(now) == 1 else [])
        found.append(operators.differences(same[0], coverage) if same else None)
    return found


def try_fixes(request: ValidateRequest, progress: Progress | None = None, found: list[TrialResult] | None = None) -> list[TrialResult]:
    """Each known fix that applies, on the workloads that were named, else on the first network that would be measured; then those that
    help, together. `found` gets each result when it is there: what is finished outlives an interruption."""
    found = [] if found is None else found
    looked = look(request, progress)
    for target in looked.targets:
        for job in _once_each(target, request):
            _fixes_of(looked, target, job, found, progress)
    return found


def _fixes_of(looked: MeasurementSetting, target: MeasurementTarget, job: Job, found: list[TrialResult], progress: Progress | None) -> None:
    words = {**job.request(), **SHORT}
    facts = known_fixes.facts_of_run(looked.facts, words, target.backend, looked.host, os.path.dirname(os.path.dirname(target.python)))
    trials = known_fixes.applicable(facts, dict(os.environ))
    first = len(found)
    with _asking(looked, target, job_plan.hang_limit(job)) as ask:
        for number, trial in enumerate(trials):
            found.append(trial_runs.run(ask, words, trial, facts, progress=_said(progress, f"{number + 1} of {len(trials)}")))
        helped = trial_runs.best_first(one for one in found[first:] if one.recommended)
        by_id = {trial.id: trial for trial in trials}
        left_out = fixes_together.try_together(ask, words, helped, by_id, facts, found.append, _said(progress, "together"))
    for place, one in enumerate(found[first:], first):
        if one.id in left_out:
            found[place] = replace(one, recommended=False, reason=one.reason or "it adds nothing to the others that help")


def _said(progress: Progress | None, place: str) -> trial_runs.Progress | None:
    return None if progress is None else lambda name, done, whole: progress(f"{place}: {name}, {done} of {whole} runs")


def sweep_batches(
    request: ValidateRequest, max_latency: float | None = None, progress: Callable[[Job, SweepPoint], None] | None = None
) -> list[Sweep]:
    _batched(request)
    looked, found = look(request), []
    for target in looked.targets:
        for job in _networks(target, request):
            words = {**job.request(), **SHORT}
            with _asking(looked, target) as ask:
                say = None if progress is None else lambda point, job=job: progress(job, point)
                done = sweep.sweep(
                    ask, words, device=target.device, unit=job.workload.unit, per_item=job.per_item, max_latency=max_latency,
                    capacity=_capacity(looked.facts, target), progress=say,
                )  # fmt: skip
            found.append(replace(done, workload=f"{job.workload.id} {job.task} {job.dtype}"))
    return found


def _batched(request: ValidateRequest) -> None:
    """Raises services.checking.RequestError where nothing that was named has a batch."""
    named = request.asked.workloads
    if named and all(name in BY_ID and set(BY_ID[name].tasks) == {"micro"} for name in named):
        raise checking.RequestError(f"--sweep-batch: {', '.join(named)} has no batch; name a network (gpudoctor list workloads)")


def _networks(target: MeasurementTarget, request: ValidateRequest) -> list[Job]:
    """The networks that were named, each with one batch; else the first network."""
    return _once_each(target, request, lambda job: job.network)


def _once_each(target: MeasurementTarget, request: ValidateRequest, fits: Callable[[Job], bool] = lambda job: True) -> list[Job]:
    """The jobs that were named, each with one batch; else the first network, or a framework's first measurement where it has none."""
    jobs = [job for job in own_model.plan(target, replace(request.asked, batches=request.asked.batches[:1])) if fits(job)]
    unlike = {(job.workload.id, job.task, job.dtype): job for job in reversed(jobs)}
    kept = [job for job in jobs if unlike[job.workload.id, job.task, job.dtype] is job]
    return kept if request.asked.workloads else sorted(kept, key=lambda job: not job.network)[:1]


def _capacity(facts: Facts, target: MeasurementTarget) -> int | None:
    """The size of the device's memory in bytes; None where it is unknown."""
    if target.on_processor:
        value = facts.value("memory.total_bytes")
        return value if isinstance(value, int) else None
    gpus = facts.value("gpus")
    sizes = [gpu.get("memory_bytes") for gpu in gpus if isinstance(gpu, Mapping)] if isinstance(gpus, list) else []
    return sizes[0] if len(sizes) == 1 and isinstance(sizes[0], int) else None


def read_report(path: str) -> dict[str, Any]:
    """The report in a file. Raises services.checking.RequestError with the file and what was expected. Devices and pipes are not opened,
    because reading them may never end."""
    text = LocalHost(budget=0.0).read(path, limit=LARGEST)
    if not text.ok:
        raise checking.RequestError(f"--compare {path}: {PROBLEMS.get(text.problem, text.problem)}")
    try:
        with limited_memory():
            found = json_text.loads(text.text)
    except ValueError as error:
        raise checking.RequestError(f"--compare {path}: no JSON; give a report that `gpudoctor validate --format json` wrote") from error
    if not isinstance(found, dict):
        raise checking.RequestError(f"--compare {path}: no report; give a file that `gpudoctor validate --format json` wrote")
    return found


PROBLEMS = {
    "missing": "No such file or directory", "denied": "Permission denied", "too-large": "too large to be a report",
    "io-error": "no file that can be read; a report is a regular file",
}  # fmt: skip


def beside(here: Mapping[str, Any], there: Mapping[str, Any], names: tuple[str, str]) -> Comparison:
    """Compares two reports, as parsed from JSON. Raises services.checking.RequestError where one has no measurements."""
    try:
        return comparison.compare(here, there, names=names)
    except comparison.ComparisonError as error:
        raise checking.RequestError(f"--compare: {error}") from error
