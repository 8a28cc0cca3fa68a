"""What happens on a device while it is measured: clocks, heat, throttling, power, and who else is at work on it.

Sampled about once a second in a thread; files are read and tools are run through the host only. What is not there is not told.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Protocol, TypeVar

from gpudoctor.host.base import Ran, Text
from gpudoctor.host.processes import Guard
from gpudoctor.validate.energy import Meter, Reader, hwmon, number

CPUS = "/sys/devices/system/cpu"
OTHERS = 0.10
"""Share of all cores (or of the device) that others may take before a measurement is called noisy."""
STOLEN = 0.03
"""Share that the hypervisor may give to others."""
SAG = 0.15
"""A clock that ends so much below where it began was held back."""
N = TypeVar("N", int, float)
_MOST_CPUS = 8
"""Clocks of more are not read: they cost more than they tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The window of one measurement. Empty texts: nothing of the kind; None: nobody could tell."""

    throttled: str = ""
    others: str = ""
    clock_mhz: float | None = None
    """Median."""
    hottest_c: float | None = None
    busy_percent: float | None = None
    """Median use of the device."""
    link_gt: float | None = None
    """GT/s per lane of the PCI Express link, at its fastest."""
    link_gt_max: float | None = None
    link_width: int | None = None
    link_width_max: int | None = None

    @property
    def watched(self) -> bool:
        """Whether anything could be seen at all."""
        return any(value is not None for value in (self.clock_mhz, self.hottest_c, self.busy_percent))

    @property
    def noise(self) -> tuple[str, ...]:
        return tuple(text for text in (self.others, self.throttled) if text)


class Watcher(Protocol):
    def sample(self, now: float) -> None: ...
    def seen(self) -> Seen: ...


@dataclass(slots=True)
class ProcessorWatch:
    """The processor: load of others from /proc, clocks and throttling from sysfs. `own`: processes whose load is the measurement."""

    host: Reader
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
        if any(ticks is None for ticks in own):  # it is gone: what it took would look like another's
            return None
        return busy + idle + waiting + stolen, busy, stolen, sum(ticks for ticks in own if ticks is not None)

    def seen(self) -> Seen:
        others, share = "", None
        if len(self._loads) >= 2 and (passed := self._loads[-1][0] - self._loads[0][0]) > 0:
            busy, stolen, own = (self._loads[-1][place] - self._loads[0][place] for place in (1, 2, 3))
            share = 100 * own / passed
            foreign = (busy - own) / passed
            if foreign > OTHERS:
                others = f"other processes took {100 * foreign:.0f} % of the processor"
            if stolen / passed > STOLEN:
                others = "; ".join([*([others] if others else []), f"the hypervisor took {100 * stolen / passed:.0f} % of the processor"])
        throttled = ""
        if len(self._throttles) >= 2 and (times := self._throttles[-1] - self._throttles[0]) > 0:
            throttled = f"throttled by heat {times} times"
        elif sagged(self._clocks):
            throttled = f"the clock fell from {self._clocks[0]:.0f} to {self._clocks[-1]:.0f} MHz"
        return Seen(throttled=throttled, others=others, clock_mhz=median(self._clocks) if self._clocks else None, busy_percent=share)


def ticks_of(host: Reader, process: int | str) -> float | None:
    """User and system time of a process and of its children that ended, in clock ticks; None where it is gone."""
    fields = host.read(f"/proc/{process}/stat", limit=10_000).text.rpartition(")")[2].split()
    return (
        sum(float(word) for word in fields[11:15])
        if len(fields) > 15 and all(word.lstrip("-").isdigit() for word in fields[11:15])
        else None
    )


def sagged(clocks: Sequence[float]) -> bool:
    """The median of the last third lies well below that of the first: three samples at least."""
    third = len(clocks) // 3
    return third >= 1 and median(clocks[-third:]) < (1 - SAG) * median(clocks[:third])


@dataclass(slots=True)
class CardWatch:
    """A card by what its Linux driver shows: amdgpu, i915, xe. `gpu` is a record of the fact `gpus`."""

    host: Reader
    gpu: Mapping[str, Any]
    _clocks: list[float] = field(default_factory=list)
    _heat: list[float] = field(default_factory=list)
    _busy: list[float] = field(default_factory=list)
    _reasons: dict[str, None] = field(default_factory=dict)
    _places: tuple[tuple[str, ...], tuple[str, ...], str] | None = None

    def sample(self, now: float) -> None:
        if self._places is None:
            self._places = self._find()
        clocks, reasons, sensors = self._places
        found = [value for value in (number(self.host, path) for path in clocks) if value]
        if found:
            self._clocks.append(float(max(found)))
        else:
            self._amd_clock()
        heat = number(self.host, f"{sensors}/temp1_input") if sensors else None
        if heat is None and sensors:
            heat = number(self.host, f"{sensors}/temp2_input")  # xe: the package
        if heat is not None:
            self._heat.append(heat / 1000)
        busy = number(self.host, f"/sys/bus/pci/devices/{self.gpu.get('address')}/gpu_busy_percent")
        if busy is not None:
            self._busy.append(float(busy))
        for path in reasons:
            if self.host.read(path, limit=100).text.strip() == "1":
                self._reasons[path.rpartition("/")[2].removeprefix("reason_").removeprefix("throttle_reason_")] = None

    def _find(self) -> tuple[tuple[str, ...], tuple[str, ...], str]:
        base = f"/sys/bus/pci/devices/{self.gpu.get('address')}"
        clocks, reasons = [], []
        for card in (name for name in self.host.listdir(f"{base}/drm") if name.startswith("card")):
            for gt in self.host.listdir(f"{base}/drm/{card}/gt"):  # i915
                folder = f"{base}/drm/{card}/gt/{gt}"
                clocks.append(f"{folder}/rps_act_freq_mhz")
                reasons += self._reason_files(folder, "throttle_reason_")
        for tile in (name for name in self.host.listdir(base) if name.startswith("tile")):  # xe
            for gt in (name for name in self.host.listdir(f"{base}/{tile}") if name.startswith("gt")):
                folder = f"{base}/{tile}/{gt}/freq0"
                clocks.append(f"{folder}/act_freq")
                reasons += self._reason_files(f"{folder}/throttle", "reason_")
        return tuple(clocks), tuple(reasons), hwmon(self.host, self.gpu)

    def _reason_files(self, folder: str, prefix: str) -> list[str]:
        return [f"{folder}/{name}" for name in self.host.listdir(folder) if name.startswith(prefix) and not name.endswith("status")]

    def _amd_clock(self) -> None:
        """The line of pp_dpm_sclk with a star: '2: 2575Mhz *'."""
        for line in self.host.read(f"/sys/bus/pci/devices/{self.gpu.get('address')}/pp_dpm_sclk", limit=10_000).text.splitlines():
            digits = line.partition(":")[2].strip().lower().partition("mhz")[0]
            if line.rstrip().endswith("*") and digits.isdigit():
                self._clocks.append(float(digits))

    def seen(self) -> Seen:
        throttled = f"throttled ({', '.join(self._reasons)})" if self._reasons else ""
        if not throttled and sagged(self._clocks):
            throttled = f"the clock fell from {self._clocks[0]:.0f} to {self._clocks[-1]:.0f} MHz"
        return Seen(
            throttled=throttled, clock_mhz=median(self._clocks) if self._clocks else None, hottest_c=max(self._heat, default=None),
            busy_percent=median(self._busy) if self._busy else None,
        )  # fmt: skip


NVIDIA_FIELDS = ("clocks.sm", "temperature.gpu", "power.draw", "clocks_throttle_reasons.active", "utilization.gpu")
NVIDIA_REASONS = {0x8: "hardware slowdown", 0x20: "heat (software)", 0x40: "heat (hardware)", 0x80: "power brake"}
"""Bits of clocks_throttle_reasons.active that a sound machine does not show. 0x4, the power limit, is how boards run under full load."""


@dataclass(slots=True)
class NvidiaWatch:
    """Fed with the lines of `nvidia-smi --query-gpu=... --format=csv,noheader,nounits -lms 500`."""

    meter: Meter
    _clocks: list[float] = field(default_factory=list)
    _heat: list[float] = field(default_factory=list)
    _busy: list[float] = field(default_factory=list)
    _bits: int = 0
    foreign: str = ""
    """Who else computes there."""

    @staticmethod
    def command(index: int) -> tuple[str, ...]:
        query = ",".join(NVIDIA_FIELDS)
        return "nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits", "-lms", "500", "-i", str(index)

    def line(self, text: str) -> None:
        words = [word.strip() for word in text.split(",")]
        if len(words) != len(NVIDIA_FIELDS):
            return
        clock, heat, watts, busy = (_float(words[place]) for place in (0, 1, 2, 4))
        if clock is not None:
            self._clocks.append(clock)
        if heat is not None:
            self._heat.append(heat)
        if busy is not None:
            self._busy.append(busy)
        if watts is not None:
            self.meter.feed(time.monotonic(), watts)
        try:
            self._bits |= int(words[3], 16)
        except ValueError:
            pass

    def sample(self, now: float) -> None:
        """The tool samples."""

    def seen(self) -> Seen:
        reasons = [words for bit, words in NVIDIA_REASONS.items() if self._bits & bit]
        return Seen(
            throttled=f"throttled: {', '.join(reasons)}" if reasons else "", others=self.foreign,
            clock_mhz=median(self._clocks) if self._clocks else None, hottest_c=max(self._heat, default=None),
            busy_percent=median(self._busy) if self._busy else None,
        )  # fmt: skip


@dataclass(slots=True)
class ColumnWatch:
    """Fed with the lines of a tool that prints a table of commas and a heading: xpu-smi dump, gc-monitor. Its column of watts is taken."""

    meter: Meter
    _column: int | None = None
    _watts: list[float] = field(default_factory=list)

    def line(self, text: str) -> None:
        words = [word.strip() for word in text.split(",")]
        headed = [place for place, word in enumerate(words) if "power" in word.lower()]
        if headed:
            self._column = headed[0]
        elif self._column is not None and len(words) > self._column:
            watts = _float(words[self._column].rstrip(" W"))
            if watts is not None:
                self._watts.append(watts)
                self.meter.feed(time.monotonic(), watts)

    def sample(self, now: float) -> None:
        """The tool samples."""

    def seen(self) -> Seen:
        return Seen()


def _float(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < 1e7 else None


class ToolHost(Protocol):
    def run(self, argv: Sequence[str], *, timeout: float = 5.0, limit: int = 4_000_000) -> Ran: ...
    def run_worker(
        self, argv: Sequence[str], *, timeout: float, limit: int, env: Mapping[str, str], guard: Guard, stdin_text: str = ""
    ) -> Ran: ...
    def read(self, path: str, *, limit: int = 1_000_000) -> Text: ...
    def exists(self, path: str) -> bool: ...
    def listdir(self, path: str) -> list[str]: ...
    def realpath(self, path: str) -> str: ...


class Watching:
    """Samples watchers and the meter from `begin` to `end`, in a thread; `tool` runs beside it and its lines go to `on_line`."""

    def __init__(
        self, host: ToolHost, watchers: Sequence[Watcher], meter: Meter, *, tool: Sequence[str] = (),
        on_line: Callable[[str], None] | None = None, interval: float = 1.0,
    ) -> None:  # fmt: skip
        self._host, self._watchers, self.meter = host, watchers, meter
        self._tool, self._on_line, self._interval = tuple(tool), on_line, interval
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def begin(self) -> None:
        """The first sample is taken here."""
        if self._threads:
            return
        self._sample()
        self._threads = [threading.Thread(target=self._follow, daemon=True, name="watching")]
        if self._tool:
            self._threads.append(threading.Thread(target=self._run_tool, daemon=True, name=self._tool[0]))
        for thread in self._threads:
            thread.start()

    def _follow(self) -> None:
        while not self._over.wait(self._interval):
            self._sample()

    def _sample(self) -> None:
        with self._lock:
            if self._over.is_set():
                return
            now = time.monotonic()
            for watcher in self._watchers:
                watcher.sample(now)
            self.meter.sample(self._host, now)

    def _run_tool(self) -> None:
        guard = Guard(watch=lambda: "the measurement is over" if self._over.is_set() else "", on_line=self._on_line)
        ran = self._host.run_worker(self._tool, timeout=86400, limit=50_000_000, env={}, guard=guard)
        if ran.missing and not self.meter.why_not:
            self.meter.why_not = f"no energy counter: {self._tool[0]} is not there"

    def end(self) -> None:
        """The last sample is taken here. May be called twice, and without begin."""
        if self._threads and not self._over.is_set():
            self._sample()
        self._over.set()
        for thread in self._threads:
            thread.join(3.0)

    def seen(self) -> Seen:
        parts = [watcher.seen() for watcher in self._watchers]

        def first(values: Sequence[N | None]) -> N | None:
            return next((value for value in values if value is not None), None)

        return Seen(
            throttled="; ".join(part.throttled for part in parts if part.throttled),
            others="; ".join(part.others for part in parts if part.others),
            clock_mhz=first([part.clock_mhz for part in parts]), hottest_c=first([part.hottest_c for part in parts]),
            busy_percent=first([part.busy_percent for part in parts]), link_gt=first([part.link_gt for part in parts]),
            link_gt_max=first([part.link_gt_max for part in parts]), link_width=first([part.link_width for part in parts]),
            link_width_max=first([part.link_width_max for part in parts]),
        )  # fmt: skip
