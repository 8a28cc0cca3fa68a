"""What a worker finds out while it steps: sampling over the whole time, outcomes that change, memory that grows, a promise to answer."""

from __future__ import annotations

import math
from typing import Any

import pytest
from fake_work import FakeClock, FakeWork, measured

import heartbeat  # isort: skip
import memory_use  # isort: skip
import outcomes  # isort: skip
import timing  # isort: skip


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    return FakeClock().install(monkeypatch)


def test_sampling_lasts_as_long_as_was_asked_however_steady_the_steps_are(clock: FakeClock) -> None:
    found, _ = measured(FakeWork(clock, lambda step, now: 0.01), duration=60.0)
    assert found["window_s"] == pytest.approx(60.0, abs=0.02) and abs(found["iterations"] - 6000) <= 1
    assert found["busy_s"] == pytest.approx(60.0, abs=0.02) and len(found["course"]["slices"]) == 40


def test_a_warm_up_of_equal_steps_still_takes_its_least_time(clock: FakeClock) -> None:
    warm = timing.warm_up(FakeWork(clock, lambda step, now: 0.001).step, lambda: None, 5.0)
    assert warm.steady and sum(warm.times) >= timing.SHORTEST_WARM_UP - 0.002
    warm = timing.warm_up(FakeWork(clock, lambda step, now: 0.001).step, lambda: None, 0.1)
    assert sum(warm.times) <= 0.1


def test_the_mean_is_work_over_time_and_not_the_median(clock: FakeClock) -> None:
    found, _ = measured(FakeWork(clock, lambda step, now: 0.05 if step % 10 == 0 else 0.01), duration=14.0)
    assert found["latency_ms"]["median"] == pytest.approx(10.0) and found["latency_ms"]["mean"] == pytest.approx(14.0, rel=0.01)
    assert found["busy_s"] / found["iterations"] == pytest.approx(0.014, rel=0.01)


def test_short_steps_are_timed_one_by_one_as_well(clock: FakeClock) -> None:
    found, _ = measured(FakeWork(clock, lambda step, now: 5e-4 if step % 10 == 0 else 1e-4), duration=1.0)
    singles = found["course"]["one_by_one_ms"]
    assert sum(value > 0.4 for value in singles) == pytest.approx(len(singles) / 10, abs=1) and len(singles) == 400


def test_a_day_of_samples_is_thinned_and_still_counted(clock: FakeClock) -> None:
    samples = timing.sample(FakeWork(clock, lambda step, now: 0.01).step, lambda: None, 0.01, 3000.0)
    assert samples.steps == pytest.approx(300_000, abs=2) and samples.busy == pytest.approx(3000.0, rel=1e-4)
    assert timing.MOST_KEPT / 4 < len(samples.times) < timing.MOST_KEPT and samples.at[-1] == pytest.approx(3000.0, rel=0.01)


def test_steps_that_drift_have_a_wider_interval_than_steps_in_any_order(clock: FakeClock) -> None:
    drifting = [0.01 + 0.00001 * place for place in range(200)]
    mixed = [drifting[(place * 73) % 200] for place in range(200)]
    assert timing.interval_percent(drifting) > 2 * timing.interval_percent(mixed)


# --- outcomes


def test_a_result_that_changes_is_found_with_its_step_and_ends_the_measurement(clock: FakeClock) -> None:
    work = FakeWork(clock, lambda step, now: 0.01, lambda step: {"same": [1.0, -2.0 if step < 130 else -2.1]})
    found, _ = measured(work)
    assert found["outcomes"]["bad"] == {"step": 130, "what": "changed", "change": pytest.approx(0.05)}
    assert work.steps < 140 and found["outcomes"]["kind"] == "same"


@pytest.mark.parametrize(("value", "what"), [(math.nan, "nan"), (math.inf, "infinite")])
@pytest.mark.parametrize("kind", ["same", "loss"])
def test_a_result_that_is_not_finite_is_found_at_its_step(clock: FakeClock, value: float, what: str, kind: str) -> None:
    def outcome(step: int) -> Any:
        number = value if step >= 90 else 1.0
        return {"same": [1.0, number]} if kind == "same" else {"loss": number}

    found, _ = measured(FakeWork(clock, lambda step, now: 0.01, outcome))
    assert found["outcomes"]["bad"] == {"step": 90, "what": what}


