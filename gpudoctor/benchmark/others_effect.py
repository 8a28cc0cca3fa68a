"""How much what other programs took of a processor may have made two times differ. Pure.

At most, a step lacked all that others took. Where processes of the two measurements ran beside more and beside less of it, they show how
much that mattered: a short step on one core hardly notices others, and a matrix product on all of them does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from gpudoctor.benchmark.significance import student
from gpudoctor.benchmark.worker_numbers import number_of

MOST_LOST = 0.95
"""Of a processor: a share beyond it is no measurement any more."""
UNLIKE = 0.25
"""Of what others took of a processor in a run, the part by which it may act otherwise on the next run, where they take as much."""
LEAST_EFFECT = 0.1
"""Of what others took, the part that is not excluded by processes that did not notice it: the next run's others may be of another kind."""
Times = Sequence[float]


def share(measurement: Mapping[str, Any]) -> float | None:
    """What others took, of all cores of the processor that was measured; None where it is unknown, or another device was measured."""
    conditions = measurement.get("conditions")
    taken = number_of(conditions.get("others_share")) if isinstance(conditions, Mapping) and measurement.get("backend") == "cpu" else None
    return taken if taken is not None and 0 <= taken <= 1 else None


def reach(measured: Sequence[Mapping[str, Any]], times: Sequence[Times]) -> float:
    """By how much the logarithms of two times may differ because of others, half a 95 % interval. `times`: of the processes of each."""
    lost = [_logarithm(share(each) or 0.0) for each in measured]
    between = abs(lost[0] - lost[1])
    return effect([_beside(each, mine) for each, mine in zip(measured, times, strict=True)], between) * (between + UNLIKE * max(lost))


def effect(groups: Sequence[Sequence[tuple[float, float]]], between: float) -> float:
    """The most by which the logarithm of a time may grow with that of what was lost, from LEAST_EFFECT to 1: the upper end of the 95 %
    interval of the slope that is common to `groups` of such pairs (lost, time). 1 where no group covers a difference of `between`."""
    freedom = sum(map(len, groups)) - len(groups) - 1
    if not all(groups) or freedom < 1 or max(max(x for x, _ in group) - min(x for x, _ in group) for group in groups) < between:
        return 1.0
    xx = xy = yy = 0.0
    for group in groups:
        middle_x, middle_y = (fmean(values) for values in zip(*group, strict=True))
        for x, y in group:
            xx, xy, yy = xx + (x - middle_x) ** 2, xy + (x - middle_x) * (y - middle_y), yy + (y - middle_y) ** 2
    if xx < 1e-6:
        return 1.0
    slope = xy / xx
    error = math.sqrt(max(yy - slope * xy, 0.0) / freedom / xx)
    return min(max(slope + student(freedom) * error, LEAST_EFFECT), 1.0)


def _beside(measurement: Mapping[str, Any], times: Times) -> list[tuple[float, float]]:
    """(what its process lost, its time) of each process, both as logarithms; empty where one of them is unknown."""
    conditions = measurement.get("conditions")
    listed = conditions.get("others_shares") if isinstance(conditions, Mapping) else None
    shares = [number_of(each) for each in listed] if isinstance(listed, list | tuple) else []
    known = [each for each in shares if each is not None and 0 <= each <= 1]
    if len(known) != len(shares) or len(known) != len(times):
        return []
    return [(_logarithm(taken), math.log(time)) for taken, time in zip(known, times, strict=True)]


def _logarithm(taken: float) -> float:
    """Of the factor by which others slowed work, where it lacked all that they took."""
    return -math.log1p(-min(taken, MOST_LOST))
