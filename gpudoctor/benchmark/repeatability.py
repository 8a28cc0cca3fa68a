"""The difference to expect between equal runs, beyond the interval within a run: another process, another layout of memory. Pure.

`benchmarks/identical_runs.py` measures it: it repeats a run and says for each kind how far its medians spread between processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PROCESSOR = {"launch": 15.0, "memory_bandwidth": 12.0, "files": 30.0, "matmul": 8.0, "training": 8.0, "inference": 8.0}
"""Per cent: half the 95 % interval of the ratio of two runs on a quiet machine, by workload, else by task. Threads share two cores with the
system, and where pages lie decides on the bandwidth."""
ACCELERATOR = {"launch": 12.0, "memory_bandwidth": 4.0, "host_to_device": 10.0, "device_to_host": 10.0, "files": 30.0, "matmul": 4.0,
               "training": 4.0, "inference": 4.0}  # fmt: skip
OTHERWISE = 10.0
NOISY = 10.0
"""Per cent for a run that was disturbed by an unknown amount."""
MOST = 300.0


def between_runs(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    """Per cent by which two measurements of the same work (in the form of JSON) may differ in addition to their intervals."""
    kinds = PROCESSOR if "cpu" in (one.get("backend"), other.get("backend")) else ACCELERATOR
    usual = kinds.get(str(one.get("workload")), kinds.get(str(one.get("task")), OTHERWISE))
    return float((usual**2 + sum(_disturbed(each) ** 2 for each in (one, other))) ** 0.5)


def _disturbed(measurement: Mapping[str, Any]) -> float:
    """Per cent by which runs on a processor may differ because other programs used it: their share varies from run to run."""
    conditions = measurement.get("conditions")
    share = conditions.get("others_share") if isinstance(conditions, Mapping) and measurement.get("backend") == "cpu" else None
    if isinstance(share, int | float) and not isinstance(share, bool) and 0 < share <= 1:
        return min(100 * share / max(1 - share, 0.1), MOST)
    return NOISY if measurement.get("noisy") else 0.0
