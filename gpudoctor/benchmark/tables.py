"""Published tables by name (gpudoctor/data/tables.toml): their jobs for a target, and the published numbers beside a measurement. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from gpudoctor.benchmark import job_plan, replica_jobs
from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.job_plan import ABILITIES, Job, MeasurementRequestError, ValidateOptions
from gpudoctor.benchmark.reference_rows import ReferenceRow, Relation, references, relations
from gpudoctor.benchmark.references import differences, speed_ratio
from gpudoctor.benchmark.workload_list import BY_ID, TASKS
from gpudoctor.facts.derive._tables import table
from gpudoctor.model.measurement import OK, Measurement
from gpudoctor.model.published_table import PublishedNumber
from gpudoctor.rules.conditions import did_you_mean

TRIAL_SIZES = {"height": 64, "width": 64}
"""Sizes for --quick, which only shows whether all rows run."""
TRIAL_SECONDS = 0.5


class TableJob(Struct, frozen=True, kw_only=True):
    """One row of a published table, with the conditions of its measurement."""

    workload: str
    task: str
    dtype: str = ""
    """'' is the workload's own."""
    batch: tuple[int, ...] = ()
    optimizer: str = "sgd"
    compile: str = "none"
    replicas: int | None = None
    options: Mapping[str, int] = field(default_factory=dict)
    frameworks: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


class Table(Struct, frozen=True, kw_only=True):
    id: str
    title: str
    source: str
    reports: tuple[str, ...]
    jobs: tuple[TableJob, ...]
    relations: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Planned(Struct, frozen=True):
    """A job with the environment variables of its measurement."""

    job: Job
    of: TableJob


@lru_cache(maxsize=1)
def tables() -> Mapping[str, Table]:
    found = {}
    for row in table("tables")["table"]:
        jobs = tuple(TableJob(**_tuples(job)) for job in row["job"])
        found[row["id"]] = Table(**_tuples({name: value for name, value in row.items() if name != "job"}), jobs=jobs)
    return found


def _tuples(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}


def named(name: str) -> Table:
    """The table with this name. Raises MeasurementRequestError where there is none."""
    known = tables()
    if name not in known:
        raise MeasurementRequestError(f"--table {name}: no such table{did_you_mean(name, known)}; one of {', '.join(known)}")
    return known[name]


def plan(chosen: Table, targets: Sequence[MeasurementTarget], asked: ValidateOptions) -> tuple[list[Planned], list[str]]:
    """The rows to measure on each target, under the published conditions unless options differ; and one line for each row left out."""
    found: list[Planned] = []
    left_out: list[str] = []
    for target in targets:
        for job in chosen.jobs:
            if why := _why_not(job, target, asked):
                left_out += [f"{job.workload} {job.task} on {target.device}: {why}"] if why != "not asked for" else []
            else:
                found += [Planned(made, job) for made in _jobs(job, target, targets, asked)]
    return found, list(dict.fromkeys(left_out))


def _why_not(job: TableJob, target: MeasurementTarget, asked: ValidateOptions) -> str:
    if (asked.workloads and job.workload not in asked.workloads) or (asked.tasks and job.task not in asked.tasks):
        return "not asked for"
    if job.workload == "files" and not asked.dataset:
        return "add --dataset DIR"
    if job.task not in ABILITIES.get(target.framework, TASKS):
        return f"{target.framework} has no {job.task}"
    if job.frameworks and target.framework not in job.frameworks:
        return f"measured with {' and '.join(job.frameworks)}"
    if job.backends and target.backend not in job.backends:
        return f"{job.note or 'it'} is for {' and '.join(job.backends)}"
    return ""


