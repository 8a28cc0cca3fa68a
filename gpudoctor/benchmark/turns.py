"""Which jobs share a process, and the order of devices and frameworks: the most informative measurement of each comes first. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.job_plan import Budget, Job
from gpudoctor.benchmark.workload_list import FIRST

LEAST = 5.0
"""The least seconds for one of the first turns (Turn.first)."""
HOPE = 2.0
"""A turn is not begun if it is expected to take more than this many times the time that is left."""


class Turn(Struct, frozen=True):
    """The jobs of one process, one after another."""

    jobs: tuple[Job, ...]

    @property
    def first(self) -> bool:
        """Whether the turn is one of those that every framework gets before all others: a small training, a small inference."""
        return self.jobs[0].place < FIRST


def in_order(plans: Sequence[tuple[MeasurementTarget, Sequence[Job]]], within_budget: bool) -> list[Turn]:
    """All turns. Within a budget, targets alternate: the first turn of each, then the second of each. Else one target follows another."""
    found = [turn for _, jobs in plans for turn in _shared(jobs)]
    return sorted(found, key=lambda turn: turn.jobs[0].place) if within_budget else found


def _shared(jobs: Sequence[Job]) -> Iterator[Turn]:
    """Turns of one target. Its small measurements share a process, in the place of the first; a network and a team have their own."""
    small = [job for job in jobs if not job.network and not job.peers]
    for job in jobs:
        if job.network or job.peers:
            yield Turn((job,))
        elif job is small[0]:
            yield Turn(tuple(small))


def seconds(turns: Sequence[Turn], budget: Budget) -> float:
    """The expected seconds of these turns together."""
    return sum(budget.together(turn.jobs) for turn in turns)


def limit(turns: Sequence[Turn], budget: Budget, left: float) -> float:
    """Seconds for the next turn, of those that are `left`. One of the first turns (Turn.first) leaves the others their time, and has
    its fair share in any case; a later turn may take all."""
    if not turns[0].first:
        return left
    others = [turn for turn in turns[1:] if turn.first]
    return max(left - seconds(others, budget), left / (1 + len(others)), LEAST)


def fitting(turn: Turn, budget: Budget, left: float | None) -> tuple[tuple[Job, ...], tuple[Job, ...]]:
    """(jobs that fit into the time, those that do not). One of the first turns begins even if time is short, and then measures less."""
    if left is None or (turn.first and left >= LEAST and budget.together(turn.jobs) <= HOPE * left):
        return turn.jobs, ()
    count = len(turn.jobs)
    while count and budget.together(turn.jobs[:count]) > left:
        count -= 1
    return turn.jobs[:count], turn.jobs[count:]


def request(jobs: Sequence[Job], seconds: float | None) -> dict[str, Any]:
    """The request to one worker. `seconds`: after its start, within which it has to end."""
    requests = [{**job.request(), "within": seconds} for job in jobs]
    return requests[0] if len(requests) == 1 else {"framework": jobs[0].target.framework, "jobs": requests}
