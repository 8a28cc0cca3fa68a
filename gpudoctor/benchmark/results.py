"""Turns a worker's answer and the monitor's observations into a measurement. Numbers of workers are validated first."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.benchmark.course import course, faults
from gpudoctor.benchmark.flop_model import WIDTHS
from gpudoctor.benchmark.job_plan import Job
from gpudoctor.benchmark.monitors.energy import Joules
from gpudoctor.benchmark.monitors.monitor import Seen
from gpudoctor.benchmark.operators_row import of_operators
from gpudoctor.benchmark.reference_rows import DeviceRow, references
from gpudoctor.benchmark.references import ceiling, nearest
from gpudoctor.benchmark.replicas import Together
from gpudoctor.benchmark.worker_numbers import count_of, not_negative_number, number_of, positive_number
from gpudoctor.benchmark.workers import WorkerAnswer
from gpudoctor.benchmark.workload_list import input_shape
from gpudoctor.model.measurement import FAILED, OK, SKIPPED, Conditions, Correctness, Course, Energy, Latency, Measurement, Throughput
from gpudoctor.system.framework_child import one_line

SCALED = {"FLOP/s": (1e12, "TFLOP/s"), "B/s": (1e9, "GB/s")}
CONTRACT_PARTS = ("preprocess", "host_to_device", "compute", "device_to_host")
MATTERS = (
    "IPEX_XPU_ONEDNN_LAYOUT", "OMP_NUM_THREADS", "OMP_PROC_BIND", "KMP_AFFINITY", "KMP_BLOCKTIME", "MKL_NUM_THREADS", "MALLOC_CONF",
    "LD_PRELOAD", "NVIDIA_TF32_OVERRIDE", "CUDA_VISIBLE_DEVICES", "CUDA_LAUNCH_BLOCKING", "CUDNN_BENCHMARK", "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF", "PYTORCH_TUNABLEOP_ENABLED", "PYTORCH_ENABLE_MPS_FALLBACK", "MIOPEN_FIND_MODE", "HIP_VISIBLE_DEVICES",
    "HSA_OVERRIDE_GFX_VERSION", "ONEAPI_DEVICE_SELECTOR", "ZE_AFFINITY_MASK", "SYCL_CACHE_PERSISTENT",
    "SYCL_PI_LEVEL_ZERO_USE_IMMEDIATE_COMMANDLISTS", "UR_L0_USE_IMMEDIATE_COMMANDLISTS", "ONEDNN_DEFAULT_FPMATH_MODE",
    "DNNL_DEFAULT_FPMATH_MODE", "ONEDNN_MAX_CPU_ISA", "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "ATEN_CPU_CAPABILITY", "OMP_THREAD_LIMIT",
    "GOMP_CPU_AFFINITY", "HIP_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL", "XLA_FLAGS", "TF_ENABLE_ONEDNN_OPTS", "POCL_MAX_PTHREAD_COUNT",
)  # fmt: skip
"""Environment variables that influence measurements; a measurement lists those that are set."""
ROUNDED = sys.float_info.max
"""Stands for the share of a tolerance that a narrower type goes beyond: more than any that passed, less than a wrong result."""
NARROW = 5.0
"""Per cent: a median whose 95 % interval is wider is noisy."""


class MeasuredDevice(Struct, frozen=True):
    """A target's ceilings (rows of the table, or the estimate of a processor), and its conditions during the measurement."""

    rows: tuple[DeviceRow, ...] = ()
    count: int = 1
    """The number of such devices that shared the work."""
    conditions: Conditions | None = None


def measurement(
    job: Job, answer: WorkerAnswer, seen: Seen, joules: Joules | None, no_energy: str, device: MeasuredDevice,
    environment: Mapping[str, str], together: Together | None = None,
) -> Measurement:  # fmt: skip
    """The measurement of one job. `environment`: variables of MATTERS that are set here. `together`: the answer of several workers."""
    result = answer.result
    said = {**answer.device, **result}
    threads = said.get("threads")
    base = Measurement(
        workload=job.workload.id, task=job.task, framework=job.target.framework,
        framework_version=one_line(said.get("framework_version")) or job.target.version or None, backend=job.target.backend,
        device=job.devices, device_name=_device_name(job, said), dtype=job.dtype, batch=job.batch if job.network else None,
        input=_input(job), status=answer.status, reason=answer.reason or None,
        stage=answer.stage or None if answer.status == FAILED else None, compile=job.compile,
        optimizer=job.optimizer if job.task == "training" else None, replicas=job.replicas,
        environment={**environment, **_texts(result.get("environment"))}, conditions=device.conditions,
        notes=(f"{threads} threads{' each' if job.peers else ''}",) if isinstance(threads, int) and job.target.on_processor else (),
    )  # fmt: skip
    if answer.status != OK:
        return base
    if job.workload.unit == "operators":
        return of_operators(base, result.get("operators"))
    return _measured(base, job, answer, seen, joules, no_energy, device, together)


