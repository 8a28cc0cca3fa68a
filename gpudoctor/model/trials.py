"""Known fixes that can be tried, and the result of trying one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpudoctor.model.condition import Condition

HELPS, HARMS, SAME, UNCLEAR, WRONG, FAILED = "helps", "harms", "no difference", "unclear", "wrong", "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A row of gpudoctor/data/trials.toml: where a fix applies, and what it sets."""

    id: str
    title: str
    why: str
    applies: Condition
    advice: str
    source: str
    date: str
    environment: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    threads: str = ""
    """physical: as many threads as the processor has cores; empty: unchanged."""
    compile: str = ""
    measures: str = "step"
    """What is compared: step, or first (the duration of the first step)."""
    prime: bool = False
    rounds: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """The comparison with and without a fix. `speed_up` is the time without it divided by the time with it; `low` and `high` are the
    ends of its 95 % confidence interval. Times are in milliseconds per step (or of the first step)."""

    id: str
    title: str
    workload: str
    outcome: str
    """helps, harms, no difference, unclear (the runs vary too much), wrong or failed."""
    speed_up: float | None = None
    low: float | None = None
    high: float | None = None
    without_ms: float | None = None
    with_ms: float | None = None
    runs: int = 0
    """The number of runs on each side."""
    recommended: bool = False
    reason: str = ""
    advice: str = ""
    measures: str = "step"
    environment: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    date: str = ""
