"""How much what other programs took of a processor may have made two times differ. Pure.

At most, a step lacked all that others took. Where processes of the two measurements ran beside more and beside less of it, they show how
much that mattered: a short step on one core hardly notices others, and a matrix product on all of them does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from msgspec import Struct

from gpudoctor.benchmark.significance import student
from gpudoctor.benchmark.worker_numbers import number_of

MOST_LOST = 0.95
"""Of a processor: a share beyond it is no measurement any more."""
UNLIKE = 0.25
"""Of what others took of a processor in a run, the part by which it may act otherwise on the next run, where they take as much."""
LEAST_EFFECT = 0.1
"""Of what one run lost more than the other, the part that is never explained: the others of two runs may be of different kinds."""
LEAST_FREEDOM, LEAST_RANGE = 5, 0.1
"""Degrees of freedom, and the least difference (a tenth of the processor) between two processes, that show how much others matter."""
Times = Sequence[float]


def share(measurement: Mapping[str, Any]) -> float | None:
    """What others took, of all cores of the processor that was measured; None where it is unknown, or another device was measured."""
    conditions = measurement.get("conditions")
    taken = number_of(conditions.get("others_share")) if isinstance(conditions, Mapping) and measurement.get("backend") == "cpu" else None
    return taken if taken is not None and 0 <= taken <= 1 else None


class Effect(Struct, frozen=True):
    """What others did to two times. `reach`: by how much the logarithms of the times may differ because of others, half a 95 % interval.
    `times`: those of the processes of each measurement, as they would be if others had taken as much beside each; None where it is not
    known how much that matters."""

    reach: float
    times: tuple[Times, Times] | None = None


def effect(measured: Sequence[Mapping[str, Any]], times: Sequence[Times]) -> Effect:
    """What others did to the two times that were `measured`. `times`: of the processes of each."""
    lost = [_logarithm(share(each) or 0.0) for each in measured]
    between = abs(lost[0] - lost[1])
    groups = [_beside(each, mine) for each, mine in zip(measured, times, strict=True)]
    found = slope(groups, between)
    if found is None:
        return Effect(between + UNLIKE * max(lost))
    low, error = found
    middle = fmean(x for group in groups for x, _ in group)
    one, other = ([math.exp(y - low * (x - middle)) for x, y in group] for group in groups)
    return Effect(max(error, LEAST_EFFECT) * between, (one, other))


def slope(groups: Sequence[Sequence[tuple[float, float]]], between: float) -> tuple[float, float] | None:
    """By how much the logarithm of a time grows with that of what was lost, from 0 to 1, and half the 95 % interval of that: the slope that
    is common to `groups` of such pairs (lost, time). None where no group covers a difference of `between`, or too few points say it."""
    freedom = sum(map(len, groups)) - len(groups) - 1
    widest = max((max(x for x, _ in group) - min(x for x, _ in group) for group in groups if group), default=0.0)
    if not all(groups) or freedom < LEAST_FREEDOM or widest < max(between, LEAST_RANGE):
        return None
    xx = xy = yy = 0.0
    for group in groups:
        middle_x, middle_y = (fmean(values) for values in zip(*group, strict=True))
        for x, y in group:
            xx, xy, yy = xx + (x - middle_x) ** 2, xy + (x - middle_x) * (y - middle_y), yy + (y - middle_y) ** 2
    error = math.sqrt(max(yy - xy * xy / xx, 0.0) / freedom / xx)
    return min(max(xy / xx, 0.0), 1.0), min(student(freedom) * error, 1.0)


def _beside(measurement: Mapping[str, Any], times: Times) -> list[tuple[float, float]]:
    """(what its process lost, its time) of each process, both as logarithms; empty where one of them is unknown."""
    conditions = measurement.get("conditions")
    listed = conditions.get("others_shares") if isinstance(conditions, Mapping) and share(measurement) is not None else None
    shares = [number_of(each) for each in listed] if isinstance(listed, list | tuple) else []
    known = [each for each in shares if each is not None and 0 <= each <= 1]
    if len(known) != len(shares) or len(known) != len(times):
        return []
    return [(_logarithm(taken), math.log(time)) for taken, time in zip(known, times, strict=True)]


def _logarithm(taken: float) -> float:
    """Of the factor by which others slowed work, where it lacked all that they took."""
    return -math.log1p(-min(taken, MOST_LOST))