def _jobs(job: TableJob, target: MeasurementTarget, targets: Sequence[MeasurementTarget], asked: ValidateOptions) -> Iterator[Job]:
    workload = BY_ID[job.workload]
    dtype = job.dtype or workload.dtypes[0]
    if target.on_processor and dtype == "float16":
        dtype = "float32"  # processors emulate float16 in another type
    quick = asked.quick
    wanted = replace(
        asked, workloads=(job.workload,), tasks=(job.task,), dtypes=asked.dtypes or (dtype,), optimizer=job.optimizer, quick=False,
        compile=job.compile, replicas=None, duration=asked.duration or (TRIAL_SECONDS if quick else None),
        batches=asked.batches or (job.batch if not quick else job.batch[:1]) or ((1,) if quick and job.task != "micro" else ()),
    )  # fmt: skip
    if job.replicas:
        same = [other for other in targets if (other.framework, other.backend) == (target.framework, target.backend)]
        if target != same[0]:
            return
        teams = replica_jobs.plans(same, replace(wanted, replicas=asked.replicas or job.replicas))
        made = [each for _, jobs in teams for each in jobs]
    else:
        made = job_plan.plan(target, wanted)
    for each in made:
        sizes = {name: size for name, size in TRIAL_SIZES.items() if quick and name in each.options}
        yield replace(each, options={**each.options, **sizes, **job.options}, warm_up=TRIAL_SECONDS if quick else each.warm_up)


def published(chosen: Table, measured: Measurement) -> list[PublishedNumber]:
    """The numbers of the publication for this row, those of the same device, framework and backend first."""
    rows = [row for row in references() if row.report in chosen.reports and (row.workload, row.task) == (measured.workload, measured.task)]
    if len({row.batch for row in rows}) > 1 and any(row.batch == measured.batch for row in rows):
        rows = [row for row in rows if row.batch in (None, measured.batch)]
    if any(row.input and tuple(row.input) == measured.input for row in rows):
        rows = [row for row in rows if not row.input or tuple(row.input) == measured.input]
    name = (measured.device_name or "").lower()
    ordered = sorted(
        rows, key=lambda row: (row.device.lower() not in name, row.framework != measured.framework, row.backend != measured.backend)
    )
    return [
        PublishedNumber(
            id=row.id, device=row.device, value=row.value, unit=row.unit, batch=row.batch,
            software=" ".join(filter(None, (row.framework, row.framework_version, row.backend))),
            source=f"{row.source} ({row.date})", ratio=ratio(measured, row), differs=tuple(differences(measured, row)),
        )
        for row in ordered
    ]  # fmt: skip


def ratio(measured: Measurement, row: ReferenceRow) -> float | None:
    """The ratio to the published number; above 1 is better. Latencies are compared directly where the batch is the same."""
    if measured.status != OK or not row.value:
        return None
    found: float | None = None
    energy = measured.energy
    if row.unit in ("ms", "s") and row.per != "step":
        return None
    if row.unit == "ms" and measured.latency_ms is not None and row.batch == measured.batch:
        found = row.value / measured.latency_ms.median
    elif row.unit == "images/s/W":
        found = energy.throughput_per_watt / row.value if energy is not None and energy.throughput_per_watt else None
    elif row.unit == "W":
        found = row.value / energy.mean_watts if energy is not None and energy.mean_watts else None
    else:
        found = speed_ratio(measured, row)
    return found if found is not None and math.isfinite(found) and found > 0 else None


def sentences(chosen: Table, workloads: Iterable[str]) -> list[str]:
    """The publication's statements that relate two situations, for these workloads, as sentences."""
    wanted = set(workloads)
    kept = [one for one in relations() if any(one.id.startswith(start) for start in chosen.relations) and one.workload in wanted]
    together: dict[tuple[str, str, str, str], list[Relation]] = {}
    for one in kept:
        together.setdefault((one.what, one.workload, one.task, one.unit), []).append(one)
    return [_sentence(key, values) for key, values in together.items()]


def _sentence(key: tuple[str, str, str, str], values: Sequence[Relation]) -> str:
    what, workload, task, unit = key
    low, high = min(one.value for one in values), max(one.value for one in values)
    number = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    devices = " and ".join(dict.fromkeys(one.device for one in values))
    return f"{workload} {task}, {what}: {number} ({unit}), {devices}"


def relative(measured: Measurement, there: Sequence[Mapping[str, Any]]) -> float | None:
    """The ratio of throughputs: this measurement to that of the same workload in another report (its `measurements`)."""
    if measured.throughput is None:
        return None
    for one in there:
        same = all(one.get(name) == getattr(measured, name) for name in ("workload", "task", "dtype", "batch"))
        throughput = one.get("throughput")
        if same and isinstance(throughput, Mapping) and throughput.get("unit") == measured.throughput.unit:
            value = throughput.get("value")
            if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0:
                return measured.throughput.value / value
    return None
