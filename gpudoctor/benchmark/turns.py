"""Which jobs share a process, and in which order devices and frameworks have their turn: what tells most of each comes first. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.job_plan import Budget, Job
from gpudoctor.benchmark.workload_list import FIRST

LEAST = 5.0
"""Seconds that one of the first turns gets in any case."""
HOPE = 2.0
"""Times the time that is left: what is expected to take longer is not begun."""


class Turn(Struct, frozen=True):
    """What one process does, one job after another."""

    jobs: tuple[Job, ...]

    @property
    def first(self) -> bool:
        """Whether each framework has it before anything else is measured: a small training, a small inference."""
        return self.jobs[0].place < FIRST


def in_order(plans: Sequence[tuple[MeasurementTarget, Sequence[Job]]], within_budget: bool) -> list[Turn]:
    """All turns. Where time is short they go round: the first of each target, then the next of each; else one target after another."""
    found = [turn for _, jobs in plans for turn in _shared(jobs)]
    return sorted(found, key=lambda turn: turn.jobs[0].place) if within_budget else found


def _shared(jobs: Sequence[Job]) -> Iterator[Turn]:
    """The small measurements of a device share a process, where the first of them stands; a network and a team have their own."""
    small = [job for job in jobs if not job.network and not job.peers]
    for job in jobs:
        if job.network or job.peers:
            yield Turn((job,))
        elif job is small[0]:
            yield Turn(tuple(small))


def seconds(turns: Sequence[Turn], budget: Budget) -> float:
    """What they take, as far as it is known."""
    return sum(budget.together(turn.jobs) for turn in turns)


def limit(turns: Sequence[Turn], budget: Budget, left: float) -> float:
    """Seconds for the first of `turns`, of those that are `left`. One of the first turns leaves the others of them what they need, and has
    its fair share in any case; a later one may take all."""
    if not turns[0].first:
        return left
    others = [turn for turn in turns[1:] if turn.first]
    return max(left - seconds(others, budget), left / (1 + len(others)), LEAST)


def fitting(turn: Turn, budget: Budget, left: float | None) -> tuple[tuple[Job, ...], tuple[Job, ...]]:
    """(jobs that fit into the time, those that do not). One of the first turns is begun where it might: it measures for a shorter time."""
    if left is None or (turn.first and left >= LEAST and budget.together(turn.jobs) <= HOPE * left):
        return turn.jobs, ()
    count = len(turn.jobs)
    while count and budget.together(turn.jobs[:count]) > left:
        count -= 1
    return turn.jobs[:count], turn.jobs[count:]


def request(jobs: Sequence[Job], seconds: float | None) -> dict[str, Any]:
    """What one worker reads. `seconds`: from its start, in which all of it has to be over."""
    each = [{**job.request(), "within": seconds} for job in jobs]
    return each[0] if len(each) == 1 else {"framework": jobs[0].target.framework, "jobs": each}