def skipped(job: Job, reason: str) -> Measurement:
    """The measurement of a job that was not begun."""
    return measurement(job, WorkerAnswer(status=SKIPPED, reason=reason), Seen(), None, "", MeasuredDevice(), {})


def never_begun(jobs: Sequence[Job], done: Sequence[Measurement]) -> list[Measurement]:
    """Measurements for those `jobs` that are not in `done`, after an interruption."""

    def key(each: Measurement) -> tuple[object, ...]:
        return each.title, each.task, each.framework, each.device, each.dtype, each.batch

    found, known = [skipped(job, "the run was interrupted before") for job in jobs], {key(each) for each in done}
    return [each for each in found if key(each) not in known]


def _measured(
    base: Measurement, job: Job, answer: WorkerAnswer, seen: Seen, joules: Joules | None, no_energy: str, device: MeasuredDevice,
    together: Together | None,
) -> Measurement:  # fmt: skip
    result = answer.result
    correctness, wrong = judged(result.get("outputs"))
    latency = _latency(result.get("latency_ms"))
    items = positive_number(result.get("items_per_step"))
    whole = replace(
        base, correctness=correctness, latency_ms=latency, iterations=count_of(result.get("iterations")),
        includes=tuple(part for part in result.get("includes") or () if part in CONTRACT_PARTS),
        memory_peak_bytes=count_of(result.get("memory_peak_bytes")), first_ms=positive_number(result.get("first_ms")),
        course=_course(result, seen),
    )  # fmt: skip
    if wrong:
        kind = "narrower precision" if correctness is not None and correctness.computed_in else "wrong result"
        return replace(whole, status=FAILED, reason=f"{kind}: {wrong}", stage="correctness", throughput=None)
    if fault := faults(result):
        still = Correctness(
            compared_with="the first step", max_relative_error=whole.course.largest_change if whole.course else None, tolerance=None,
            passed=False,
        )  # fmt: skip
        return replace(whole, status=FAILED, reason=f"wrong result: {fault}", stage="measure", correctness=still)
    if latency is None or items is None:
        return replace(whole, status=FAILED, reason="measure: the worker's times are no numbers", stage="measure")
    rate = (_rate(result, latency, items) if together is None or together.rate is None else together.rate) * job.per_item
    divisor, unit = SCALED.get(job.workload.unit, (1.0, job.workload.unit))
    whole = replace(whole, throughput=Throughput(value=rate / divisor, unit=unit))
    energy = None
    if joules is not None:
        energy = Energy(
            joules_per_item=joules.watts / rate if job.network else None, mean_watts=joules.watts, boundary=joules.boundary,
            source=joules.source, throughput_per_watt=rate / joules.watts if job.network else None,
        )  # fmt: skip
    whole = replace(
        whole, energy=energy, noisy="; ".join(_noise(whole, result, seen)) or None,
        notes=(*whole.notes, *_parts(together), *_notes(seen, no_energy)),
    )  # fmt: skip
    step = job.cost()
    if not device.rows or job.messages:
        return whole
    roof = ceiling(whole, step.per_item if step is not None else None, device.rows)
    if roof is not None and device.count > 1:
        roof = replace(roof, fraction=roof.fraction / device.count, attainable=roof.attainable and roof.attainable * device.count)
    return replace(whole, ceiling=roof, reference=nearest(whole, device.rows, references()))


def _rate(result: Mapping[str, Any], latency: Latency, items: float) -> float:
    """Items per second: all work divided by its time, since a median would leave slow steps out."""
    steps, busy = positive_number(result.get("iterations")), positive_number(result.get("busy_s"))
    return items * steps / busy if steps is not None and busy is not None else items * 1000 / latency.median


def _course(result: Mapping[str, Any], seen: Seen) -> Course | None:
    found = course(result)
    return (
        None
        if found is None
        else replace(found, clock_mhz=seen.clock_ends, heat_c=seen.heat_ends, watts=seen.watts_ends, others_grew=seen.others_grew)
    )


