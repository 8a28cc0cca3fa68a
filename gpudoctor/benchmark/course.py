"""The course of a measurement from its first step to its last: slower, in two speeds, with growing memory, with changing outcomes. Pure.

The worker says what it saw (target/workloads/measuring.py), nothing of it trusted; what follows from it is said here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from gpudoctor.benchmark.worker_numbers import count_of, number_of
from gpudoctor.model.measurement import Course, Growth, Rhythm
from gpudoctor.system.framework_child import one_line

MOST = 100_000
NEARLY_ALL = 0.9
"""The share of pairs (a step before, a step after) below which the two groups overlap."""
SLOW_STEP = 1.8
"""A step is slow from this multiple of the median on."""
TWO_SPEEDS = 1.3
"""The least gap between two groups of steps, as a factor."""
LEAST_STEPS = 12
BY_CHANCE = 1e-4
"""The chance of a rhythm in steps that are slow at random, below which it is one."""
GROWTH = {"process": 16 << 20, "device": 16 << 20, "addresses": 128 << 20}
"""Bytes over a run below which growth is none: buffers and lists of the measurement itself."""
RISES, FALLS, SAME_LOSS = 0.10, 1e-3, 1e-7
MANY = 3.0
ENOUGH = 10
"""The number of losses, of one batch that is learnt repeatedly, after which each network's loss has fallen by much more than FALLS."""
LEAST_LOSSES = 5


def course(result: Mapping[str, Any]) -> Course | None:
    """The course, from a worker's result; None where the result has no table `course`."""
    table = result.get("course")
    if not isinstance(table, Mapping):
        return None
    slices = [(row[0], row[2]) for row in _rows(table.get("slices"), 3)]
    outcomes = result.get("outcomes")
    outcomes = outcomes if isinstance(outcomes, Mapping) else {}
    losses = [row[1] for row in _rows(outcomes.get("losses"), 2)]
    warm_up = _numbers(table.get("warm_up_ms"))
    return Course(
        seconds=number_of(result.get("window_s")), slices_ms=tuple(ms for _, ms in slices), warm_up_ms=tuple(warm_up),
        slowdown=slowdown(slices, warm_up), rhythm=rhythm(_numbers(table.get("one_by_one_ms"))), growth=growth(table.get("memory")),
        outcomes_checked=count_of(outcomes.get("checked")), outcomes_of=count_of(outcomes.get("of")),
        largest_change=number_of(outcomes.get("largest_change")), first_loss=losses[0] if losses else None,
        last_loss=losses[-1] if losses else None,
    )  # fmt: skip


