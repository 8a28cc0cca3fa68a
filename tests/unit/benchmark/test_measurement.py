"""A measurement in a report: as the contract has it, held against the published schema."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from gpudoctor.model.measurement import Ceiling, Correctness, Energy, Latency, Measurement, Reference, Throughput
from gpudoctor.reporters.shared.schema import complaints, load

KEYS = (
    "workload task framework framework_version backend device device_name dtype batch input status reason iterations latency_ms throughput "
    "includes compile memory_peak_bytes energy correctness ceiling reference environment"
).split()  # in the order of the contract


def whole(**changes: Any) -> Measurement:
    said: dict[str, Any] = {
        "workload": "resnet50", "task": "training", "framework": "torch", "framework_version": "2.8.0", "backend": "xpu", "device": "xpu:0",
        "device_name": "Intel(R) Arc(TM) A770 Graphics", "dtype": "float32", "batch": 16, "input": (3, 224, 224), "iterations": 120,
        "latency_ms": Latency(median=20.0, p50=20.0, p95=21.0, p99=22.0, mean=20.1, stdev=0.3, ci95_percent=0.5),
        "throughput": Throughput(value=800.0, unit="images/s"), "includes": ("host_to_device", "compute"), "memory_peak_bytes": 2**31,
        "energy": Energy(joules_per_item=0.2, mean_watts=160.0, boundary="card", source="hwmon"),
        "correctness": Correctness(compared_with="cpu float64", max_relative_error=1e-6, tolerance=1e-4, passed=True),
        "ceiling": Ceiling(fraction=0.4, bound="compute", source="somewhere (2026-01-01)", attainable=2000.0, unit="items/s"),
        "reference": Reference(ratio=1.2, value=25.0, source="somewhere (2021-01-01)", unit="ms", differs=("torch 1.9 then, 2.8 now",)),
        "environment": {"IPEX_XPU_ONEDNN_LAYOUT": "1"},
    }  # fmt: skip
    return Measurement(**{**said, **changes})


def held_against_schema(document: dict[str, Any]) -> list[str]:
    """Complaints of `measurements` alone: a report around it would say nothing more here."""
    empty: dict[str, Any] = dict.fromkeys(load()["required"])
    return [each for each in complaints({**empty, "measurements": [document]}) if each.startswith("measurements")]


def test_keys_come_in_the_order_of_the_contract() -> None:
    assert list(whole().to_json()) == [
        *KEYS,
        "stage",
        "first_ms",
        "optimizer",
        "replicas",
        "noisy",
        "conditions",
        "course",
        "notes",
        "links",
    ]


def test_a_whole_measurement_and_a_bare_one_fit_the_schema() -> None:
    skipped = Measurement(
        workload="resnet50", task="inference", framework="poptorch", backend="ipu", device="ipu:0", dtype="float16", status="skipped",
        reason="no IPU here",
    )  # fmt: skip
    for each in (whole(), skipped, whole(energy=None, correctness=None, ceiling=None, reference=None, memory_peak_bytes=None)):
        assert held_against_schema(json.loads(json.dumps(each.to_json(), allow_nan=False))) == []


def test_no_number_is_null() -> None:
    said = whole(
        correctness=Correctness(compared_with="cpu float64", max_relative_error=float("inf"), tolerance=1e-4, passed=False)
    ).to_json()
    assert said["correctness"]["max_relative_error"] is None
    assert held_against_schema(said) == []


@pytest.mark.parametrize(
    ("broken", "where"),
    [
        ({"status": "failed"}, "measurements/0"),  # without a reason
        ({"latency_ms": None, "throughput": None, "correctness": None}, "measurements/0"),  # ok, and neither measured nor judged
        ({"task": "guessing"}, "measurements/0/task"),
        ({"batch": 0}, "measurements/0/batch"),
        ({"compile": "fast"}, "measurements/0/compile"),
        ({"includes": ("coffee",)}, "measurements/0/includes/0"),
        ({"ceiling": Ceiling(fraction=0.4, bound="network", source="x")}, "measurements/0/ceiling"),
        ({"reference": Reference(ratio=1.0, value=1.0, source="")}, "measurements/0/reference"),
    ],
)
def test_what_a_reader_could_not_rely_on_is_refused(broken: dict[str, Any], where: str) -> None:
    found = held_against_schema(whole(**broken).to_json())
    assert any(re.match(re.escape(where), each) for each in found), found


@pytest.mark.parametrize("key", KEYS)
def test_no_key_may_be_missing(key: str) -> None:
    said = whole().to_json()
    del said[key]
    assert held_against_schema(said)
