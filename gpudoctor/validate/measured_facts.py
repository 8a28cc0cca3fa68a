"""Measurements as records of the fact `measurements`: flat, so that checks can ask for one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudoctor.model.measurement import Measurement


def records(measurements: Sequence[Measurement]) -> list[dict[str, Any]]:
    return [_record(each) for each in measurements]


def _record(each: Measurement) -> dict[str, Any]:
    latency, throughput, energy = each.latency_ms, each.throughput, each.energy
    return {
        "name": f"{each.workload} {each.task} {each.dtype} on {each.device}", "workload": each.workload, "task": each.task,
        "framework": each.framework, "backend": each.backend, "device": each.device, "device_name": each.device_name, "dtype": each.dtype,
        "batch": each.batch, "status": each.status, "reason": each.reason, "stage": each.stage, "compile": each.compile,
        "median_ms": latency.median if latency else None, "first_ms": each.first_ms,
        "throughput": throughput.value if throughput else None, "unit": throughput.unit if throughput else None,
        "ratio_to_reference": each.reference.ratio if each.reference else None,
        "ceiling_fraction": each.ceiling.fraction if each.ceiling else None, "ceiling_bound": each.ceiling.bound if each.ceiling else None,
        "mean_watts": energy.mean_watts if energy else None, "memory_peak_bytes": each.memory_peak_bytes,
        "correct": each.correctness.passed if each.correctness else None, "noisy": each.noisy,
    }  # fmt: skip
