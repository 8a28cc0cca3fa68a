"""Whether a worker still answers, which distinguishes a hang from a run that is merely late. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudoctor.benchmark.worker_numbers import not_negative_number

GRACE = 12.0
"""Seconds beyond its limit that a worker gets, to distinguish a late step, which is no fault, from a hang."""
LONGEST_PROMISE = 1e6
"""The largest promise in seconds; a larger number is not from our worker."""


class Pulse:
    """Whether a worker still answers: a line of progress states within how many seconds the next one comes (target/workloads/heartbeat.py).

    Where its time is over while that promise still holds, it gets the rest of it, at most GRACE seconds: then it either answers, and was
    merely late, or it hangs."""

    def __init__(self, limit: float, idle: float | None = None) -> None:
        self.began = 0.0
        self._limit, self._idle = limit, idle
        self._last, self._step = 0.0, 0.0
        self._within: float | None = None
        self._before: float | None = None
        self.worked = 0.0
        """Ticks of processor time since its last word, as far as they were seen."""
        self.silent = 0.0
        """Seconds since the last line."""
        self._ticks: tuple[float, float] | None = None
        """When it was last seen to take processor time, and how much it had taken."""
        self.late = False

    def beat(self, now: float, table: Mapping[str, Any]) -> None:
        """Notes a line of the worker. `table`: the line, with its stage. Any line but one of progress cancels the promise."""
        within, step = table.get("next_within"), table.get("step_ms")
        promised = _duration(within) if table["stage"] == "progress" else None
        self._last, self._within, self._ticks = now, promised or None, None
        self._step = (_duration(step) or 0.0) / 1000
        self._before, self.worked = None, 0.0

    def missing(self, now: float, ticks: float | None, done: bool) -> str:
        """Why the worker must be ended; '' while it may go on. `ticks`: the processor time that it has used; `done`: its result is here."""
        self.silent = silent = now - self._last
        if ticks is not None:
            self._before = ticks if self._before is None else self._before
            self.worked = ticks - self._before
        if not done and self._within is not None and silent >= self._within:
            return f"no answer for {silent:.0f} s; the step before took {seconds_text(self._step)}"
        if not done and ticks is not None and self._idle is not None:
            if self._ticks is None or ticks != self._ticks[1]:
                self._ticks = now, ticks
            elif now - self._ticks[0] >= self._idle:
                return f"no answer for {silent:.0f} s, and it took no processor time for {now - self._ticks[0]:.0f} s"
        over = now - self.began - self._limit
        if over < 0 or (not done and self._within is not None and self._last - self.began < self._limit and over < GRACE):
            return ""
        self.late = True
        return f"no end after {now - self.began:.0f} s"


def seconds_text(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds >= 0.1 else f"{seconds * 1e3:.2g} ms"


def _duration(value: Any) -> float | None:
    """The value, if it is a valid number of seconds or milliseconds; else None."""
    found = not_negative_number(value)
    return found if found is not None and found < LONGEST_PROMISE else None
