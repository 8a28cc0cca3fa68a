"""What became of the operators of real models on a device."""

from __future__ import annotations

from dataclasses import dataclass

VERDICTS = ("native", "cpu-fallback", "wrong", "missing", "crash", "skipped")
"""From good to bad; skipped says nothing of the backend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorResult:
    operator: str
    group: str
    dtype: str
    direction: str
    """forward or backward"""
    verdict: str
    max_relative_error: float | None = None
    tolerance: float | None = None
    note: str = ""

    @property
    def key(self) -> str:
        return f"{self.operator}/{self.dtype}/{self.direction}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """All results of one device. `incomplete`: why some operators were not asked; '' where all were."""

    framework: str
    device: str
    framework_version: str | None = None
    device_name: str | None = None
    results: tuple[OperatorResult, ...] = ()
    incomplete: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorChange:
    """One operator whose verdict is not that of an earlier run. None: it was not asked there."""

    key: str
    before: str | None
    now: str | None
    note: str = ""
