"""The batch that a latency allows does not hang on one disturbed measurement."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from msgspec.structs import replace

from gpudoctor.benchmark.batch_choice import largest_within, marked, picks, smoothed
from gpudoctor.model.measurement import FAILED, OK, Latency, Measurement

TRUE = [(2, 10.0), (4, 12.0), (6, 14.0), (8, 16.0), (10, 18.0), (12, 24.0)]


def with_(batch: int, latency: float) -> list[tuple[int, float]]:
    return [(size, latency if size == batch else usual) for size, usual in TRUE]


def test_without_noise_it_is_the_largest_below() -> None:
    assert largest_within(TRUE, 20.0) == 10 and largest_within(TRUE, 16.0) == 8
    assert largest_within(TRUE, 9.0) is None and largest_within(TRUE, 100.0) == 12 and largest_within([], 5.0) is None


@pytest.mark.parametrize("batch", [2, 4, 6, 8])
def test_one_disturbed_batch_below_the_choice_changes_nothing(batch: int) -> None:
    assert largest_within(with_(batch, 1000.0), 20.0) == 10


@pytest.mark.parametrize("batch", [size for size, _ in TRUE])
@pytest.mark.parametrize("latency", [0.1, 5.0, 17.0, 30.0, 1000.0])
def test_whichever_is_wrong_the_choice_moves_to_a_neighbour_at_most(batch: int, latency: float) -> None:
    assert largest_within(with_(batch, latency), 20.0) in (8, 10, 12)


def test_of_two_that_contradict_each_other_the_shorter_is_believed() -> None:
    assert smoothed([(2, 10.0), (4, 30.0), (6, 20.0)]) == {2: 10.0, 4: 20.0, 6: 20.0}


def test_smoothed_latencies_never_fall_and_good_ones_stay() -> None:
    random.seed(4)
    for _ in range(200):
        points = [(size, latency * random.uniform(0.5, 2.0)) for size, latency in TRUE]
        values = [smoothed(points)[size] for size, _ in TRUE]
        assert all(one <= other for one, other in pairwise(values)) and set(values) <= {latency for _, latency in points}
    assert smoothed(TRUE) == dict(TRUE)


def measured(batch: int, p95: float | None, status: str = OK, replicas: int | None = 2, dtype: str = "float32") -> Measurement:
    return Measurement(
        workload="resnext101_32x4d", task="inference", framework="torch", backend="cpu", device="cpu", dtype=dtype, batch=batch,
        status=status, replicas=replicas, latency_ms=None if p95 is None else Latency(median=p95 / 2, p95=p95),
    )  # fmt: skip


def test_picks_are_made_for_each_network_and_precision_and_said_with_the_measurement() -> None:
    found = [measured(2, 10.0), measured(4, 12.0), measured(6, None, FAILED), measured(2, 30.0, dtype="float16")]
    found.append(measured(8, 1.0, replicas=None))
    chosen = picks(found, 20.0)
    assert [(pick.dtype, pick.batch, pick.smoothed_ms) for pick in chosen] == [("float32", 4, 12.0), ("float16", None, None)]
    assert [pick.steps for pick in picks([replace(found[0], iterations=7)], 20.0)] == [7]
    assert [each.notes for each in marked(found, chosen)] == [(), ("the largest batch within 20 ms (p95)",), (), (), ()]
    assert picks(found, None) == []