def slowdown(slices: Sequence[tuple[float, float]], warm_up: Sequence[float]) -> float | None:
    """The ratio of step times: after the largest change to before it, or the end of the window to the warm-up, whichever is larger.
    1.0 where the two groups of times overlap; None where there are too few steps.

    `slices`: (seconds at its end, median milliseconds) for each part of the window; `warm_up`: milliseconds of each step of the warm-up."""
    if len(slices) < 6:
        return None
    times = [ms for _, ms in slices]
    ratios = [_changed(times)]
    if len(warm_up) >= 5:
        ratios.append(_apart(warm_up[len(warm_up) // 2 :], times[-max(2, len(times) // 3) :]))
    known = [ratio for ratio in ratios if ratio is not None]
    return max(known) if known else None


def _changed(times: Sequence[float]) -> float | None:
    """The ratio of the two parts of a split that minimises the sum of distances from their medians. Each part has at least an eighth."""
    least = max(3, len(times) // 8)

    def spread(part: Sequence[float]) -> float:
        middle = median(part)
        return sum(abs(ms - middle) for ms in part)

    places = range(least, len(times) - least + 1)
    best = min(places, key=lambda place: spread(times[:place]) + spread(times[place:]))
    return _apart(times[:best], times[best:])


def _apart(before: Sequence[float], after: Sequence[float]) -> float | None:
    """The ratio of the medians, after / before; 1 where the two overlap by the share of pairs in which the second is larger (the
    Mann-Whitney U statistic); None where there are too few values."""
    if len(before) < 2 or len(after) < 2 or min(before) <= 0:
        return None
    ratio = median(after) / median(before)
    larger = sum(b > a for a in before for b in after) / (len(before) * len(after))
    return ratio if larger >= NEARLY_ALL or larger <= 1 - NEARLY_ALL else 1.0


def rhythm(steps: Sequence[float]) -> Rhythm | None:
    """Steps of two kinds: every n-th one is slow, or there are two speeds. None where there is one kind, or too few steps to decide.

    `steps`: milliseconds of single steps, in order."""
    if len(steps) < LEAST_STEPS or min(steps) <= 0:
        return None
    usual = median(steps)
    slow = {place for place, ms in enumerate(steps) if ms > SLOW_STEP * usual}
    for every in range(2, len(steps) // 3 + 1) if len(slow) >= 3 else ():
        for phase in range(every):
            members = set(range(phase, len(steps), every))
            if members <= slow and _beyond_chance(len(steps), len(members), len(slow - members)):
                return _two(steps, SLOW_STEP * usual, every)
    return _two_speeds(steps)


def _beyond_chance(steps: int, members: int, others: int) -> bool:
    """Whether slow steps fall on all `members` of a rhythm by more than chance, where `others` besides them are slow, as on a machine
    that has other work: the chance, of all rhythms that are tried, is that of a slow step elsewhere to the power of the members."""
    rhythms = steps * steps / 18
    return others == 0 or rhythms * (others / (steps - members)) ** members <= BY_CHANCE


def _two_speeds(steps: Sequence[float]) -> Rhythm | None:
    """Two speeds: the widest gap between sorted times (logarithms) separates two groups, each large, and much narrower than the gap."""
    ordered = [math.log(ms) for ms in sorted(steps)]
    least = max(4, math.ceil(0.1 * len(ordered)))
    gap, place = max(((ordered[place] - ordered[place - 1], place) for place in range(least, len(ordered) - least + 1)), default=(0.0, 0))
    if gap < math.log(TWO_SPEEDS):
        return None
    for group in (ordered[:place], ordered[place:]):
        quarter = len(group) // 4
        if group[-1 - quarter] - group[quarter] > gap / 2:
            return None
    found = _two(steps, math.exp(ordered[place - 1] + gap / 2), None)
    changes = sum((before > found.border_ms) != (after > found.border_ms) for before, after in pairwise(steps))
    return found if changes > 2 else None  # one change is a slowdown and is reported as such


def _two(steps: Sequence[float], border: float, every: int | None) -> Rhythm:
    slow, fast = [ms for ms in steps if ms > border], [ms for ms in steps if ms <= border]
    return Rhythm(
        fast_ms=median(fast), slow_ms=median(slow), slow_share=len(slow) / len(steps), every=every, border_ms=border,
    )  # fmt: skip


def growth(marks: Any) -> Growth | None:
    """Memory that grows with the steps, over their last two thirds, since allocations at the beginning are no growth. `marks`: rows of
    (step, bytes of the process, of its addresses, of the device)."""
    rows = [row for row in marks if isinstance(row, Sequence) and len(row) == 4] if isinstance(marks, list) else []
    for place, name in ((3, "device"), (1, "process"), (2, "addresses")):
        points = [(number_of(row[0]), number_of(row[place])) for row in rows[:MOST]]
        known = [(step, size) for step, size in points if step is not None and size is not None]
        found = _grows(known[len(known) // 3 :], GROWTH[name])
        if found is not None:
            return Growth(bytes_per_step=found[0], bytes=found[1], of=name)
    return None


def _grows(points: Sequence[tuple[float, float]], least: float) -> tuple[float, float] | None:
    """(bytes for each step, bytes in all) where memory grows by at least `least` bytes, close to a straight line, and in each quarter."""
    if len(points) < 5 or points[-1][0] <= points[0][0] or points[-1][1] - points[0][1] < least:
        return None
    whole = points[-1][1] - points[0][1]
    quarters = [points[(len(points) - 1) * part // 4][1] for part in range(5)]
    if any(after - before < whole / 10 for before, after in pairwise(quarters)):
        return None
    steps, sizes = [step for step, _ in points], [size for _, size in points]
    middle, mean = sum(steps) / len(steps), sum(sizes) / len(sizes)
    both = sum((step - middle) * (size - mean) for step, size in points)
    square = sum((step - middle) ** 2 for step in steps)
    if both**2 < 0.8 * square * sum((size - mean) ** 2 for size in sizes):
        return None
    return both / square, whole


def faults(result: Mapping[str, Any]) -> str:
    """What is wrong with the outcomes of the timed steps; '' where nothing is."""
    table = result.get("outcomes")
    if not isinstance(table, Mapping):
        return ""
    loss = table.get("kind") == "loss"
    outcome = "the loss" if loss else "the result"
    bad = table.get("bad")
    if isinstance(bad, Mapping):
        place = f"{outcome} of step {count_of(bad.get('step')) or 'an unknown number'}"
        change, tolerance = number_of(bad.get("change")), number_of(table.get("tolerance"))
        if bad.get("what") == "changed":
            difference = "" if change is None else f" by {change:.2g}{'' if tolerance is None else f', {tolerance:.2g} is allowed'}"
            return f"{place} differs from that of the first{difference}, though the work is the same"
        if bad.get("what") == "shape":
            return f"{place} has another number of values than that of the first"
        return f"{place} is {'not a number (NaN)' if bad.get('what') == 'nan' else one_line(bad.get('what')) or 'wrong'}"
    return _of_losses(_rows(table.get("losses"), 2)) if loss else ""


def _of_losses(losses: Sequence[Sequence[float]]) -> str:
    if len(losses) < LEAST_LOSSES:
        return ""
    values = [loss for _, loss in losses]
    first, last = values[0], median(values[-max(1, len(values) // 3) :])
    if first > 0 and max(values) - min(values) <= SAME_LOSS * first:
        return f"the loss stays {first:.4g} from step {losses[0][0]:.0f} to step {losses[-1][0]:.0f}: nothing is learnt"
    never = min(values[1:]) >= first and last > first * (1 + RISES)  # a loss that fell before may vary: dropout, a high learning rate
    if first > 0 and (never or last > first * MANY):
        return f"the loss rises from {first:.4g} at step {losses[0][0]:.0f} to {last:.4g} at step {losses[-1][0]:.0f}"
    if first > 0 and min(values[1:]) >= first * (1 - FALLS) and len(values) >= ENOUGH:
        return f"the loss never falls: {first:.4g} at step {losses[0][0]:.0f}, {last:.4g} at step {losses[-1][0]:.0f}"
    return ""


def _rows(value: Any, length: int) -> list[list[float]]:
    """Rows of `length` finite numbers; anything else is left out."""
    found = []
    for row in value[:MOST] if isinstance(value, list) else ():
        numbers = _numbers(row)
        if isinstance(row, list) and len(row) == length == len(numbers):
            found.append(numbers)
    return found


def _numbers(value: Any) -> list[float]:
    return [number for each in (value[:MOST] if isinstance(value, list) else ()) if (number := number_of(each)) is not None]
