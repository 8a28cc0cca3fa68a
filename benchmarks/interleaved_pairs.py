"""Two ways to measure the same thing, in turns, so that a machine that drifts wrongs neither."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Compared:
    """Medians of both; the median of the pairs' ratios, and its 95 % interval by order statistics (of fewer than 6 pairs: all)."""

    ours: float
    theirs: float
    ratio: float
    lowest: float
    highest: float


def compared(pairs: int, ours: Callable[[], float], theirs: Callable[[], float]) -> Compared:
    """Each pair begins with the other one than the pair before."""
    found: dict[str, list[float]] = {"ours": [], "theirs": []}
    for pair in range(pairs):
        for who, measure in (("ours", ours), ("theirs", theirs))[:: 1 if pair % 2 else -1]:
            found[who].append(measure())
    ratios = sorted(a / b for a, b in zip(found["ours"], found["theirs"], strict=True))
    cut = outside(pairs)
    middles = (statistics.median(found[who]) for who in ("ours", "theirs"))
    return Compared(*middles, statistics.median(ratios), ratios[cut], ratios[-1 - cut])


def outside(pairs: int) -> int:
    """How many of the sorted ratios may be left out at each end, so that the median lies between the others in 95 of 100 cases."""
    tail, left = 0.0, 0
    for place in range(pairs // 2):
        tail += math.comb(pairs, place) / 2**pairs
        if tail > 0.025:
            break
        left = place + 1
    return min(left, (pairs - 1) // 2)
