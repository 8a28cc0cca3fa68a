"""Faults of a device that only time shows: a worker of the real torch, with one put in, is named for it; a sound one is not."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from environments import build

from gpudoctor.benchmark import workers
from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.job_plan import ValidateOptions, plan
from gpudoctor.benchmark.monitors.monitor import Seen
from gpudoctor.benchmark.results import MeasuredDevice, measurement
from gpudoctor.model.measurement import FAILED, OK, Measurement
from gpudoctor.system.local_host import LocalHost

FAULTS = Path(__file__).with_name("faults_in_time")
TARGET = MeasurementTarget(framework="torch", device="cpu", python="", backend="cpu")
SIDE = 320
"""Of the matrices: a millisecond or so a step, so that a run of seconds has hundreds of them."""


def measured(fault: str, duration: float = 2.0, side: int = SIDE) -> tuple[Measurement, float]:
    job = plan(TARGET, ValidateOptions(workloads=("matmul",)))[0]
    request: dict[str, Any] = {**job.request(), "threads": 1, "duration": duration, "warm_up": 1.0, "options": {"side": side}}
    variables = {"PYTHONPATH": str(FAULTS), "FAULT_IN_TIME": fault, "OMP_NUM_THREADS": "1"}
    began = time.monotonic()
    answer = workers.ask(LocalHost(), str(build("torch-cpu") / "bin" / "python"), request, limit=200, variables=variables)
    return measurement(job, answer, Seen(), None, "", MeasuredDevice(), {}), time.monotonic() - began


def test_a_sound_device_has_no_concern() -> None:
    found, _ = measured("")
    assert found.status == OK and found.course is not None, found.reason
    assert found.course.growth is None and (found.course.slowdown or 1) < 2 and found.course.outcomes_checked
    assert found.course.rhythm is None or found.course.rhythm.every is None


@pytest.mark.rotates("a fault in time")
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("nan-400", "wrong result: the result of step "), ("changed-400", "differs from that of the first by 0.01"),
        ("hang-400", "no answer for 10 s; the step before took "),
    ],
)  # fmt: skip
def test_a_fault_that_makes_the_result_wrong_fails_it(fault: str, words: str) -> None:
    found, took = measured(fault, duration=20.0)
    assert found.status == FAILED and words in str(found.reason), found.reason
    assert took < 100 and found.throughput is None


@pytest.mark.rotates("a fault in time")
@pytest.mark.parametrize("fault", ["leak-8", "untouched-64"])
def test_memory_that_grows_is_said_by_the_step(fault: str) -> None:
    found, _ = measured(fault, side=512)
    assert found.course is not None and found.course.growth is not None
    assert found.course.growth.bytes_per_step == pytest.approx(int(fault.partition("-")[2]) << 20, rel=0.2)


@pytest.mark.rotates("a fault in time")
def test_a_device_that_slows_after_seconds_is_seen_by_a_run_as_long_as_the_default() -> None:
    found, _ = measured("slower-2", duration=2.5)
    assert found.course is not None and found.course.slowdown is not None and found.course.slowdown > 1.8, found.course


@pytest.mark.rotates("a fault in time")
def test_each_tenth_step_slow_is_seen() -> None:
    found, _ = measured("tenth", side=640)
    assert found.course is not None and found.course.rhythm is not None and found.course.rhythm.every == 10, found.course
