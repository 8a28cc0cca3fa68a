"""Measurements as facts that performance checks ask for."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from gpudoctor.facts import vocabulary
from gpudoctor.facts.derive.measured import FIELDS, MEASUREMENTS, PROVIDES, derive
from gpudoctor.facts.measured_facts import records
from gpudoctor.model.facts import Absent, Facts, Known, Unknown
from gpudoctor.model.measurement import Ceiling, Conditions, Correctness, Latency, Measurement, Reference
from gpudoctor.rules.conditions import parse
from gpudoctor.rules.evaluate import evaluate

WORKER = Path(__file__).parents[4] / "gpudoctor" / "target" / "workloads" / "worker.py"
FULL: tuple[str, ...] = run_path(str(WORKER))["FULL"]


def measured(**changes: Any) -> Measurement:
    said: dict[str, Any] = {
        "workload": "resnet50", "task": "training", "framework": "torch", "backend": "xpu", "device": "xpu:0", "dtype": "float32",
        "batch": 16,
        "latency_ms": Latency(median=20.0), "reference": Reference(ratio=0.9, value=25.0, source="a report"),
        "ceiling": Ceiling(fraction=0.3, bound="compute", source="a table"),
    }  # fmt: skip
    return Measurement(**{**said, **changes})


def facts_of(*measurements: Measurement) -> Facts:
    facts = Facts({"measurements": Known(records(measurements))})
    for name, fact in derive(facts):
        facts.set(name, fact)
    return facts


def test_the_slowest_training_counts_against_its_reference() -> None:
    slow = measured(reference=Reference(ratio=0.2, value=5.0, source="a report"), ceiling=None)
    facts = facts_of(measured(), slow, measured(task="inference", reference=None))
    assert facts.value("measured.training.ratio_to_reference") == 0.2
    assert facts.value("measured.training.ceiling_fraction") == 0.3
    assert isinstance(facts.get("measured.inference.ratio_to_reference"), Absent)
    assert facts.value("measured.done") == 3 and facts.value("measured.devices") == ["xpu:0"]


def test_failures_wrong_results_noise_and_throttling_are_named() -> None:
    wrong = Correctness(compared_with="cpu float64", max_relative_error=0.5, tolerance=0.01, passed=False)
    facts = facts_of(
        measured(status="failed", reason="measure: died of SIGSEGV", reference=Reference(ratio=0.01, value=1.0, source="x")),
        measured(workload="vgg16", status="failed", reason="wrong result: x", correctness=wrong),
        measured(workload="alexnet", noisy="throttled by heat 3 times", conditions=Conditions(throttled="throttled by heat 3 times")),
    )
    assert facts.value("measured.failed") == ["resnet50 training float32 on xpu:0", "vgg16 training float32 on xpu:0"]
    assert facts.value("measured.wrong") == ["vgg16 training float32 on xpu:0"]
    assert facts.value("measured.noisy") == ["alexnet training float32 on xpu:0"] and facts.value("measured.throttled") is True
    assert facts.value("measured.training.ratio_to_reference") == 0.9, "a failed one has no speed"


def test_without_a_measurement_nothing_is_known() -> None:
    for name, fact in derive(Facts()):
        assert isinstance(fact, Unknown), name


def test_a_check_can_ask_for_one_measurement_and_for_the_environment() -> None:
    items = vocabulary.items()
    facts = facts_of(measured(reference=Reference(ratio=0.2, value=5.0, source="a report")))
    slow = {"some": {"of": "measurements", "where": {"all": [
        {"fact": "measurement.task", "is": "training"}, {"fact": "measurement.ratio_to_reference", "less_than": 0.5},
    ]}}}  # fmt: skip
    assert evaluate(parse(slow, "problem", items), facts).truth == "true"
    assert evaluate(parse({"fact": "measured.training.ratio_to_reference", "less_than": 0.5}, "problem", items), facts).truth == "true"
    assert evaluate(parse(slow, "problem", items), Facts()).truth == "unknown"


@pytest.mark.parametrize("words", [*FULL, "MemoryError: main memory is full", "killed by the kernel: main memory was full"])
def test_full_memory_is_known_by_each_word_that_a_worker_knows(words: str) -> None:
    (record,) = records([measured(status="failed", reason=f"build: RuntimeError: {words.upper()}")])
    assert record["memory_full"] is True


def test_each_field_of_a_record_is_in_the_vocabulary() -> None:
    assert list(records([measured()])[0]) == list(FIELDS)
    assert {spec.name for spec in (*PROVIDES, MEASUREMENTS)} <= set(vocabulary.specs())
    assert {name for name, _ in derive(Facts())} == {spec.name for spec in PROVIDES}
