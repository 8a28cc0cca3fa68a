"""The time limit for one text: matching is linear, but texts can be of any length, and there are many expressions."""

from __future__ import annotations

import time

SECONDS = 3.0
"""CPU seconds for one text. A log of 100 MB takes under one, once it is reduced to the lines that matter."""


class Deadline:
    """A limit in CPU seconds of this thread, so that a busy machine changes no answer. The time begins with the first use of `over`.

    Readers stop where `over()` is true; `passed` keeps whether it ever was.
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
