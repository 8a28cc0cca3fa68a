"""Known fixes that can be tried, and the result of trying one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from gpudoctor.model.condition import Condition

HELPS, HARMS, SAME, UNCLEAR, WRONG, FAILED = "helps", "harms", "no difference", "unclear", "wrong", "failed"
NOT_POSSIBLE, BY_HAND = "not possible", "by hand"


class Trial(Struct, frozen=True, kw_only=True):
    """A row of gpudoctor/data/trials.toml: where a fix applies, and what it sets or removes."""

    id: str
    title: str
    why: str
    applies: Condition
    costs: str
    """What else the fix changes: accuracy, memory, the duration of the first step, latency."""
    source: str
    date: str
    read: str = ""
    """When its sources were last opened and compared with the row."""
    unread: str = ""
    """The sources that were not opened then."""
    advice: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    """Variables that are removed where they are set."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    threads: str = ""
    """physical: as many threads as there are cores; all: as many as there are logical processors."""
    dtype: str = ""
    batch: int = 1
    """The factor by which the batch is multiplied."""
    compile: str = ""
    measures: str = "step"
    """What is compared: step, or first (the duration of the first step)."""
    prime: bool = False
    rounds: bool = False
    repairs: bool = False
    """The fix may make a workload run that fails without it."""
    by_hand: str = ""
    """Why the fix cannot be tried automatically; a person can apply it."""


class TrialResult(Struct, frozen=True, kw_only=True):
    """The comparison with and without a fix. `speed_up` is the time without it divided by the time with it; `low` and `high` are the
    ends of its 95 % confidence interval. Times are in milliseconds per step (or of the first step)."""

    id: str
    title: str
    workload: str
    outcome: str
    """helps, harms, no difference, unclear (the runs vary too much), wrong, failed, not possible or by hand."""
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
    costs: str = ""
    measures: str = "step"
    environment: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    """The fixes that were applied on both sides."""
    source: str = ""
    date: str = ""
