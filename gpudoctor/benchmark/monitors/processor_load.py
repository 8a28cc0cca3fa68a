"""Monitors the processor: load of other programs from /proc, clocks and throttling from sysfs."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from statistics import median
from typing import Protocol

from msgspec import Struct, field

from gpudoctor.benchmark.monitors.energy import CounterHost, number
from gpudoctor.benchmark.monitors.monitor import OTHERS, Seen, ends, middle, sagged
from gpudoctor.system.host import Text

CPUS = "/sys/devices/system/cpu"
ROSE = 0.1
"""Growth of other programs' load, as a share of all cores, that may explain slower steps."""
FELL = 0.85
"""The part of what others left free in the first half of the window; less in the second may be why steps got slower."""
HEAVY = 0.25
"""Share of others from which nobody can tell: their bursts between two looks slow steps as much as a fault does. Measured: 33 % of two
cores, evenly over both halves, made the last of six steps seven times slower."""
STOLEN = 0.03
"""Share of time that the hypervisor may give to other machines (steal) before it counts as a disturbance."""
_MOST_CPUS = 8
"""Clocks of further processors are not read, since reading costs time and they hardly differ."""


class ReadingHost(Protocol):
    def read(self, path: str, *, limit: int = 1_000_000) -> Text: ...


class ProcessorWatch(Struct):
    """Samples the processor. `own`: the processes whose load is the measurement."""

    host: CounterHost
    own: Sequence[int | str] = ()
    _loads: list[tuple[float, float, float, float]] = field(default_factory=list)
    """(all ticks, busy ones, stolen ones, own ones)"""
    _clocks: list[float] = field(default_factory=list)
    _throttles: list[int] = field(default_factory=list)
    _cpus: list[str] | None = None

    def sample(self, now: float) -> None:
        load = self._load()
        if load is not None:
            self._loads.append(load)
        if self._cpus is None:
            self._cpus = [name for name in self.host.listdir(CPUS) if name[3:].isdigit() and name.startswith("cpu")][:_MOST_CPUS]
        clocks = [number(self.host, f"{CPUS}/{name}/cpufreq/scaling_cur_freq") for name in self._cpus]
        known = [clock / 1000 for clock in clocks if clock]
        if known:
            self._clocks.append(median(known))
        counts = [number(self.host, f"{CPUS}/{name}/thermal_throttle/package_throttle_count") for name in self._cpus]
        if any(count is not None for count in counts):
            self._throttles.append(max(count for count in counts if count is not None))

    def _load(self) -> tuple[float, float, float, float] | None:
        words = self.host.read("/proc/stat", limit=1_000_000).text.split("\n", 1)[0].split()
        if len(words) < 9 or words[0] != "cpu" or not all(word.isdigit() for word in words[1:9]):
            return None
        user, nice, system, idle, waiting, irq, softirq, stolen = (float(word) for word in words[1:9])
        busy = user + nice + system + irq + softirq
        own = [ticks_of(self.host, process) for process in self.own]
        if any(ticks is None for ticks in own):  # one of our processes has ended: its time would count as another program's
            return None
        return busy + idle + waiting + stolen, busy, stolen, sum(ticks for ticks in own if ticks is not None)

    def _others_grew(self) -> bool | None:
        """Whether other programs' load grew. None below three samples, and where they used so much that it cannot be decided."""
        if len(self._loads) < 3:
            return None
        middle_one = self._loads[len(self._loads) // 2]
        shares = []
        for begin, end in ((self._loads[0], middle_one), (middle_one, self._loads[-1])):
            if end[0] <= begin[0]:
                return None
            shares.append((end[1] - begin[1] + end[2] - begin[2] - (end[3] - begin[3])) / (end[0] - begin[0]))
        if shares[1] - shares[0] > ROSE or 1 - shares[1] < FELL * (1 - shares[0]):
            return True
        return None if max(shares) > HEAVY else False

    def seen(self) -> Seen:
        others, share, foreign = "", None, None
        if len(self._loads) >= 2 and (passed := self._loads[-1][0] - self._loads[0][0]) > 0:
            busy, stolen, own = (self._loads[-1][place] - self._loads[0][place] for place in (1, 2, 3))
            share = 100 * own / passed
            foreign = min(max((busy - own + stolen) / passed, 0.0), 1.0)
            if (busy - own) / passed > OTHERS:
                others = f"other processes took {100 * (busy - own) / passed:.0f} % of the processor"
            if stolen / passed > STOLEN:
                others = "; ".join([*([others] if others else []), f"the hypervisor took {100 * stolen / passed:.0f} % of the processor"])
        throttled = ""
        if len(self._throttles) >= 2 and (times := self._throttles[-1] - self._throttles[0]) > 0:
            throttled = f"throttled by heat {times} times"
        elif sagged(self._clocks):
            throttled = f"the clock fell from {self._clocks[0]:.0f} to {self._clocks[-1]:.0f} MHz"
        return Seen(
            throttled=throttled, others=others, clock_mhz=middle(self._clocks), busy_percent=share,
            others_share=foreign, others_grew=self._others_grew(), clock_ends=ends(self._clocks),
        )  # fmt: skip


def is_quiet(host: CounterHost, seconds: float = 1.0) -> bool:
    """Whether the processor is idle but for us, observed for `seconds`. False where that cannot be observed."""
    watch = ProcessorWatch(host, [os.getpid()])
    watch.sample(0.0)
    threading.Event().wait(seconds)
    watch.sample(seconds)
    share = watch.seen().others_share
    return share is not None and share < OTHERS


def ticks_in_a_second() -> float:
    """Clock ticks in a second (USER_HZ), which is 100 on all usual kernels."""
    if sys.platform == "win32":
        return 100.0
    try:
        return float(os.sysconf("SC_CLK_TCK"))
    except (AttributeError, ValueError, OSError):
        return 100.0


def ticks_of(host: ReadingHost, process: int | str) -> float | None:
    """User and system time of a process and of its ended children, in clock ticks; None where the process has ended."""
    fields = host.read(f"/proc/{process}/stat", limit=10_000).text.rpartition(")")[2].split()
    return (
        sum(float(word) for word in fields[11:15])
        if len(fields) > 15 and all(word.lstrip("-").isdigit() for word in fields[11:15])
        else None
    )
