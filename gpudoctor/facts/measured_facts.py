"""Measurements as records of the fact `measurements`, flat, so that conditions of checks can ask for their fields."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from gpudoctor.knowledge.stack_names import stack_that_measured
from gpudoctor.model.facts import Unknown
from gpudoctor.model.measurement import FAILED, OK, SKIPPED, Conditions, Course, Latency, Measurement

FULL = (
    "out of memory", "outofmemory", "memoryerror", "memory was full", "memory is full", "memory was nearly full", "out_of_device_memory",
    "out_of_host_memory", "allocation_failure", "resource_exhausted", "out_of_resources", "not enough memory", "enough gpu video memory",
    "failed to allocate", "insufficient memory", "bad_alloc", "allocate memory", "e_outofmemory", "failed to map segment",
)  # fmt: skip
"""Words by which frameworks, and gpudoctor's own monitor, report that memory was full, in lower case. 'illegal memory access' is none."""
UNSEEN = Unknown("not probed")
"""The value of a field that was not measured or watched."""
CONDITIONS = Conditions()
REFERENCES = {"cpu float64": "float64 on the processor"}
"""What a sentence calls a reference; others are words already."""


def records(measurements: Sequence[Measurement], date: str = "", recalled: bool = False) -> list[dict[str, Any]]:
    """The records of the measurements. `date`: when they were made (UTC). `recalled`: they are of an earlier day, so that what was true at
    that moment alone (other users of the device, throttling) is unknown."""
    return [_readable(_record(each, measurements, date, recalled)) for each in measurements]


def _readable(record: dict[str, Any]) -> dict[str, Any]:
    """The record with numbers of four digits, which suffice for a person; the measurement keeps all."""
    return {name: _short(value) if isinstance(value, float) else value for name, value in record.items()}


def _short(value: float) -> float:
    return round(value) if abs(value) >= 1000 else float(f"{value:.4g}")


def stack_of(measurement: Measurement) -> str | None:
    """The stack whose rungs compute and performance a measurement fills; None where there is none."""
    return stack_that_measured(measurement.framework, measurement.backend)


def _record(each: Measurement, all_of_them: Sequence[Measurement], date: str, recalled: bool) -> dict[str, Any]:
    latency, throughput, energy, stack = each.latency_ms, each.throughput, each.energy, stack_of(each)
    seen = each.conditions or CONDITIONS
    reason = (each.reason or "").lower()
    return {
        "name": f"{each.title} {each.task} {each.dtype} on {each.device}", "workload": each.workload, "task": each.task,
        "framework": each.framework, "framework_version": each.framework_version, "backend": each.backend, "device": each.device,
        "device_name": each.device_name or each.device, "processor": each.backend == "cpu", "stacks": [stack] if stack else [],
        "dtype": each.dtype, "batch": each.batch, "status": each.status, "reason": each.reason, "stage": each.stage,
        "compile": each.compile, "optimizer": each.optimizer, "replicas": each.replicas,
        "date": date or UNSEEN, "median_ms": latency.median if latency else None, "first_ms": each.first_ms,
        "first_by_median": each.first_ms / latency.median if each.first_ms and latency else UNSEEN,
        "throughput": throughput.value if throughput else None, "unit": throughput.unit if throughput else None,
        "ratio_to_reference": each.reference.ratio if each.reference else UNSEEN,
        "reference": each.reference.source if each.reference else UNSEEN,
        "ceiling_fraction": each.ceiling.fraction if each.ceiling else UNSEEN,
        "ceiling_bound": each.ceiling.bound if each.ceiling else UNSEEN,
        "training_by_inference": _by_inference(each, all_of_them), "mean_watts": energy.mean_watts if energy else UNSEEN,
        "joules_per_item": energy.joules_per_item if energy else UNSEEN, "memory_peak_bytes": _or_unseen(each.memory_peak_bytes),
        "correct": each.correctness.passed if each.correctness else UNSEEN,
        "compared_with": REFERENCES.get(each.correctness.compared_with, each.correctness.compared_with) if each.correctness else UNSEEN,
        "computed_in": each.correctness.computed_in if each.correctness else UNSEEN, "noisy": each.noisy,
        "memory_full": each.status == FAILED and any(word in reason for word in FULL),
        "all_failed": _all_failed(each, all_of_them),
        "throttled": _moment(seen.throttled, recalled), "others": _moment(seen.others, recalled),
        "clock_mhz": _or_unseen(seen.clock_mhz), "hottest_c": _or_unseen(seen.hottest_c), "busy_percent": _or_unseen(seen.busy_percent),
        "link_gt": _or_unseen(seen.link_gt), "link_gt_max": _or_unseen(seen.link_gt_max), "link_width": _or_unseen(seen.link_width),
        "link_width_max": _or_unseen(seen.link_width_max), "power_limit_share": _or_unseen(seen.power_limit_share),
        "gpu_address": _or_unseen(seen.gpu_address), "gpu_kind": _or_unseen(seen.gpu_kind), "bar_share": _or_unseen(seen.bar_share),
        "threads": _or_unseen(None if each.replicas else seen.threads), "computed_on": _or_unseen(seen.computed_on),
        "fallbacks": UNSEEN if seen.fallbacks is None else list(seen.fallbacks) or None, "python_debug": _or_unseen(seen.python_debug),
        "settings": UNSEEN if seen.settings is None else list(seen.settings) or None, "other_path": _or_unseen(seen.other_path),
        "other_path_speed_up": _or_unseen(seen.other_path_speed_up), "other_path_error": _or_unseen(seen.other_path_error),
        **_course(each.course, latency), "filesystem": _or_unseen(seen.filesystem), "on_windows_drive": _or_unseen(seen.on_windows_drive),
        "slow_links": _slow_links(each),
    }  # fmt: skip


