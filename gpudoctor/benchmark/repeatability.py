"""The error of a measured time from one run to another, for all comparisons. Pure.

Where several processes measured it, they show how far processes lie apart. Where there was one, a table says how far they usually do. What
other programs took of the machine comes on top, above all where they took more in one of two runs. `benchmarks/identical_runs.py` measures
all of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gpudoctor.benchmark import others_effect
from gpudoctor.benchmark.significance import CERTAIN, Z975, Estimate, Ratio, of_processes, ratio
from gpudoctor.benchmark.worker_numbers import number_of, positive_number
from gpudoctor.model.comparison import LEAST_PROCESSES

PROCESSOR = {"launch": 15.0, "memory_bandwidth": 15.0, "files": 30.0, "matmul": 9.0, "training": 9.0, "inference": 11.0}
"""Per cent: half the 95 % interval of the ratio of two processes on a quiet machine, by workload, else by task. Threads share two cores
with the system, and where pages lie decides on the bandwidth."""
ACCELERATOR = {"launch": 12.0, "memory_bandwidth": 4.0, "host_to_device": 10.0, "device_to_host": 10.0, "files": 30.0, "matmul": 4.0,
               "training": 4.0, "inference": 4.0}  # fmt: skip
OTHERWISE = 10.0
NOISY = 10.0
"""Per cent for a run that was disturbed by an unknown amount."""
TABLE_COUNTS = 2
"""As many degrees of freedom as the table counts for beside measured processes: a few that happen to agree prove little."""
ALONE = 2.0
"""Times what the table says, for one process: nothing shows whether its machine was as quiet as those of the table. Neighbours of a virtual
machine with two cores made it one to six times as much."""
LASTING = 0.125
"""The part of the variance that all processes of a run share: a neighbour of a virtual machine that works for minutes. With it 3 % of the
rows of identical runs are called different even where the part is three times as large."""
LEAST, LARGEST = 1e-12, 1e12
"""Milliseconds, and per cent: values beyond these are no real measurement."""


STATISTICS = {"median": "processes", "p10": "processes_p10"}
"""What is compared of the steps of a process, and the field with that of each process. Other programs only ever make steps slower, so that
the 10th percentile repeats better beside them; what slows a part of the steps is seen in the median alone."""


def ratio_of_times(one: Mapping[str, Any], other: Mapping[str, Any], statistic: str = "median") -> Ratio | None:
    """The time of `one` by that of `other`, measurements as JSON has them. None where one has no such time, or nothing tells its error."""
    others = others_effect.effect((one, other), [processes(each, statistic) for each in (one, other)])
    adjusted = others.times or (None, None)
    first, second = (estimate(each, statistic, times) for each, times in zip((one, other), adjusted, strict=True))
    if first is None or second is None:
        return None
    return ratio(first, second, (others.reach / Z975) ** 2)


def estimate(measurement: Mapping[str, Any], statistic: str = "median", adjusted: Sequence[float] | None = None) -> Estimate | None:
    """The estimate of a time from one measurement alone; None where it has no time, or where its error is unknown. What a single process
    can tell is its median. `adjusted`: the times of its processes without what others did to them."""
    latency = measurement.get("latency_ms")
    if measurement.get("status") != "ok" or not isinstance(latency, Mapping):
        return None
    usual, disturbed = (_usual(measurement) / math.sqrt(2)) ** 2, _disturbed(measurement) ** 2
    times = adjusted or processes(measurement, statistic)
    if len(times) >= LEAST_PROCESSES:
        return _of_processes(times, usual, disturbed)
    if statistic != "median":
        return None
    median, interval = positive_number(latency.get("median")), number_of(latency.get("ci95_percent"))
    if median is None or not LEAST < median < LARGEST or interval is None or not 0 <= interval < LARGEST:
        return None
    return Estimate(math.log(median), ALONE**2 * usual + disturbed + _deviation(interval) ** 2, CERTAIN)


def _of_processes(times: Sequence[float], usual: float, disturbed: float) -> Estimate:
    """`usual`: the variance of one process by the table; `disturbed`: that of the whole run by what is not seen between its processes."""
    found = of_processes(times)
    seen, count = found.variance * len(times), len(times) - 1
    with_table = (TABLE_COUNTS * usual + count * seen) / (TABLE_COUNTS + count)
    one, freedom = (seen, count) if seen > with_table else (with_table, TABLE_COUNTS + count)
    own = one * (1 / len(times) + LASTING)
    return Estimate(found.log, own + disturbed, freedom * (1 + disturbed / own) ** 2)


def processes(measurement: Mapping[str, Any], statistic: str = "median") -> tuple[float, ...]:
    """The times of its processes in milliseconds; empty where one of them is no valid time."""
    latency = measurement.get("latency_ms")
    listed = latency.get(STATISTICS[statistic]) if isinstance(latency, Mapping) else None
    times = [positive_number(value) for value in listed] if isinstance(listed, list | tuple) else []
    known = tuple(time for time in times if time is not None and LEAST < time < LARGEST)
    return known if len(known) == len(times) else ()


def time_of(measurement: Mapping[str, Any], statistic: str = "median") -> float | None:
    """The time in milliseconds; None where it was not measured."""
    latency = measurement.get("latency_ms")
    if measurement.get("status") != "ok" or not isinstance(latency, Mapping):
        return None
    time = positive_number(latency.get(statistic))
    return time if time is not None and LEAST < time < LARGEST else None


def usual_percent(measurement: Mapping[str, Any]) -> float:
    """What the table says of such work: half the 95 % interval of the ratio of two processes."""
    kinds = PROCESSOR if measurement.get("backend") == "cpu" else ACCELERATOR
    return kinds.get(str(measurement.get("workload")), kinds.get(str(measurement.get("task")), OTHERWISE))


def _usual(measurement: Mapping[str, Any]) -> float:
    return _deviation(usual_percent(measurement))


def _deviation(percent: float) -> float:
    """The standard deviation of a logarithm whose 95 % interval reaches so far on either side."""
    return percent / 100 / Z975


def _disturbed(measurement: Mapping[str, Any]) -> float:
    """Of a run that others disturbed, nobody knows how much. How far processes lie apart is no disturbance: it is in their variance."""
    conditions = measurement.get("conditions")
    seen = conditions if isinstance(conditions, Mapping) else {}
    if others_effect.share(measurement) is not None:
        return 0.0
    noisy = seen.get("others") or seen.get("throttled") if processes(measurement) else measurement.get("noisy")
    return _deviation(NOISY) if noisy else 0.0
