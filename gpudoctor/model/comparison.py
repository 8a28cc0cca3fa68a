"""Two reports of measurements side by side."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """One measurement that both reports have. `speed`: time there by time here, above 1 is faster here; `low`, `high`: its 95 %."""

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
    """faster, slower, same (no significant difference), unknown (no interval, or one too wide to tell)"""
    differs: tuple[str, ...] = ()
    """What was not the same of this measurement: 'compile none here, default there'."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A property of the two machines."""

    name: str
    here: str
    there: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    here: str
    there: str
    """What the two are called: a host and a date."""
    rows: tuple[ComparisonRow, ...]
    only_here: tuple[str, ...] = ()
    only_there: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    """What was ok in one and failed in the other."""
    machines: tuple[Difference, ...] = ()
    speed: float | None = None
    """Geometric mean over all rows."""
