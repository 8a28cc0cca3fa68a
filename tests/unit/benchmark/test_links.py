"""Each two ranks are timed once, and a link that is much slower than the others is named."""

from __future__ import annotations

import importlib.util
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from gpudoctor import target
from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.links import links_of
from gpudoctor.benchmark.workers import WorkerAnswer
from gpudoctor.facts.measured_facts import records
from gpudoctor.model.measurement import Link, Measurement

SIZE = 1 << 26


def barrier() -> Any:
    place = Path(target.__file__).parent / "workloads" / "barrier.py"
    spec = importlib.util.spec_from_file_location("barrier_of_links", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8, 16, 17, 24])
def test_each_two_ranks_meet_once_and_no_rank_is_in_two_pairs_of_a_round(ranks: int) -> None:
    rounds = list(barrier().rounds_of_pairs(ranks))
    assert sorted(pair for pairs in rounds for pair in pairs) == list(combinations(range(ranks), 2))
    for pairs in rounds:
        assert len({rank for pair in pairs for rank in pair}) == 2 * len(pairs)
    assert all(len(pairs) == 1 for pairs in rounds) is (ranks <= 16)


def cards(count: int) -> list[MeasurementTarget]:
    return [MeasurementTarget(framework="torch", device=f"cuda:{number}", python="python", backend="cuda") for number in range(count)]


def answers(rates: dict[tuple[int, int], float]) -> list[WorkerAnswer]:
    """Rank 0 answers for all; the second trip is the fastest."""
    told = [{"ranks": list(ranks), "bytes": SIZE, "trip_s": [4 * SIZE / rate, 2 * SIZE / rate]} for ranks, rate in rates.items()]
    return [WorkerAnswer(status="ok", reason="", result={"links": told})]


def four(slow: float) -> dict[tuple[int, int], float]:
    return {ranks: slow if ranks == (1, 3) else 20e9 for ranks in combinations(range(4), 2)}


def test_the_fastest_trip_counts_and_a_pair_30_percent_below_the_median_is_slow() -> None:
    found = links_of(answers(four(14.0e9)), cards(4))
    assert [(link.ranks, link.slow) for link in found if link.slow] == [((1, 3), True)]
    assert found[0].bytes_per_s == pytest.approx(20e9) and found[0].devices == ("cuda:0", "cuda:1")
    assert not any(link.slow for link in links_of(answers(four(14.2e9)), cards(4)))


def test_a_single_pair_has_nothing_to_be_compared_with() -> None:
    (only,) = links_of(answers({(0, 1): 1e6}), cards(2))
    assert only.bytes_per_s == pytest.approx(1e6) and not only.slow


@pytest.mark.parametrize("told", [
    None, "links", [None], [{"ranks": [0, 9], "bytes": 8, "trip_s": [1.0]}], [{"ranks": [1, 0], "bytes": 8, "trip_s": [1.0]}],
    [{"ranks": ["0", "1"], "bytes": 8, "trip_s": [1.0]}], [{"ranks": [0, 1], "bytes": 8, "trip_s": []}],
    [{"ranks": [0, 1], "bytes": -8, "trip_s": [1.0]}], [{"ranks": [0, 1], "bytes": 8, "trip_s": ["nan", -1]}],
])  # fmt: skip
def test_what_is_no_time_of_a_pair_is_left_out(told: Any) -> None:
    assert links_of([WorkerAnswer(status="ok", reason="", result={"links": told})], cards(2)) == ()


def measured(*links: Link) -> Any:
    one = Measurement(
        workload="all_reduce", task="micro", framework="torch", backend="cuda", device="cuda:0,cuda:1", dtype="float32", links=links
    )
    return records([one])[0]["slow_links"]


def test_the_fact_names_the_slow_link_and_what_is_usual() -> None:
    assert measured(*links_of(answers(four(5e9)), cards(4))) == "cuda:1 and cuda:3 5 GB/s, where 20 GB/s is usual"
    assert measured(*links_of(answers(four(20e9)), cards(4))) is None
    assert "not probed" in str(measured())


def test_links_survive_the_way_through_json() -> None:
    one = Measurement(
        workload="all_reduce", task="micro", framework="torch", backend="cuda", device="cuda:0,cuda:1", dtype="float32", status="failed",
        reason="x", links=links_of(answers(four(5e9)), cards(4)),
    )  # fmt: skip
    assert Measurement.from_json(one.to_json()).links == one.links
    older = {name: value for name, value in one.to_json().items() if name != "links"}
    assert Measurement.from_json(older).links == ()
