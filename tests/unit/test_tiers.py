"""The daily tier of tests/real: nothing is left out for good, and no family is missing on any day."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import SEED, WEEK, Place, SeedError, daily, day_of, today, turn

pytest_plugins = ["pytester"]
DAY = 740_000
MEMBERS = st.sets(st.text(max_size=4), min_size=1, max_size=60)


@given(MEMBERS, st.integers(0, 10**6))
def test_every_member_has_its_turn_within_a_week_and_none_twice(members: set[str], day: int) -> None:
    length = min(len(members), WEEK)
    week = [turn("a family", members, day + number) for number in range(length)]
    assert all(week), "a day without a member"
    assert sorted(member for each in week for member in each) == sorted(members)
    assert turn("a family", members, day + length) == week[0]


@given(MEMBERS)
def test_the_days_of_a_family_are_alike(members: set[str]) -> None:
    sizes = {len(turn("a family", members, day)) for day in range(DAY, DAY + WEEK)}
    assert max(sizes) - min(sizes) <= 1


def test_families_of_the_same_size_do_not_go_in_step() -> None:
    families = ("killed: pip", "killed: venv", "the keyboard", "axe")
    assert len({tuple(turn(family, "abcdefg", DAY)) for family in families}) > 1


def places() -> Mapping[str, Place]:
    made = {f"plain{number}": Place() for number in range(3)}
    made |= {f"backend{number}": Place("backend", member) for number, member in enumerate(("torch", "jax", "torch", "openvino"))}
    return {**made, "long": Place(full_only=True), "alone": Place("alone", "alone")}


def test_a_day_takes_what_stands_outside_all_families_and_whole_members() -> None:
    seen = set()
    for day in range(DAY, DAY + 3):
        chosen = daily(places(), day)
        assert {"plain0", "plain1", "plain2", "alone"} <= chosen and "long" not in chosen
        assert ("backend0" in chosen) == ("backend2" in chosen), "half a member"
        seen |= chosen
    assert seen == set(places()) - {"long"}


def test_a_seed_is_a_date_or_a_number() -> None:
    assert day_of("2026-11-24") == day_of("2026-11-23") + 1
    assert day_of("12") == 12 and day_of(today()) > DAY - 10_000
    for wrong in ("", "tomorrow", "-1", "2026-13-01"):
        with pytest.raises(SeedError, match=SEED):
            day_of(wrong)


def collected(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, seed: str, *options: str) -> str:
    monkeypatch.setenv(SEED, seed)
    here = Path(__file__).resolve().parents[2]
    argv = ["--rootdir", str(here), "-c", str(here / "pyproject.toml"), "-p", "no:cacheprovider", "--collect-only", *options]
    said = pytester.runpytest_inprocess(str(here / "tests" / "real" / "test_pip_kind.py"), *argv)
    return f"{said.stdout}\n{said.stderr}"


def test_the_tests_of_a_day_are_counted_and_the_others_deselected(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (collected(pytester, monkeypatch, seed, "--tier=daily") for seed in ("2026-11-23", "2026-11-24"))
    assert "daily tier: 11 of 26 tests; seed 2026-11-23\n" in first and "11/26 tests collected (15 deselected)" in first
    whole, kills = collected(pytester, monkeypatch, "2026-11-23"), "::test_killed_resumed_and_undone["
    assert "daily tier" not in whole and "26 tests collected" in whole
    days = [{line for line in text.splitlines() if kills in line} for text in (first, second, whole)]
    assert len(days[0]) == len(days[1]) == 10 and days[0] | days[1] == days[2]


def test_a_wrong_seed_is_a_usage_error(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    assert f"ERROR: {SEED}='soon' is neither a date" in collected(pytester, monkeypatch, "soon", "--tier=daily")
