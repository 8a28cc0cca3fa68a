"""What other programs took of a processor: how far it may have made two times differ, and when processes show that it did not."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from gpudoctor.benchmark import comparison, others_effect
from gpudoctor.model.comparison import ComparisonRow

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


def effect(one: dict[str, Any], other: dict[str, Any]) -> others_effect.Effect:
    return others_effect.effect((one, other), [each["latency_ms"]["processes"] for each in (one, other)])


def row(here: dict[str, Any], there: dict[str, Any]) -> ComparisonRow:
    return comparison.compare({"measurements": [here]}, {"measurements": [there]}).rows[0]


FEW, MANY = [0.0, 0.3, 0.1, 0.5, 0.2], [0.1, 0.6, 0.3, 0.2, 0.7]
STEADY = [10.0, 10.05, 9.95, 10.0, 10.02]


def test_times_that_follow_what_others_took_are_compared_as_if_they_had_taken_as_much() -> None:
    one, other = (measured([10.0 / (1 - share) for share in shares], shares) for shares in (FEW, MANY))
    found = effect(one, other)
    assert found.times is not None and [*found.times[0], *found.times[1]] == pytest.approx([found.times[0][0]] * 10)
    assert found.reach == pytest.approx(others_effect.LEAST_EFFECT * (lost(0.38) - lost(0.22)))
    same = row(one, other)
    assert same.speed == pytest.approx(1.0) and same.there_ms > 1.2 * same.here_ms and same.verdict == "same"
    assert same.differs == (
        f"other programs took 22 % of the processor here, 38 % there: the speed is adjusted for it; "
        f"the plain ratio is {same.there_ms / same.here_ms:.2f}",
    )  # fmt: skip
    slower = measured([1.25 * time for time in other["latency_ms"]["processes"]], MANY)
    assert row(slower, one).verdict == "slower" and row(slower, one).speed == pytest.approx(0.8)


def test_times_that_do_not_follow_it_are_left_as_they_are() -> None:
    slower, usual = measured([1.3 * time for time in STEADY], MANY), measured(STEADY, FEW)
    found = row(slower, usual)
    assert found.verdict == "slower" and found.differs == () and found.speed == pytest.approx(1 / 1.3, rel=0.01)
    without = {**usual, "conditions": {"others_share": 0.22}}
    assert row(slower, without).verdict == "unknown", "nothing shows that others did not matter"


def test_times_never_grow_by_more_than_what_was_lost_nor_shrink_with_it() -> None:
    square, against = ([10.0 * (1 - share) ** power for share in FEW] for power in (-2, 1))
    for times, power in ((square, 1), (against, 0)):
        found = effect(measured(times, FEW), measured(times, FEW)).times
        middle = sum(lost(share) for share in FEW) / 5
        assert found is not None and found[0][0] == pytest.approx(times[0] * math.exp(power * middle))


def test_a_load_that_no_process_of_a_run_saw_change_counts_in_full() -> None:
    quiet, busy = measured(STEADY, [0.0, 0.01, 0.02, 0.0, 0.01]), measured(STEADY, [0.8, 0.81, 0.79, 0.8, 0.8])
    found = effect(quiet, busy)
    assert found.times is None and found.reach == pytest.approx(lost(0.8) - lost(0.008) + UNLIKE * lost(0.8), rel=0.01)
    few = effect(measured(STEADY[:3], FEW[:3]), measured(STEADY[:3], MANY[:3]))
    assert few.times is None, "six times are too few for a slope"


@pytest.mark.parametrize("shares", [None, [], "12345", [0.1, 0.2], [0.1, 0.2, "x", 0.4, 0.5], [2.0] * 5, [float("nan")] * 5, {"a": 1}])
def test_shares_that_are_none_count_in_full(shares: Any) -> None:
    found = effect(measured([10.0] * 5, FEW), measured([10.0] * 5, shares, share=0.5))
    assert found.times is None and found.reach == pytest.approx(lost(0.5) - lost(0.22) + UNLIKE * lost(0.5))


def test_what_others_took_of_the_processor_is_nothing_to_a_card() -> None:
    cards = [measured([10.0] * 5, shares, backend="cuda") for shares in (FEW, MANY)]
    assert effect(*cards) == others_effect.Effect(0.0)
    assert others_effect.share({"backend": "cpu", "conditions": {"others_share": 1.5}}) is None


def beside_others(source: random.Random, middle: float, load: float, power: float) -> dict[str, Any]:
    """Six rows of five processes: others take about `load` of the processor, and slow the work by a `power` of that."""
    rows = []
    for batch in range(1, 7):
        shares = [min(max(load + source.gauss(0, 0.12), 0.0), 0.9) for _ in range(5)]
        times = [middle * (1 - share) ** -power * math.exp(source.gauss(0, 0.05)) for share in shares]
        rows.append({**measured(times, shares), "batch": batch})
    return {"measurements": rows}


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_beside_changing_loads_identical_runs_are_the_same_and_slower_ones_are_found(power: float) -> None:
    source, alarms, found, pairs = random.Random(7), 0, 0, 60
    for _ in range(pairs):
        loads = [source.uniform(0.2, 0.6) for _ in range(2)]
        usual, same, slower = (beside_others(source, middle, loads[middle != 10.0], power) for middle in (10.0, 10.001, 15.0))
        alarms += sum(each.verdict in ("slower", "faster") for each in comparison.compare(same, usual).rows)
        found += sum(each.verdict == "slower" for each in comparison.compare(slower, usual).rows)
    assert alarms <= 0.05 * 6 * pairs and found > 0.6 * 6 * pairs
