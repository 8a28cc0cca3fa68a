"""The measurements of two reports, compared."""

from __future__ import annotations

from msgspec import Struct

MOST_NAMED = 4
LEAST_PROCESSES = 3
"""So many processes of a measurement show how far processes lie apart."""


class ComparisonRow(Struct, frozen=True, kw_only=True):
    """A measurement that both reports have. `speed` is the time there divided by the time here: above 1, here is faster. `low` and
    `high` are the ends of its 95 % confidence interval."""

    workload: str
    task: str
    framework: str
    dtype: str
    batch: int | None
    here_ms: float
    there_ms: float
    speed: float
    low: float | None = None
    high: float | None = None
    verdict: str = "same"
    """faster, slower, same (no significant difference) or unknown (no interval, or one that is too wide). All rows are judged together, so
    that an interval that just leaves out 1 does not decide."""
    statistic: str = "median"
    """What of the steps is compared: the median, or p10, their 10th percentile."""
    seen_from: float | None = None
    """The ratio of times that would be called different in four of five such comparisons: a smaller one is not seen."""
    processes: int = 1
    """The number of processes that measured it, of the side that has fewer. Below 3 the error is taken from a table."""
    differs: tuple[str, ...] = ()
    """The conditions of the measurement that differ: 'compile none here, default there'."""


class Difference(Struct, frozen=True, kw_only=True):
    """A property that differs between the two machines."""

    name: str
    here: str
    there: str


class Comparison(Struct, frozen=True, kw_only=True):
    """All measurements of two reports, and the differences between their machines."""

    here: str
    there: str
    """The names of the two reports, such as a host and a date."""
    rows: tuple[ComparisonRow, ...]
    only_here: tuple[str, ...] = ()
    only_there: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    """Measurements that are ok in one report and failed in the other."""
    machines: tuple[Difference, ...] = ()
    speed: float | None = None
    """The geometric mean of the speeds of all rows; None without a row."""

    @property
    def words(self) -> str:
        """What the intervals of rows rest on that too few processes measured; '' where there are none."""
        few = [f"{row.workload} {row.task}" for row in self.rows if row.processes < LEAST_PROCESSES]
        names = list(dict.fromkeys(few))
        named = ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
        which = "all of them" if len(few) == len(self.rows) else f"{len(few)} of {len(self.rows)} rows ({named})"
        table = "how well such work repeats is taken from a table there, so that only a large difference is seen"
        return f"Measured in one or two processes: {which}; {table}." if few else ""
