"""What other programs took of a processor: how far it may have made two times differ, and when processes show that it did not."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gpudoctor.benchmark import comparison, others_effect

UNLIKE = others_effect.UNLIKE


def lost(share: float) -> float:
    return -math.log1p(-share)


def measured(times: list[float], shares: Any, share: float | None = None, backend: str = "cpu") -> dict[str, Any]:
    middle = math.exp(sum(map(math.log, times)) / len(times))
    taken = share if share is not None else sum(shares) / len(shares)
    return {
        "workload": "matmul", "task": "micro", "framework": "torch", "backend": backend, "dtype": "float32", "status": "ok",
        "latency_ms": {"median": middle, "ci95_percent": 1.0, "processes": times},
        "conditions": {"others_share": taken, "others_shares": shares},
    }  # fmt: skip


def reach(one: dict[str, Any], other: dict[str, Any]) -> float:
    return others_effect.reach((one, other), [each["latency_ms"]["processes"] for each in (one, other)])


FEW, MANY = [0.0, 0.3, 0.1, 0.5, 0.2], [0.1, 0.6, 0.3, 0.2, 0.7]


def test_times_that_follow_what_others_took_may_differ_by_all_of_it() -> None:
    one, other = (measured([10.0 / (1 - share) for share in shares], shares) for shares in (FEW, MANY))
    means = [lost(each["conditions"]["others_share"]) for each in (one, other)]
    assert reach(one, other) == pytest.approx(means[1] - means[0] + UNLIKE * means[1])


def test_times_that_do_not_follow_it_differ_by_little_of_it() -> None:
    steady = [10.0, 10.05, 9.95, 10.0, 10.02]
    one, other = measured(steady, FEW), measured(steady, MANY)
    without = [{**each, "conditions": {"others_share": each["conditions"]["others_share"]}} for each in (one, other)]
    assert reach(one, other) == pytest.approx(others_effect.LEAST_EFFECT * reach(without[0], without[1]))
    slower = measured([1.3 * time for time in steady], MANY)
    rows = [comparison.compare({"measurements": [slower]}, {"measurements": [each]}).rows[0] for each in (one, without[0])]
    assert [row.verdict for row in rows] == ["slower", "unknown"]


def test_a_load_that_no_process_saw_is_not_reckoned_with_the_slope_of_others() -> None:
    steady = [10.0, 10.05, 9.95, 10.0, 10.02]
    quiet, busy = measured(steady, [0.0, 0.01, 0.02, 0.0, 0.01]), measured(steady, [0.8, 0.81, 0.79, 0.8, 0.8])
    assert reach(quiet, busy) == pytest.approx(lost(0.8) - lost(0.008) + UNLIKE * lost(0.8), rel=0.01)


@pytest.mark.parametrize("shares", [None, [], "12345", [0.1, 0.2], [0.1, 0.2, "x", 0.4, 0.5], [2.0] * 5, [float("nan")] * 5, {"a": 1}])
def test_shares_that_are_none_count_in_full(shares: Any) -> None:
    one, other = measured([10.0] * 5, FEW), measured([10.0] * 5, shares, share=0.5)
    assert reach(one, other) == pytest.approx(lost(0.5) - lost(0.22) + UNLIKE * lost(0.5))


def test_what_others_took_of_the_processor_is_nothing_to_a_card() -> None:
    assert reach(measured([10.0] * 5, FEW, backend="cuda"), measured([10.0] * 5, MANY, backend="cuda")) == 0.0
    assert others_effect.share({"backend": "cpu", "conditions": {"others_share": 1.5}}) is None


def test_equal_loads_and_few_processes_show_no_slope() -> None:
    assert others_effect.effect([[(0.1, 2.0)] * 5, [(0.1, 2.1)] * 5], 0.0) == 1.0
    assert others_effect.effect([[(0.1, 2.0)], [(0.3, 2.0)]], 0.0) == 1.0 and others_effect.effect([[], [(0.1, 2.0)] * 9], 0.0) == 1.0
