"""Which batch a latency allows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPick:
    """`batch`: the largest that keeps `max_latency_ms`; None where none of those that were measured does."""

    workload: str
    dtype: str
    framework: str
    device: str
    max_latency_ms: float
    batch: int | None
    what: str = "p95"
    """Of the latencies of one batch."""
    smoothed_ms: float | None = None
    """Of the batch that was picked, after measurements that contradict each other were taken together."""
    measured_ms: float | None = None
    steps: int | None = None
    """Batches that were timed at this size: of fewer than twenty a 95th percentile is the longest."""
