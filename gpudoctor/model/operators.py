"""The results of testing the operators of common models on a device."""

from __future__ import annotations

from msgspec import Struct

VERDICTS = ("native", "cpu-fallback", "wrong", "missing", "crash", "skipped")
"""The verdicts from good to bad. skipped says nothing about the backend."""


class OperatorResult(Struct, frozen=True, kw_only=True):
    """The result of one operator in one dtype and direction."""

    operator: str
    group: str
    dtype: str
    direction: str
    """forward or backward."""
    verdict: str
    max_relative_error: float | None = None
    tolerance: float | None = None
    note: str = ""

    @property
    def key(self) -> str:
        return f"{self.operator}/{self.dtype}/{self.direction}"


class Coverage(Struct, frozen=True, kw_only=True):
    """All results of one device. `incomplete` says why some operators were not tested; empty where all were."""

    framework: str
    device: str
    framework_version: str | None = None
    device_name: str | None = None
    results: tuple[OperatorResult, ...] = ()
    incomplete: str = ""


class OperatorChange(Struct, frozen=True, kw_only=True):
    """An operator whose verdict differs from that of an earlier run; None where the operator was not tested in that run."""

    key: str
    before: str | None
    now: str | None
    note: str = ""
