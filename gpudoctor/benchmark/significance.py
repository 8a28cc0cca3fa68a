"""Whether one time is significantly shorter than another: Welch's t-test on logarithms of times. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

T975 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Student's 97.5 % points for 1, 2 ... 30 degrees of freedom."""
Z975 = 1.95996


class Ratio(Struct, frozen=True):
    """A ratio with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def significant(self) -> bool:
        return self.low > 1 or self.high < 1


def student(freedom: float) -> float:
    """The 97.5 % point of Student's t; between whole degrees of freedom, interpolated linearly in their inverse."""
    if freedom <= 1:
        return T975[0]
    low = math.floor(freedom)
    if low >= len(T975):
        return Z975 + (T975[-1] - Z975) * len(T975) / freedom
    high = T975[low] if low < len(T975) else Z975
    part = (1 / low - 1 / freedom) / (1 / low - 1 / (low + 1))
    return T975[low - 1] + (high - T975[low - 1]) * part


def ratio_of_times(without: Sequence[float], with_it: Sequence[float]) -> Ratio | None:
    """The geometric mean of `without` divided by that of `with_it`: above 1, the second is faster. None below two times on a side, or
    where one is not positive. Logarithms, since times of runs differ by factors rather than by amounts."""
    if min(len(without), len(with_it)) < 2 or min(*without, *with_it) <= 0:
        return None
    sides = [[math.log(value) for value in side] for side in (without, with_it)]
    means = [sum(side) / len(side) for side in sides]
    errors = [sum((value - mean) ** 2 for value in side) / (len(side) - 1) / len(side) for side, mean in zip(sides, means, strict=True)]
    whole = sum(errors)
    difference = means[0] - means[1]
    if whole <= 0:
        return Ratio(math.exp(difference), math.exp(difference), math.exp(difference))
    freedom = whole**2 / sum(error**2 / (len(side) - 1) for error, side in zip(errors, sides, strict=True))
    reach = student(freedom) * math.sqrt(whole)
    return Ratio(math.exp(difference), math.exp(difference - reach), math.exp(difference + reach))


WIDEST = 50.0
"""The largest half interval of a ratio's logarithm, so that its ends stay finite; wider ones carry no information either."""


def ratio_of_medians(first: float, first_percent: float, second: float, second_percent: float, between: float = 0.0) -> Ratio | None:
    """`first` by `second`, each with half its 95 % interval in per cent of it; the two are independent. `between`: per cent by which runs
    of the same may differ besides. None where one is not positive."""
    if first <= 0 or second <= 0:
        return None
    reach = min(math.hypot(first_percent, second_percent, between) / 100, WIDEST)
    value = first / second
    return Ratio(value, value * math.exp(-reach), value * math.exp(reach))
