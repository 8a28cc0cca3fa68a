"""Two ways to measure the same thing, in turns, so that a machine that drifts wrongs neither."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Compared:
    """Medians of both, their ratio, and the smallest and largest ratio of a pair."""

    ours: float
    theirs: float
    lowest: float
    highest: float

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs


def compared(pairs: int, ours: Callable[[], float], theirs: Callable[[], float]) -> Compared:
    """Each pair begins with the other one than the pair before."""
    found: dict[str, list[float]] = {"ours": [], "theirs": []}
    for pair in range(pairs):
        for who, measure in (("ours", ours), ("theirs", theirs))[:: 1 if pair % 2 else -1]:
            found[who].append(measure())
    ratios = sorted(a / b for a, b in zip(found["ours"], found["theirs"], strict=True))
    return Compared(statistics.median(found["ours"]), statistics.median(found["theirs"]), ratios[0], ratios[-1])
