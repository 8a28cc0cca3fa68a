"""How long one text may be worked on: matching is linear, but texts are as long as people like, and expressions are many."""

from __future__ import annotations

import time

SECONDS = 3.0
"""CPU seconds for one text. A log of 100 MB takes under one, once it is reduced to the lines that matter."""


class Deadline:
    """CPU seconds of this thread, so that a busy machine changes no answer; they begin when `over` is asked first.

    Who stops at it asks `over`; `passed` says later whether anybody had to.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._end: float | None = None
        self.passed = False

    def over(self) -> bool:
        now = time.thread_time()
        if self._end is None:
            self._end = now + self._seconds
        self.passed = self.passed or now >= self._end
        return self.passed
