"""The largest batch within a limit of latency."""

from __future__ import annotations

from msgspec import Struct


class BatchPick(Struct, frozen=True, kw_only=True):
    """The result for one workload. `batch` is the largest one that keeps `max_latency_ms`; None where no measured batch does."""

    workload: str
    dtype: str
    framework: str
    device: str
    max_latency_ms: float
    batch: int | None
    what: str = "p95"
    """The statistic that is compared with the limit: p95 of the latencies of one batch."""
    smoothed_ms: float | None = None
    """The statistic of the chosen batch after smoothing: neighbouring batches whose latencies contradict each other are averaged."""
    measured_ms: float | None = None
    steps: int | None = None
    """The number of batches that were timed at this size; with fewer than twenty the 95th percentile is the longest of them."""
