"""Decides whether a worker that was stopped at its time limit hung, or only needed longer. Pure."""

from __future__ import annotations

import os

from msgspec.structs import replace

from gpudoctor.benchmark.workers import WorkerAnswer
from gpudoctor.model.measurement import OUT_OF_TIME, SKIPPED

ENDLESS, TIMES = 10.0, 4.0
"""Limits of processor time on all cores, in seconds and as a multiple of the expected time: no stage computes longer without a line."""


def without_blame(answer: WorkerAnswer, short: bool, expected: float = 0.0) -> WorkerAnswer:
    """The answer, not blamed for a hang if its time was `short`; unless it computed, without a line of output, for many times as long as
    all of it was `expected` to take (seconds): processor time does not depend on other programs."""
    if not (answer.late and short):
        return answer
    if expected and answer.worked > ENDLESS + TIMES * expected * (os.cpu_count() or 1):
        stage, silent, worked = answer.stage or "start", answer.silent, answer.worked
        words = f"no answer for {silent:.0f} s; it computed for {worked:.0f} s, all of it was expected to take {expected:.0f} s"
        return replace(answer, late=False, reason=f"{stage}: {words}")
    return replace(answer, status=SKIPPED, reason=f"{OUT_OF_TIME}; it was stopped at '{answer.stage or 'start'}'")
