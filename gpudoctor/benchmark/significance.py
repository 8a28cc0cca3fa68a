"""Whether one time is significantly shorter than another: Welch's t-test on logarithms, corrected for several comparisons. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from msgspec import Struct

T975 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Student's 97.5 % points for 1, 2 ... 30 degrees of freedom."""
Z975 = 1.95996
CERTAIN = 1e9
"""Degrees of freedom of a variance that is known and not estimated."""
WIDEST = 50.0
"""The largest half interval of a ratio's logarithm, so that its ends stay finite; wider ones carry no information either."""
CHANCE = 0.05
POWER = 0.8
"""The probability with which a difference is found from which on it counts as one that would be seen."""


class Estimate(Struct, frozen=True):
    """A time, as the logarithm of its milliseconds; the variance of that logarithm, and the degrees of freedom of the variance."""

    log: float
    variance: float
    freedom: float = CERTAIN


class Ratio(Struct, frozen=True):
    """A ratio with its 95 % interval; `error` and `freedom` are those of its logarithm."""

    value: float
    low: float
    high: float
    error: float = 0.0
    freedom: float = CERTAIN

    @property
    def significant(self) -> bool:
        return self.low > 1 or self.high < 1

    def chance(self, relevant: float) -> float:
        """How probable so large a ratio is where the true one lies between 1/`relevant` and `relevant`."""
        distance, margin = abs(math.log(self.value)), math.log(relevant)
        if self.error <= 0:
            return 0.0 if distance > margin else 1.0
        return min(_beyond((distance - margin) / self.error, self.freedom) + _beyond((distance + margin) / self.error, self.freedom), 1.0)

    def seen_from(self, relevant: float, chance: float) -> float:
        """The least true ratio, above 1, whose `chance` a measurement with this error finds to be so small four times of five."""
        quantiles = _quantile(1 - chance / 2, self.freedom) + _quantile(POWER, self.freedom)
        return relevant * math.exp(min(self.error * quantiles, WIDEST))


def _quantile(probability: float, freedom: float) -> float:
    """Student's t below which it lies with this `probability`, at least 0.5: the inverse of `_beyond`."""
    z = NormalDist().inv_cdf(probability) * (8 * freedom + 3) / (8 * freedom + 1)
    return math.sqrt(freedom * math.expm1(min(z * z / freedom, WIDEST)))


def _beyond(t: float, freedom: float) -> float:
    """How probable it is that Student's t exceeds `t`: Wallace's approximation by the normal distribution (1959), right to 0.002."""
    z = math.copysign(math.sqrt(freedom * math.log1p(t * t / freedom)) * (8 * freedom + 1) / (8 * freedom + 3), t)
    return math.erfc(z / math.sqrt(2)) / 2


def discoveries(chances: Sequence[float], false: float = CHANCE) -> list[bool]:
    """Which of many hold (Benjamini and Hochberg): of those that do, a share of `false` is expected to be chance. Where nothing differs,
    `false` is the probability that any of them holds."""
    ordered = sorted(chances)
    least = max((chance for rank, chance in enumerate(ordered, 1) if chance <= false * rank / len(ordered)), default=-1.0)
    return [chance <= least for chance in chances]


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


def of_processes(times: Sequence[float]) -> Estimate:
    """The geometric mean of at least two positive times, each of a process of its own. Times of runs spread by factors, not by amounts."""
    logs = [math.log(time) for time in times]
    mean = sum(logs) / len(logs)
    return Estimate(mean, sum((log - mean) ** 2 for log in logs) / (len(logs) - 1) / len(logs), len(logs) - 1)


def ratio(first: Estimate, second: Estimate, more: float = 0.0) -> Ratio:
    """`first` by `second`, which are independent. `more`: variance of the logarithm that neither of them knows of."""
    whole, value = first.variance + second.variance + more, math.exp(first.log - second.log)
    if whole <= 0:
        return Ratio(value, value, value)
    freedom = whole**2 / (sum(each.variance**2 / each.freedom for each in (first, second)) + more**2 / CERTAIN)
    error = math.sqrt(whole)
    reach = min(student(freedom) * error, WIDEST)
    return Ratio(value, value * math.exp(-reach), value * math.exp(reach), error, freedom)


def ratio_of_times(without: Sequence[float], with_it: Sequence[float]) -> Ratio | None:
    """The geometric mean of `without` by that of `with_it`: above 1 the second is faster. None below two times on a side, or where one is
    not positive."""
    if min(len(without), len(with_it)) < 2 or min(*without, *with_it) <= 0:
        return None
    return ratio(of_processes(without), of_processes(with_it))
