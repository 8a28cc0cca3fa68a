"""The statistics hold with bad hosts, with equal values, and with many comparisons."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.fleet import robust


@pytest.mark.parametrize(
    ("t", "freedom", "probability"),
    [(1.0, 1, 0.25), (2.920, 2, 0.05), (4.541, 3, 0.01), (3.169, 10, 0.005), (1.6602, 100, 0.05), (4.753, 1e7, 1e-6)],
)
def test_the_tail_is_that_of_the_published_tables(t: float, freedom: float, probability: float) -> None:
    assert robust.tail(t, freedom) == pytest.approx(probability, rel=0.005)


def test_the_limit_grows_with_the_comparisons_and_with_uncertainty() -> None:
    assert robust.limit(1000, 1) == robust.LIMIT
    assert robust.LIMIT < robust.limit(1000, 10_000) < robust.limit(1000, 1_000_000) < 9
    assert robust.limit(8, 1000) > robust.limit(16, 1000) > robust.limit(64, 1000) == robust.limit(1000, 1000)


@pytest.mark.parametrize("count", [8, 16, 64])
def test_chance_accuses_no_more_than_stated(count: int) -> None:
    """With as many comparisons as values, at most FAMILY of all cohorts may have an accused value."""
    generator = random.Random(count)
    limit, accused = robust.limit(count, count), 0
    for _ in range(400):
        values = sorted(generator.gauss(100, 3) for _ in range(count))
        usual = robust.reference(values, limit)
        accused += usual.z(values[0]) <= -limit
    assert accused / 400 <= 1.6 * robust.FAMILY  # 20 are expected at most, 32 are beyond the 99 % interval of it


def test_thirty_per_cent_of_bad_values_do_not_move_what_is_usual() -> None:
    generator = random.Random(1)
    good = [generator.gauss(100, 0.8) for _ in range(700)]
    bad = [generator.gauss(90, 0.8) for _ in range(300)]
    usual = robust.reference(sorted(good + bad), robust.limit(1000, 1000))
    assert usual.median == pytest.approx(100, abs=0.15) and usual.mad / robust.TO_SIGMA == pytest.approx(0.8, rel=0.15)


@given(st.lists(st.floats(0, 1e300), min_size=1, max_size=50))
def test_any_values_have_a_reference(values: list[float]) -> None:
    usual = robust.reference(sorted(values), 3.5)
    assert min(values) <= usual.median <= max(values) and usual.samples > 0


def test_equal_values_have_a_spread_all_the_same() -> None:
    usual = robust.reference([90.0, *[100.0] * 20], robust.limit(21, 21))
    assert usual.median == 100 and -200 < usual.z(90) < -50 and usual.z(100) == 0


def test_two_groups_are_told_apart_and_one_is_not() -> None:
    generator = random.Random(2)
    for count in (16, 200):
        low, high = ([generator.gauss(center, 0.8) for _ in range(count // 2)] for center in (90, 100))
        assert robust.split(sorted(low + high), 0.035) == count // 2
        assert robust.split(sorted(high + [generator.gauss(100, 0.8) for _ in range(count // 2)]), 0.035) is None
        assert robust.split(sorted(generator.uniform(80, 100) for _ in range(count)), 0.035) is None
    assert robust.split([90.0] * 30 + [100.0] * 70, 0.035) is None  # a minority of less than a third are outliers
    assert robust.split([90.0] * 40 + [100.0] * 60, 0.035) == 40
    assert robust.split([98.0] * 40 + [100.0] * 60, 0.035) is None  # too near
