"""Statistics that bad hosts do not move: median, MAD, the limit for many comparisons, and two groups distinguished from outliers.

Sources: the modified z-score 0.6745 (x - median) / MAD with its limit of 3.5 is that of Iglewicz and Hoaglin, 'How to Detect and Handle
Outliers' (1993). The correction for many comparisons is Bonferroni's (Dunn 1961). The MAD of n normal values is as exact as a standard
deviation of 0.37 n values (Rousseeuw and Croux 1993), so the tail in a small cohort is Student's with so many degrees of freedom. D is
that of Ashman, Bird and Zepf (1994).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cache

from msgspec import Struct

LEAST = 8
"""Fewer values have no reliable spread, and nothing is accused among them."""
LIMIT = 3.5
TO_SIGMA = 0.6745
"""The MAD of a normal distribution in units of its standard deviation."""
RESOLUTION = 0.001
"""Half of the values may be equal, and their MAD is 0. No measurement repeats better than this share of the median, so the MAD counts as
that of such a spread at least."""
FAMILY = 0.05
"""The chance that any healthy card of a run is accused by chance, over all cards and metrics, were the values of Student's distribution."""
EFFICIENCY = 0.37
MOST_FREEDOM = 20.0
"""Healthy cards have a longer lower tail than the normal distribution, in cohorts of any size: Student's, with so many degrees of
freedom."""
KIND_SHARE = 1 / 3
"""A minority with more than this share is a second group, a smaller one are outliers."""
CLEAN = 5.0
"""Ashman's D from which two groups are distinguished. A uniform distribution that is cut in the middle has 2.7, a normal one 2.3."""
_MOST_STEPS = 10


class Reference(Struct, frozen=True):
    """What is usual among values: their median and their MAD (never 0), and how many values they were taken of."""

    median: float
    mad: float
    samples: int

    def z(self, value: float) -> float:
        """The modified z-score."""
        return TO_SIGMA * (value - self.median) / self.mad


def middle(ordered: Sequence[float]) -> float:
    """The median of sorted values."""
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def reference(ordered: Sequence[float], below: float) -> Reference:
    """What is usual among sorted values, of which some may be far too low.

    `below` is the limit of the modified z-score (limit()). Slow values widen the lower side alone. So a first limit comes from the upper
    half of the values (the 'double' MAD), what lies below it is left out, and the median and the MAD of the rest are taken; this repeats
    until nothing more is left out. The plain MAD holds below one half of bad values, but with 30 % of them it is already twice as wide.
    Healthy cards are skewed too: some are slower, none is much faster. So of that rest the MAD of the lower half counts where it is wider.
    """
    kept = ordered
    for _ in range(_MOST_STEPS):
        center = middle(kept)
        upper = _at_least([value - center for value in kept[bisect_left(kept, center) :]], center)
        rest = kept[bisect_left(kept, center - below * upper / TO_SIGMA) :]
        if len(rest) == len(kept) or 2 * len(rest) < len(ordered):
            break
        kept = rest
    center = middle(kept)
    both = _at_least(sorted(abs(value - center) for value in kept), center)
    lower = middle(sorted(center - value for value in kept[: bisect_right(kept, center)]))
    return Reference(center, max(both, lower), len(kept))


def _at_least(deviations: Sequence[float], center: float) -> float:
    return max(middle(deviations), TO_SIGMA * RESOLUTION * abs(center))


def limit(samples: int, comparisons: int) -> float:
    """How far below 0 the modified z-score of an accused value is: at least LIMIT, and more where so many comparisons were made that chance
    alone would reach it, or where the spread of few samples is uncertain."""
    return _limit(samples if samples < 1000 else 1000 * (samples // 1000), 1 << max(comparisons - 1, 0).bit_length())


@cache
def _limit(samples: int, comparisons: int) -> float:
    freedom = min(max(1.0, EFFICIENCY * samples), MOST_FREEDOM)
    low, high = LIMIT, 1e6
    if tail(low, freedom) <= FAMILY / comparisons:
        return LIMIT
    for _ in range(100):
        half = math.sqrt(low * high)
        low, high = (half, high) if tail(half, freedom) > FAMILY / comparisons else (low, half)
    return high


def tail(t: float, freedom: float) -> float:
    """The probability that a value of Student's distribution is above t > 0."""
    return 0.5 * _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 300):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + term * d)
            c = 1 + term / c
            fraction *= c * d
        if abs(c * d - 1) < 1e-12:
            break
    return front * fraction


def split(ordered: Sequence[float], apart: float) -> int | None:
    """Where sorted values fall into two groups: the number of values in the lower one; None where they are one group.

    Each value belongs to the nearer one of two medians (2-medians, begun at the quartiles). Each group has more than KIND_SHARE of the
    values and LEAST of them, the medians lie `apart` (a share of the higher one) or more from each other, and D, of medians and MADs, is
    at least CLEAN.
    """
    count = len(ordered)
    least = max(LEAST, math.floor(count * KIND_SHARE) + 1)
    if 2 * least > count:
        return None
    low, high = ordered[count // 4], ordered[-count // 4]
    at = 0
    for _ in range(_MOST_STEPS):
        before, at = at, bisect_left(ordered, (low + high) / 2)
        if not 0 < at < count:
            return None
        low, high = middle(ordered[:at]), middle(ordered[at:])
        if at == before:
            break
    spreads = (
        _at_least(sorted(abs(value - center) for value in part), high) for part, center in ((ordered[:at], low), (ordered[at:], high))
    )
    spread = math.hypot(*spreads) / math.sqrt(2) / TO_SIGMA
    clean = least <= at <= count - least and high - low >= apart * high and high - low >= CLEAN * spread
    return at if clean else None