def test_differences_within_the_tolerance_of_the_check_are_no_change(clock: FakeClock) -> None:
    def work() -> FakeWork:
        return FakeWork(clock, lambda step, now: 0.01, lambda step: {"same": [1.0 + 0.005 * (step % 2)]})

    assert measured(work())[0]["outcomes"]["bad"]["what"] == "changed"
    found, _ = measured(work(), rows=[{"repeat_tolerance": 0.01}, {"repeat_tolerance": None}, "odd"])
    assert found["outcomes"]["bad"] is None and found["outcomes"]["largest_change"] == pytest.approx(0.005, rel=0.01)
    assert measured(work(), dtype="bfloat16")[0]["outcomes"]["bad"] is None


def test_looking_costs_a_small_part_of_the_time_and_says_how_often_it_looked(clock: FakeClock) -> None:
    work = FakeWork(clock, lambda step, now: 0.01, lambda step: {"loss": 7.0 - step / 1000}, looking=0.01)
    found, _ = measured(work, duration=10.0)
    looked = found["outcomes"]["checked"]
    assert looked * 0.01 <= 2 * outcomes.SHARE * found["busy_s"] and looked > 20
    assert found["outcomes"]["losses"][0][0] == 1 and found["outcomes"]["losses"][-1][0] == found["outcomes"]["of"]


def test_no_step_is_looked_at_twice(clock: FakeClock) -> None:
    found, _ = measured(FakeWork(clock, lambda step, now: 0.1, lambda step: {"loss": 7.0 / step}))
    steps = [step for step, _ in found["outcomes"]["losses"]]
    assert steps == sorted(set(steps)) and found["outcomes"]["checked"] == found["outcomes"]["of"] == len(steps)


def test_work_without_an_outcome_has_none(clock: FakeClock) -> None:
    assert measured(FakeWork(clock, lambda step, now: 0.01))[0]["outcomes"] is None


def test_a_result_of_zeros_may_stay_and_may_not_change(clock: FakeClock) -> None:
    assert measured(FakeWork(clock, lambda step, now: 0.01, lambda step: {"same": [0.0]}))[0]["outcomes"]["bad"] is None
    found, _ = measured(FakeWork(clock, lambda step, now: 0.01, lambda step: {"same": [0.0 if step < 50 else 1e-9]}))
    assert found["outcomes"]["bad"] == {"step": 50, "what": "changed", "change": None}


# --- memory


def test_sampling_ends_where_memory_runs_away_with_the_steps(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    work = FakeWork(clock, lambda step, now: 0.02)
    monkeypatch.setattr(memory_use, "of_process", lambda: (0, 0))
    monkeypatch.setattr(memory_use.Marks.__init__, "__defaults__", (None, lambda: ((1 << 30) + work.steps * (64 << 20), 1 << 40)))
    found, _ = measured(work, duration=60.0)
    assert work.steps < 40
    first, last = found["course"]["memory"][0], found["course"]["memory"][-1]
    assert (last[1] - first[1]) / (last[0] - first[0]) == 64 << 20


def test_memory_that_is_taken_once_does_not_end_it() -> None:
    marks = memory_use.Marks(of=lambda: (sizes.pop(0), None))
    sizes = [1 << 30] * 10 + [4 << 30] * 30
    for place in range(40):
        marks.look(float(place), place)
    assert not marks.runs_away() and len(marks.found) == 40


def test_this_process_has_a_size() -> None:
    resident, _ = memory_use.of_process()
    assert resident is not None and resident > 1 << 20


# --- answers


def test_each_word_states_when_the_next_one_comes(clock: FakeClock) -> None:
    _, said = measured(FakeWork(clock, lambda step, now: 0.6 if step > 1 else 30.0), duration=5.0)
    words = [table for stage, table in said if stage == "progress"]
    assert words[0]["next_within"] == 90.0 and words[0]["step_ms"] == 30_000
    assert words[-2]["next_within"] == pytest.approx(18.0) and "next_within" not in words[-1]


def test_a_long_first_step_allows_long_steps_for_a_short_while_only(clock: FakeClock) -> None:
    _, said = measured(FakeWork(clock, lambda step, now: 0.01 if step > 1 else 40.0))
    limits = [table["next_within"] for stage, table in said if stage == "progress" and "next_within" in table]
    assert limits[0] == 120.0 and limits[1] == heartbeat.LEAST and set(limits[1:]) == {heartbeat.LEAST}


def test_words_come_twice_a_second_however_short_the_steps_are(clock: FakeClock) -> None:
    _, said = measured(FakeWork(clock, lambda step, now: 1e-4), duration=5.0)
    assert 8 <= sum(stage == "progress" for stage, _ in said) <= 20
