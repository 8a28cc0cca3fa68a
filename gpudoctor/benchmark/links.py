"""The links between the ranks of a collective, and which of them are slower than the others. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.worker_numbers import positive_number
from gpudoctor.benchmark.workers import WorkerAnswer
from gpudoctor.model.measurement import Link

SLOW = 0.7
"""The share of the median of all pairs below which a link is slow."""
LEAST = 3
"""Pairs, fewer of which have no usual one."""


def links_of(answers: Sequence[WorkerAnswer], peers: Sequence[MeasurementTarget]) -> tuple[Link, ...]:
    """The links that the ranks timed, in the order of their ranks. `peers`: the device of each rank."""
    found = sorted((link for answer in answers for link in _timed(answer, peers)), key=lambda link: link.ranks)
    if len(found) < LEAST:
        return tuple(found)
    usual = statistics.median(link.bytes_per_s for link in found)
    return tuple(replace(link, slow=link.bytes_per_s <= SLOW * usual) for link in found)


def _timed(answer: WorkerAnswer, peers: Sequence[MeasurementTarget]) -> Iterator[Link]:
    entries = answer.result.get("links")
    for entry in entries if isinstance(entries, list) else ():
        ranks, trips = (entry.get("ranks"), entry.get("trip_s")) if isinstance(entry, Mapping) else (None, None)
        if not isinstance(ranks, list) or not isinstance(trips, list) or len(ranks) != 2:
            continue
        first, second = ranks
        known = all(isinstance(rank, int) and not isinstance(rank, bool) and 0 <= rank < len(peers) for rank in ranks)
        size, times = positive_number(entry.get("bytes")), [time for trip in trips if (time := positive_number(trip)) is not None]
        if known and first < second and size is not None and times:
            devices = (peers[first].device, peers[second].device)
            yield Link(ranks=(first, second), devices=devices, bytes_per_s=2 * size / min(times))
