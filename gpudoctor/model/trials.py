"""Known fixes as something to try, and what the try showed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpudoctor.model.condition import Condition

HELPS, HARMS, SAME, UNCLEAR, WRONG, FAILED = "helps", "harms", "no difference", "unclear", "wrong", "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A row of gpudoctor/data/trials.toml: what it is for, and what is set."""

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
    """physical: as many as there are cores"""
    compile: str = ""
    measures: str = "step"
    """step, or first: the time of the first step"""
    prime: bool = False
    rounds: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """`speed_up`: time without by time with; `low`, `high`: its 95 % interval. Milliseconds are of one step (or of the first)."""

    id: str
    title: str
    workload: str
    outcome: str
    """helps, harms, no difference, unclear (the runs differ too much from each other), wrong, failed"""
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
