"""Throughput, latency and memory as functions of the batch size."""

from __future__ import annotations

from msgspec import Struct

OK, MEMORY, SLOW, FAILED = "ok", "memory", "slow", "failed"


class SweepPoint(Struct, frozen=True, kw_only=True):
    """The measurement of one batch size."""

    batch: int
    status: str
    """ok; memory: the batch does not fit; slow: ok, but a step takes longer than the sweep may wait; failed."""
    latency_ms: float | None = None
    """The median latency of a batch."""
    p95_ms: float | None = None
    ci95_percent: float | None = None
    throughput: float | None = None
    """The throughput in items per second."""
    memory_bytes: int | None = None
    reason: str = ""

    @property
    def measured(self) -> bool:
        return self.status in (OK, SLOW) and self.throughput is not None


class Sweep(Struct, frozen=True, kw_only=True):
    """The points of one sweep, in the order of the batches.

    `limit` is the largest batch that ran. `ended_by` says why the sweep ended: memory, time, failure, or most (the largest batch of the
    sweep).
    """

    workload: str
    unit: str
    device: str
    points: tuple[SweepPoint, ...]
    limit: int | None
    ended_by: str
    knee: int | None
    """The smallest batch with 95 % of the best throughput."""
    chosen: int | None = None
    """The largest batch whose p95 is within `max_latency_ms`, after smoothing of latencies that contradict each other."""
    max_latency_ms: float | None = None
    volatile: str = ""
    """Where memory grew out of proportion to the batch, in words."""