def _input(job: Job) -> tuple[int, ...] | None:
    """The shape of one item; of a collective, the elements of a message."""
    if job.messages:
        return None if len(job.messages) > 1 else (max(1, job.messages[0] // WIDTHS.get(job.dtype, 4)),)
    return input_shape(job.workload, job.options) if job.network else None


def _parts(together: Together | None) -> list[str]:
    if together is None:
        return []
    if together.message is not None:
        return [f"bus bandwidth, as nccl-tests count it; collective: {one_line(together.answer.result.get('collective')) or 'not given'}"]
    return [f"{len(together.each)} replicas did {' + '.join(f'{rate:.4g}' for rate in together.each)} items/s"] if together.each else []


def judged(rows: Any) -> tuple[Correctness | None, str]:
    """(the row nearest to its tolerance, what is wrong). Every row has to pass; an error that is no number does not."""
    if not isinstance(rows, Sequence) or isinstance(rows, str) or not rows:
        return None, ""
    worst: tuple[float, Correctness] | None = None
    wrong, narrow = "", ""
    for row in rows:
        if not isinstance(row, Mapping):
            return Correctness(
                compared_with="cpu float64", max_relative_error=None, tolerance=None, passed=False
            ), "the worker's rows are no tables"
        name, note = one_line(row.get("name")) or "result", one_line(row.get("note"))
        error, tolerance = number_of(row.get("max_relative_error")), not_negative_number(row.get("tolerance"))
        passed = row.get("passed") is True and error is not None and tolerance is not None and 0 <= error <= tolerance
        share = error / tolerance if error is not None and tolerance else 0.0 if passed else math.inf
        narrower = one_line(row.get("computed_in")) if error is not None else ""
        if narrower and not passed:
            narrow = narrow or f"{name} {note}, where {tolerance or 0:.2g} is allowed"
        elif not passed and not wrong:
            wrong = f"{name}: {note}" if error is None or (note and row.get("passed") is not True and share <= 1) else (
                f"{name} differs by {error:.2g} from {one_line(row.get('compared_with')) or 'float64 on the processor'}, "
                f"{tolerance or 0:.2g} is allowed"
            )  # fmt: skip
        reference = one_line(row.get("compared_with")) or "cpu float64"
        one = Correctness(
            compared_with=reference, max_relative_error=error, tolerance=tolerance, passed=passed, computed_in=narrower or None
        )  # fmt: skip
        share = share if passed else ROUNDED if narrower else math.inf
        if worst is None or share > worst[0]:
            worst = share, one
    return worst[1] if worst else None, wrong or narrow


def _noise(measured: Measurement, result: Mapping[str, Any], seen: Seen) -> list[str]:
    found = list(seen.noise)
    interval = measured.latency_ms.ci95_percent if measured.latency_ms is not None else None
    if interval is not None and interval > NARROW:
        found.append(f"the median is known within {interval:.0f} % only")
    elif interval is None:
        found.append(f"{measured.iterations or 'too few'} steps are too few for an interval")
    if found and result.get("steady") is False:
        found.append("not steady when the warm-up was over")
    return found


def _notes(seen: Seen, no_energy: str) -> list[str]:
    found = [f"energy not known: {no_energy}"] if no_energy else []
    if seen.clock_mhz is not None:
        found.append(f"clock {seen.clock_mhz:.0f} MHz")
    if seen.hottest_c is not None:
        found.append(f"up to {seen.hottest_c:.0f} degrees Celsius")
    if seen.busy_percent is not None:
        found.append(f"device in use {seen.busy_percent:.0f} % of the time")
    if seen.engines:
        found.append("engines: " + ", ".join(f"{one_line(name)} {share:.0f} %" for name, share in seen.engines))
    if seen.memory_gbs is not None:
        found.append(f"memory traffic {seen.memory_gbs:.3g} GB/s")
    if seen.memory_percent is not None:
        found.append(f"memory at work {seen.memory_percent:.0f} %")
    found += map(one_line, seen.notes)
    return found


def _device_name(job: Job, said: Mapping[str, Any]) -> str | None:
    """The device's name. The system's name is preferred where torch's is only 'cpu' or 'ocl'."""
    name = one_line(said.get("device_name"))
    return (job.target.name if name.lower() in ("", "cpu", "ocl") else name) or name or None


def _latency(table: Any) -> Latency | None:
    if not isinstance(table, Mapping):
        return None
    median = positive_number(table.get("median"))
    if median is None:
        return None
    rest: dict[str, Any] = {
        name: not_negative_number(table.get(name)) for name in ("p10", "p50", "p95", "p99", "mean", "stdev", "ci95_percent")
    }
    return Latency(median=median, **rest)


def _texts(table: Any) -> dict[str, str]:
    return {one_line(str(name)): one_line(str(value)) for name, value in table.items()} if isinstance(table, Mapping) else {}
