"""What is said of a measurement's course: slower, two speeds, growing memory, outcomes that change; and nothing of it where it is noise."""

from __future__ import annotations

import random
from typing import Any

import pytest

from gpudoctor.benchmark.course import course, faults, growth, rhythm, slowdown
from gpudoctor.model.measurement import Course


def even(values: list[float]) -> list[tuple[float, float]]:
    return [(float(place + 1), ms) for place, ms in enumerate(values)]


def noisy(count: int, seed: int, spread: float = 0.2) -> list[float]:
    chance = random.Random(seed)
    return [10 * chance.lognormvariate(0, spread) for _ in range(count)]


# --- slower


def test_three_times_slower_after_a_while_is_seen_wherever_it_begins() -> None:
    for before in (5, 10, 20, 26, 35):
        assert slowdown(even([10.0] * before + [30.0] * (40 - before)), []) == pytest.approx(3.0)
    assert slowdown(even([30.0] * 40), [10.0] * 20) == pytest.approx(3.0)


def test_a_run_that_gets_faster_is_below_one_and_too_few_parts_tell_nothing() -> None:
    assert slowdown(even([30.0] * 20 + [10.0] * 20), []) == pytest.approx(1 / 3)
    assert slowdown(even([10.0, 30.0, 30.0]), []) is None


def test_noise_is_no_slowdown() -> None:
    found = [slowdown(even(noisy(40, seed)), noisy(20, seed + 1000)) for seed in range(300)]
    assert sum(ratio != 1.0 for ratio in found) <= 3 and max(ratio or 0 for ratio in found) < 1.6


# --- two speeds


@pytest.mark.parametrize("every", [3, 7, 10, 25])
def test_each_so_manieth_step_is_slow(every: int) -> None:
    steps = [10 + 40 * ((place + 2) % every == 0) + noise / 20 for place, noise in enumerate(noisy(120, every))]
    found = rhythm(steps)
    assert found is not None and found.every == every and found.slow_ms / found.fast_ms == pytest.approx(5, rel=0.1)
    assert f"one step in {every} takes" in found.words


def test_a_rhythm_is_seen_beside_steps_that_other_work_slows() -> None:
    chance = random.Random(3)
    for seed in range(100):
        steps = [value * (5 if place % 10 == 4 else 2.5 if chance.random() < 0.2 else 1) for place, value in enumerate(noisy(200, seed))]
        found = rhythm(steps)
        assert found is not None and found.every == 10


def test_steps_that_are_slow_at_random_have_no_rhythm() -> None:
    chance = random.Random(4)
    for seed in range(200):
        found = rhythm([value * (1 + 2 * (chance.random() < 0.3)) for value in noisy(120, seed)])
        assert found is None or found.every is None


def test_two_speeds_without_an_order() -> None:
    chance = random.Random(1)
    found = rhythm([value * (1.6 if chance.random() < 0.4 else 1.0) for value in noisy(200, 2, 0.02)])
    assert found is not None and found.every is None and found.slow_share == pytest.approx(0.4, abs=0.1)
    assert found.words.startswith("steps have two speeds: ")


def test_noise_has_one_speed_and_a_few_slow_steps_are_no_rhythm() -> None:
    assert sum(rhythm(noisy(200, seed, spread)) is not None for seed in range(100) for spread in (0.02, 0.2, 0.5)) <= 3
    steps = noisy(200, 5, 0.05)
    for place in (3, 50, 77, 160):
        steps[place] *= 6
    assert rhythm(steps) is None


def test_a_slowdown_is_no_second_speed() -> None:
    assert rhythm([10.0 + place / 100 for place in range(50)] + [30.0 + place / 100 for place in range(50)]) is None


# --- memory


def marks(sizes: list[float], place: int = 1) -> list[list[Any]]:
    return [[step, *(size if column == place else None for column in (1, 2, 3))] for step, size in enumerate(sizes)]


@pytest.mark.parametrize(("place", "name"), [(1, "memory grows"), (2, "address space grows"), (3, "memory of the device grows")])
def test_what_grows_with_the_steps_is_said_by_the_step(place: int, name: str) -> None:
    found = growth(marks([(1 << 30) + step * (64 << 20) for step in range(30)], place))
    assert found is not None and found.bytes_per_step == pytest.approx(64 << 20) and found.words.startswith(f"{name} by 64 MiB a step")


