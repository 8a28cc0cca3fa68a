"""A small fleet of recorded machines with planted faults: all are found and nobody else is accused. benchmarks/fleet.py does it with
thousands."""

from __future__ import annotations

from collections import Counter

import pytest
from synthetic_fleet import Bases, Fleet, bases

from benchmarks.fleet import by_the_mean, merged, score


@pytest.fixture(scope="module")
def of_recordings() -> Bases:
    return bases()


@pytest.mark.parametrize("seed", range(3))
def test_every_planted_fault_is_found_and_nobody_else_is_accused(seed: int, of_recordings: Bases) -> None:
    fleet, counts = Fleet(300, seed, of_recordings), Counter()
    shown, rows = merged(fleet)
    score(fleet, shown, counts)
    by_the_mean(fleet, rows, counts)
    for what in ("silent", "failed", "refused", "stale", "faults", "drift", "lost cards", "cohorts of two groups"):
        assert counts[f"{what} found"] == counts[f"{what} planted"], what
    assert counts["slow cards confirmed"] == counts["slow cards planted"] > 15
    assert counts["healthy cards suspect"] <= 1  # of 2,000, some with 3.5 % below the median by chance; one run has no consequence
    accused = ("healthy cards confirmed", "healthy hosts unusable", "healthy hosts odd")
    assert [name for name in (*accused, "cohorts of two groups elsewhere") if counts[name]] == []
    # where 30 % of a cohort are slow, mean and deviation move with them
    assert counts["mean - 2 sigma: slow cards"] < counts["slow cards planted"] / 2
