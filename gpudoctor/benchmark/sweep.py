"""Batches from 1 up to the end of memory: doubling, then halving the gap. Each in a process of its own, for after a failure of memory
the allocator, the driver or the device may be damaged; the worker is ended before the machine swaps."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from gpudoctor.benchmark import batch_choice
from gpudoctor.benchmark.worker_client import Ask, Line, Said
from gpudoctor.model.batch_sweep import FAILED, MEMORY, OK, SLOW, Sweep, SweepPoint

MOST = 4096
KNEE = 0.95
LONGEST = 20.0
"""Seconds of one step, above which larger batches are not tried."""
FINE = 8
"""The limit is found to an eighth of itself."""
JUMP = 2.0
"""The memory of a further item, as a multiple of the average item's, from which it counts as out of proportion."""
LEAST_JUMP = 500_000_000
"""The smallest such jump in bytes: allocators and libraries take smaller amounts at once."""
Progress = Callable[[SweepPoint], None]


def sweep(
    ask: Ask, request: Line, *, device: str, unit: str = "images/s", per_item: float = 1.0, max_latency: float | None = None,
    most: int = MOST, longest: float = LONGEST, capacity: int | None = None, progress: Progress | None = None,
) -> Sweep:  # fmt: skip
    """`request`: as a worker takes it, with any batch. `max_latency`: milliseconds. `per_item`: units in one item of the batch.
    `capacity`: bytes of the device's memory, where they are known."""
    points: dict[int, SweepPoint] = {}
    while (batch := next_batch(list(points.values()), most=most, max_latency=max_latency)) is not None:
        changed = {
            **request,
            "options": {**request.get("options", {}), "batch": batch},
            "verify": not points and bool(request.get("verify")),
        }
        points[batch] = point = measured(ask(changed, {}), batch, longest, per_item)
        if progress is not None:
            progress(point)
    return summed(list(points.values()), str(request["workload"]), unit, device, max_latency=max_latency, most=most, capacity=capacity)


def measured(answer: Said, batch: int, longest: float, per_item: float = 1.0) -> SweepPoint:
    """The point of a batch, from a worker's answer, which is validated."""
    latency = answer.result.get("latency_ms")
    median, p95, interval = (latency.get(name) if isinstance(latency, dict) else None for name in ("median", "p95", "ci95_percent"))
    if not answer.ok:
        return SweepPoint(batch=batch, status=MEMORY if answer.out_of_memory else FAILED, reason=answer.reason)
    if not isinstance(median, int | float) or not 0 < median < float("inf"):
        return SweepPoint(batch=batch, status=FAILED, reason="no time was reported")
    memory: Any = answer.result.get("memory_peak_bytes")
    return SweepPoint(
        batch=batch, status=SLOW if median > longest * 1000 else OK, latency_ms=float(median),
        p95_ms=float(p95) if isinstance(p95, int | float) and median <= p95 < float("inf") else None,
        throughput=batch * per_item * 1000 / median, ci95_percent=float(interval) if isinstance(interval, int | float) else None,
        memory_bytes=memory if isinstance(memory, int) else None,
    )  # fmt: skip


def next_batch(points: Sequence[SweepPoint], *, most: int = MOST, max_latency: float | None = None) -> int | None:
    """Doubles until a batch fails, is too slow, or `most` is reached; then halves the gap to the one that failed; then, with a latency to
    keep, the gap around that. None: all is known. Pure."""
    if not points:
        return 1
    good = [point.batch for point in points if point.status == OK]
    bad = [point.batch for point in points if point.status in (MEMORY, FAILED)]
    slow = [point.batch for point in points if point.status == SLOW]
    high = max(good, default=0)
    if not bad and not slow and high < most:
        return min(2 * high, most)
    if bad and not slow and high and (middle := _between(high, min(bad))) is not None:
        return middle
    if max_latency is None:
        return None
    latencies = batch_choice.smoothed(_latencies(points))
    within = [batch for batch, latency in latencies.items() if latency <= max_latency]
    beyond = [batch for batch, latency in latencies.items() if latency > max_latency]
    return _between(max(within), min(beyond)) if within and beyond and min(beyond) > max(within) else None


def _latencies(points: Sequence[SweepPoint]) -> list[tuple[int, float]]:
    """(batch, p95 of the latency in milliseconds; the median where there is no p95)."""
    return [(point.batch, point.p95_ms or point.latency_ms or 0.0) for point in points if point.measured]


def _between(low: int, high: int) -> int | None:
    """A batch between the two; None where they are close enough."""
    return (low + high) // 2 if high - low > max(1, low // FINE) else None


def summed(
    points: Sequence[SweepPoint], workload: str, unit: str, device: str, *, max_latency: float | None = None, most: int = MOST,
    capacity: int | None = None,
) -> Sweep:  # fmt: skip
    """The result of a sweep: its points in order, how it ended, and which batch is best."""
    ordered = tuple(sorted(points, key=lambda point: point.batch))
    ran = [point for point in ordered if point.measured]
    ended = "most"
    if any(point.status == MEMORY for point in ordered):
        ended = "memory"
    elif any(point.status == FAILED for point in ordered):
        ended = "failure"
    elif any(point.status == SLOW for point in ordered):
        ended = "time"
    chosen = None if max_latency is None else batch_choice.largest_within(_latencies(ran), max_latency)
    return Sweep(
        workload=workload, unit=unit, device=device, points=ordered, ended_by=ended,
        limit=max((point.batch for point in ran), default=None), knee=knee(ran), chosen=chosen,
        max_latency_ms=max_latency, volatile=volatile(ordered, device, capacity),
    )  # fmt: skip


def knee(points: Sequence[SweepPoint]) -> int | None:
    """The smallest batch with 95 % of the best throughput: beyond it, a larger batch only costs latency and memory."""
    best = max((point.throughput or 0 for point in points), default=0.0)
    return min((point.batch for point in points if (point.throughput or 0) >= KNEE * best > 0), default=None)


def volatile(points: Sequence[SweepPoint], device: str, capacity: int | None = None) -> str:
    """Memory that does not grow with the batch: a jump between two batches, or a failure long before the memory is full; '' if neither.

    DirectML is known for it: ResNet-50 on 16 GB took less than 3.6 GB at batch 4, barely ran at 6, and took all at 8 (2022).
    """
    known = [(point.batch, point.memory_bytes) for point in points if point.measured and point.memory_bytes]
    full = min((point.batch for point in points if point.status == MEMORY), default=None)
    said = ""
    for (before, small), (after, large) in itertools.pairwise(known):
        # one more item may cost as much as one costs so far, the weights included
        if large - small > max(JUMP * small / before * (after - before), LEAST_JUMP):
            said = f"memory jumps from {_gb(small)} at batch {before} to {_gb(large)} at batch {after}"
            break
    if not said and full is not None and capacity and known:
        last, taken = known[-1]
        if taken * full / last * JUMP < capacity:
            said = f"batch {last} takes {_gb(taken)} and batch {full} does not fit in {_gb(capacity)}"
    if device.startswith("dml") and (said or (full is not None and not known)):
        said = said or f"batch {full} does not fit, and the memory of smaller ones was not reported"
        said += "; DirectML's memory is known to be volatile: stay at half of the largest batch that ran"
    return said


def _gb(number: int) -> str:
    return f"{number / 1e9:.1f} GB"
