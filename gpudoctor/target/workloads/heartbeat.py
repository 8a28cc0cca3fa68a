"""The lines that a worker prints while it steps: how far it is, and within how many seconds the next line has to come, so that a hang is
noticed.

The first step may take long (kernels are compiled), and so may the next two (graphs are optimised, algorithms are tried out); a later one
may not take many times longer than any before. Standard library, Python 3.8.
"""

import time

EVERY = 0.5
"""The seconds between two lines; a longer step makes it longer."""
LEAST, TIMES = 10.0, 30.0
"""A step counts as hung after LEAST seconds or TIMES the slowest step so far, whichever is longer."""
SETTLING, OF_FIRST = 3, 3.0
"""This number of steps after the first may each take OF_FIRST times as long as the first."""


class Heartbeat:
    def __init__(self, say):
        self._say, self._said, self._stated = say, None, 0.0
        self._first, self._slowest, self._later = 0.0, 0.0, 0

    def allowed(self):
        """The seconds within which the next line has to come."""
        limit = max(LEAST, TIMES * self._slowest)
        return max(limit, OF_FIRST * self._first) if self._later < SETTLING else limit

    def first(self, seconds):
        self._first = seconds
        self._report(1, seconds, seconds)

    def later(self, steps, seconds, middle, waited=None):
        """After a step of `seconds`, the last of `steps`; `middle`: the median so far; `waited`: what the sample took, where it was more
        steps than one."""
        self._later += 1
        self._slowest = max(self._slowest, seconds, waited or 0.0)
        if self._said is None or time.perf_counter() - self._said >= EVERY or self.allowed() < self._stated / 2:
            self._report(steps, seconds, middle)

    def _report(self, steps, seconds, middle):
        self._said, self._stated = time.perf_counter(), self.allowed()
        self._say("progress", iterations=steps, median_ms=middle * 1e3, step_ms=seconds * 1e3, next_within=self._stated)

    def over(self):
        """Ends the limit: what follows is no step."""
        self._say("progress")
