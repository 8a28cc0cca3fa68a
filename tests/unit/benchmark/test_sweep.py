from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gpudoctor.benchmark import sweep, worker_client
from gpudoctor.model.batch_sweep import FAILED, MEMORY, OK, SweepPoint
from gpudoctor.reporters.measurement import sweep_text
from gpudoctor.reporters.shared.layout import Terminal

REQUEST = {"framework": "torch", "device": "xpu:0", "workload": "resnet50", "task": "training", "options": {"batch": 16, "height": 224}}
GB = 10**9


class Card:
    """Latency = 5 ms + 1 ms for each item; `room` bytes, of which a batch takes a GB and half a GB for each item."""

    def __init__(self, room: float = 16 * GB, each: float = 0.5 * GB) -> None:
        self.room, self.each, self.asked = room, each, []  # type: ignore[var-annotated]

    def __call__(self, request: Mapping[str, Any], variables: Mapping[str, str]) -> worker_client.Said:
        batch = request["options"]["batch"]
        assert request["options"]["height"] == 224
        self.asked.append(batch)
        memory = int(GB + self.each * batch)
        if memory > self.room:
            return worker_client.Said(status=worker_client.FAILED, reason="first: OutOfMemoryError", out_of_memory=True)
        return worker_client.Said(result={"latency_ms": {"median": 5.0 + batch, "ci95_percent": 1.0}, "memory_peak_bytes": memory})


def run(card: Any, **more: Any) -> Any:
    return sweep.sweep(card, REQUEST, device="xpu:0", **more)


def test_it_doubles_and_then_halves_the_gap_to_the_end_of_memory() -> None:
    card = Card()
    found = run(card)
    assert card.asked[:6] == [1, 2, 4, 8, 16, 32] and found.ended_by == "memory"
    assert 27 <= found.limit <= 30 and len(card.asked) <= 9
    assert [point.batch for point in found.points] == sorted(point.batch for point in found.points)


def test_the_knee_is_the_smallest_batch_with_95_percent_of_the_best() -> None:
    found = run(Card(room=1000 * GB), most=256)
    best = 256 / 261
    assert found.ended_by == "most" and found.limit == 256
    assert found.knee == next(batch for batch in (1, 2, 4, 8, 16, 32, 64, 128, 256) if batch / (5 + batch) >= 0.95 * best)


def test_a_latency_picks_the_largest_batch_within_it() -> None:
    found = run(Card(room=1000 * GB), most=256, max_latency=45.0)
    assert 36 <= found.chosen <= 40 and all(point.latency_ms <= 45 for point in found.points if point.batch == found.chosen)
    assert run(Card(), max_latency=1.0).chosen is None


def test_a_step_that_takes_too_long_ends_the_sweep() -> None:
    found = run(Card(room=1000 * GB), longest=0.05)
    assert found.ended_by == "time" and found.limit == 64


def test_a_first_batch_that_does_not_run_is_the_whole_answer() -> None:
    found = run(lambda *_: worker_client.Said(status=worker_client.FAILED, reason="device: no such device"))
    assert found.limit is None and found.knee is None and found.ended_by == "failure" and len(found.points) == 1
    assert "No batch ran" in sweep_text.render(found) and "no such device" in sweep_text.render(found)


@pytest.mark.parametrize("latency", [None, {}, {"median": "5"}, {"median": float("nan")}, {"median": -1}])
def test_no_time_is_a_failure(latency: Any) -> None:
    assert sweep.measured(worker_client.Said(result={"latency_ms": latency}), 4, 20.0).status == FAILED


def point(batch: int, memory: float | None, status: str = OK) -> SweepPoint:
    rate = 10.0 * batch if status == OK else None
    size = None if memory is None else int(memory * GB)
    return SweepPoint(batch=batch, status=status, latency_ms=100.0, throughput=rate, memory_bytes=size)


def test_the_volatile_memory_of_directml_is_recognised() -> None:
    """The published case: below 3.6 GB at batch 4, 16 GB at batch 8."""
    said = sweep.volatile([point(2, 2.4), point(4, 3.6), point(8, 16.0)], "dml:0")
    assert "3.6 GB at batch 4 to 16.0 GB at batch 8" in said and "DirectML" in said
    crash = sweep.volatile([point(2, 2.4), point(4, 3.6), point(8, None, MEMORY)], "dml:0", capacity=16 * GB)
    assert "batch 8 does not fit in 16.0 GB" in crash


def test_a_jump_in_two_steps_is_one() -> None:
    """Neither step doubles what an item takes; the items that were added do."""
    said = sweep.volatile([point(1, 1.4), point(2, 2.1), point(4, 3.6), point(6, 8.0), point(8, 16.0)], "dml:0")
    assert "3.6 GB at batch 4 to 8.0 GB at batch 6" in said and "half of the largest" in said


def test_directml_does_not_tell_its_memory() -> None:
    said = sweep.volatile([point(2, None), point(4, None), point(8, None, MEMORY)], "dml:0", capacity=16 * GB)
    assert said.startswith("batch 8 does not fit, and the memory of smaller ones was not reported; DirectML")
    assert sweep.volatile([point(2, None), point(8, None, MEMORY)], "xpu:0", capacity=16 * GB) == ""


def test_memory_in_proportion_is_not_volatile() -> None:
    assert sweep.volatile([point(1, 0.3), point(2, 0.31), point(4, 0.7), point(8, 0.75), point(16, 1.2)], "cpu") == ""  # libraries' pieces
    assert sweep.volatile([point(1, 1.0), point(2, 1.9), point(4, 3.8), point(8, 7.7), point(16, None, MEMORY)], "xpu:0", 12 * GB) == ""
    assert sweep.volatile([point(1, None), point(2, None)], "dml:0") == ""


def test_the_chart_marks_knee_limit_and_pick_and_fits_into_ascii() -> None:
    found = run(Card(), max_latency=20.0)
    text = sweep_text.render(found, Terminal(width=80, unicode=False))
    assert "memory is full" in text and f"Knee:  batch {found.knee}" in text and f"Pick:  batch {found.chosen} within 20 ms (p95)" in text
    assert text.isascii() and max(map(len, text.splitlines())) <= 80
    assert text.count("#") > 50
