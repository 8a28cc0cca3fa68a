"""The quick set of operators as one measurement: what is wrong fails it by name, what a backend lacks or computes elsewhere is noted."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.job_plan import ValidateOptions, plan
from gpudoctor.benchmark.monitors.monitor import Seen
from gpudoctor.benchmark.results import MeasuredDevice, measurement
from gpudoctor.benchmark.workers import WorkerAnswer
from gpudoctor.model.measurement import FAILED, OK, Measurement

TARGET = MeasurementTarget(framework="torch", device="xpu:0", python="/p", backend="xpu")
(JOB,) = (job for job in plan(TARGET, ValidateOptions()) if job.workload.id == "operators")


def verdict(operator: str, verdict: str = "native", error: float | None = 1e-7, **more: Any) -> dict[str, Any]:
    return {
        "operator": operator, "group": "g", "dtype": "float32", "direction": "forward", "verdict": verdict, "note": "",
        "max_relative_error": error, "tolerance": 1e-5, **more,
    }  # fmt: skip


def of(rows: Any, status: str = OK) -> Measurement:
    return measurement(
        JOB, WorkerAnswer(status=status, stage="operator", result={"operators": rows}), Seen(), None, "", MeasuredDevice(), {}
    )


def test_it_is_asked_for_as_the_quick_set() -> None:
    assert (JOB.request()["job"], JOB.request()["set"], JOB.request()["device"]) == ("operators", "quick", "xpu:0")
    poptorch = MeasurementTarget(framework="poptorch", device="ipu:0", python="/p", backend="ipu")
    assert "operators" not in {job.workload.id for job in plan(poptorch, ValidateOptions())}, "its worker judges none"


def test_all_right_is_a_row_with_the_error_that_came_nearest_to_its_tolerance() -> None:
    found = of(
        [verdict("relu"), verdict("softmax", error=5e-6), verdict("softmax", error=1e-7, direction="backward"), verdict("fold", "skipped")]
    )
    assert (found.status, found.iterations, found.notes) == (OK, 2, ())
    assert found.correctness is not None and found.correctness.passed and found.correctness.max_relative_error == 5e-6


def test_a_wrong_operator_fails_it_and_is_named_with_its_error() -> None:
    rows = [
        verdict("relu"),
        verdict("relu", "wrong", None, dtype="float16", note="NaN becomes 0"),
        verdict("pad", "wrong", 0.3),
        verdict("fold", "crash"),
    ]
    found = of(rows)
    assert found.status == FAILED and found.stage == "correctness" and found.correctness is not None and not found.correctness.passed
    assert found.reason == "wrong result: relu float16 forward: NaN becomes 0; and 2 more operators: pad, fold"
    assert of(rows[2:3]).reason == "wrong result: pad float32 forward is off by 0.3, 1e-05 is allowed"


def test_what_the_backend_lacks_and_what_ran_elsewhere_is_no_failure() -> None:
    found = of([verdict("relu"), verdict("nms", "cpu-fallback"), *(verdict(f"op{number}", "missing", None) for number in range(5))])
    assert found.status == OK and found.conditions is not None and found.conditions.fallbacks == ("nms",)
    assert found.notes == ("operators that this backend lacks: op0, op1, op2 and 2 others",)


@pytest.mark.parametrize("rows", [None, [], "x", [1, {"verdict": "fine"}], [verdict("relu", "skipped")]])
def test_an_answer_without_verdicts_is_no_success(rows: Any) -> None:
    assert of(rows).status == FAILED