def _slow_links(each: Measurement) -> Any:
    """Which links of a collective are slow, each with its bandwidth; None where the links that were measured are alike."""
    if not each.links:
        return UNSEEN
    slow = [link for link in each.links if link.slow]
    usual = statistics.median(link.bytes_per_s for link in each.links)
    words = ", ".join(f"{link.name} {link.bytes_per_s / 1e9:.3g} GB/s" for link in slow)
    return f"{words}, where {usual / 1e9:.3g} GB/s is usual" if slow else None


def _course(course: Course | None, latency: Latency | None) -> dict[str, Any]:
    if course is None:
        return dict.fromkeys(("slowdown", "slow_steps", "slow_steps_times", "slow_steps_every", "memory_grows", "memory_grows_bytes",
                              "clock_share", "p99_by_median", "others_grew"), UNSEEN)  # fmt: skip
    rhythm, growth = course.rhythm, course.growth
    return {
        "slowdown": _or_unseen(course.slowdown), "slow_steps": rhythm.words if rhythm else None,
        "slow_steps_times": rhythm.slow_ms / rhythm.fast_ms if rhythm else None, "slow_steps_every": rhythm.every if rhythm else None,
        "memory_grows": growth.words if growth else None, "memory_grows_bytes": growth.bytes_per_step if growth else None,
        "clock_share": course.clock_mhz[1] / course.clock_mhz[0] if len(course.clock_mhz) == 2 and course.clock_mhz[0] > 0 else UNSEEN,
        "p99_by_median": latency.p99 / latency.median if latency and latency.p99 else UNSEEN,
        "others_grew": _or_unseen(course.others_grew),
    }  # fmt: skip


def _or_unseen(value: Any) -> Any:
    return UNSEEN if value is None else value


def _moment(text: str | None, recalled: bool) -> Any:
    """The field for what was observed at the moment of measuring: None (absent) for '', which means that it was watched and nothing was
    seen; unknown where it was not watched, or is of an earlier day."""
    return UNSEEN if text is None or recalled else text or None


def _same_device(each: Measurement, others: Iterable[Measurement]) -> list[Measurement]:
    return [other for other in others if (other.framework, other.device) == (each.framework, each.device) and other.status != SKIPPED]


def _all_failed(each: Measurement, all_of_them: Iterable[Measurement]) -> bool:
    return each.status == FAILED and all(other.status == FAILED for other in _same_device(each, all_of_them))


def _by_inference(each: Measurement, all_of_them: Iterable[Measurement]) -> Any:
    """The time of a training step divided by that of an inference of the same batch, usually about three; unknown without both."""
    if each.task != "training" or each.status != OK or each.latency_ms is None:
        return UNSEEN
    same = ("workload", "dtype", "batch", "input")
    for other in _same_device(each, all_of_them):
        fits = other.task == "inference" and other.status == OK and other.latency_ms is not None
        if fits and all(getattr(other, name) == getattr(each, name) for name in same):
            assert other.latency_ms is not None
            return each.latency_ms.median / other.latency_ms.median
    return UNSEEN