def test_memory_that_is_taken_at_the_begin_or_at_once_does_not_grow() -> None:
    assert growth(marks([min(step, 10) * 1e8 for step in range(60)])) is None
    assert growth(marks([1e9] * 30 + [2e9] * 30)) is None
    assert growth(marks([1e9 + 1e8 * (step % 2) for step in range(60)])) is None
    assert growth(marks([1e9 + step * 1000 for step in range(60)])) is None
    assert growth([[1, "x"], None, [1, 2, 3, 4]]) is None and growth(None) is None


# --- outcomes


def outcomes(**table: Any) -> dict[str, Any]:
    return {"outcomes": {"kind": "same", "checked": 40, "of": 100, "bad": None, "losses": [], "tolerance": 1e-3, **table}}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"bad": {"step": 41, "what": "nan"}}, "the result of step 41 is not a number (NaN)"),
        ({"bad": {"step": 41, "what": "infinite"}, "kind": "loss"}, "the loss of step 41 is infinite"),
        ({"bad": {"step": 41, "what": "changed", "change": 0.01}}, "step 41 differs from that of the first by 0.01, 0.001 is allowed"),
        ({"bad": {"step": 41, "what": "changed", "change": None}}, "step 41 differs from that of the first, though"),
        ({"bad": {"step": 41, "what": "shape"}}, "another number of values"),
        ({"bad": {"step": "x", "what": 5}}, "the result of step an unknown number is wrong"),
        ({"kind": "loss", "losses": [[step, 7.0] for step in range(1, 9)]}, "the loss stays 7 from step 1 to step 8: nothing is learnt"),
        ({"kind": "loss", "losses": [[step, 7.0 + step] for step in range(1, 9)]}, "the loss rises from 8 at step 1 to 14.5 at step 8"),
    ],
)  # fmt: skip
def test_each_fault_names_its_step(table: dict[str, Any], words: str) -> None:
    assert words in faults(outcomes(**table))


def test_a_loss_that_never_falls_is_a_fault() -> None:
    losses = [[step, 6.9 + 0.001 * (step % 3)] for step in range(12)]
    assert faults(outcomes(kind="loss", losses=losses)).startswith("the loss never falls: 6.9 at step 0")


def test_a_loss_that_falls_or_wavers_is_no_fault() -> None:
    swings = [7.09, 6.15, 4.45, 3.0, 9.0, 11.6, 11.0, 10.4]
    assert faults(outcomes(kind="loss", losses=[[step, loss] for step, loss in enumerate(swings)])) == ""
    assert faults(outcomes(kind="loss", losses=[[step, 7.0 / step] for step in range(1, 40)])) == ""
    assert faults(outcomes(kind="loss", losses=[[step, 6.9 + 0.05 * (step % 3)] for step in range(1, 10)])) == ""
    assert faults(outcomes(kind="loss", losses=[[1, 7.0], [2, 7.0]])) == "" and faults(outcomes(kind="loss", losses=[[1, 0.0]] * 9)) == ""
    assert faults({}) == "" and faults({"outcomes": [1]}) == "" and faults(outcomes()) == ""


def test_the_course_of_a_worker_that_says_nonsense() -> None:
    assert course({}) is None and course({"course": 3}) is None
    found = course({"course": {"slices": [[1, 2], "x", [1, 2, "3"]], "one_by_one_ms": {}, "memory": 7}, "outcomes": 5})
    assert found is not None and found.slices_ms == () and found.slowdown is None and found.rhythm is None and found.growth is None


def test_a_slow_down_while_others_took_more_is_theirs() -> None:
    alone, beside = (Course(slowdown=3.0, others_grew=grew) for grew in (False, True))
    assert (alone.concern, beside.concern) == ("slows", "")
    assert beside.words == ("a step takes 3.0 times as long at the end as at the begin, while other programs took more",)
    assert Course(slowdown=3.0).concern == "slows", "where nobody watched it is not known to be theirs"
