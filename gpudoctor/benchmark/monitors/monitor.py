"""Monitors a device while it is measured: clocks, temperature, throttling, power, and other programs that use it.

Sampled about once a second in a thread; files are read and tools are run through the host only.
Values that the system does not show are left out.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Protocol, TypeVar

from msgspec import Struct

from gpudoctor.benchmark.monitors.energy import CounterHost, Meter
from gpudoctor.system.host import Ran, Text
from gpudoctor.system.processes import Guard

OTHERS = 0.10
"""Share of all cores (or of an engine of the device) that other programs may use before a measurement counts as noisy."""
SAG = 0.15
"""A clock that ends so much below where it began was held back."""
N = TypeVar("N", int, float)


class Link(Struct, frozen=True, kw_only=True):
    """A PCI Express link: GT/s per lane and lanes, the fastest that was seen and what the device could do."""

    gt: float | None = None
    gt_max: float | None = None
    width: int | None = None
    width_max: int | None = None


class Seen(Struct, frozen=True, kw_only=True):
    """Observations during one measurement. An empty text: nothing was observed; None: it could not be observed."""

    throttled: str = ""
    others: str = ""
    clock_mhz: float | None = None
    """The median clock in MHz."""
    hottest_c: float | None = None
    busy_percent: float | None = None
    """The median use of the device in per cent."""
    engines: tuple[tuple[str, float], ...] = ()
    """Use of each engine in per cent: ('compute', 97.2), ('copy', 3.1)."""
    memory_gbs: float | None = None
    """Traffic to and from memory in GB/s, median."""
    memory_percent: float | None = None
    """Share of the time (or of the bandwidth, as the tool counts) that memory was at work, median."""
    link: Link | None = None
    others_share: float | None = None
    """The share of all cores that other programs used."""
    others_grew: bool | None = None
    """Whether other programs used clearly more in the second half of the window than in the first."""
    clock_ends: tuple[float, ...] = ()
    """The clock in the first and in the last third of the window."""
    heat_ends: tuple[float, ...] = ()
    watts_ends: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def watched(self) -> bool:
        """Whether anything could be observed at all."""
        return any(value is not None for value in (self.clock_mhz, self.hottest_c, self.busy_percent))

    @property
    def noise(self) -> tuple[str, ...]:
        return tuple(text for text in (self.others, self.throttled) if text)


class Monitor(Protocol):
    def sample(self, now: float) -> None: ...
    def seen(self) -> Seen: ...


class MonitoringTool(Struct, frozen=True):
    """A program that runs beside a measurement. `again`: seconds after which one that ends by itself is started once more; 0: never."""

    argv: tuple[str, ...]
    on_line: Callable[[str], None] | None = None
    on_end: Callable[[Ran], None] | None = None
    again: float = 0.0


def middle(values: Sequence[float]) -> float | None:
    """The median, None where there are no values."""
    return median(values) if values else None


def ends(values: Sequence[float]) -> tuple[float, ...]:
    """The medians of the first and of the last third; () where there are fewer than three."""
    third = len(values) // 3
    return (median(values[:third]), median(values[-third:])) if third else ()


def sagged(clocks: Sequence[float]) -> bool:
    """Whether the median of the last third is well below that of the first; False below three samples."""
    found = ends(clocks)
    return bool(found) and found[1] < (1 - SAG) * found[0]


def ours(host: CounterHost, pid: int, own: Sequence[int | str]) -> bool:
    """Whether a process is one of `own` or descends from one of them."""
    known = {str(each) for each in own}
    for _ in range(32):
        if str(pid) in known:
            return True
        after_name = host.read(f"/proc/{pid}/stat", limit=10_000).text.rpartition(")")[2].split()
        if len(after_name) < 2 or not after_name[1].isdigit() or int(after_name[1]) <= 1:
            return False
        pid = int(after_name[1])
    return False


class ToolHost(Protocol):
    def run(self, argv: Sequence[str], *, timeout: float = 5.0, limit: int = 4_000_000) -> Ran: ...
    def run_worker(
        self, argv: Sequence[str], *, timeout: float, limit: int, env: Mapping[str, str], guard: Guard, stdin_text: str = ""
    ) -> Ran: ...
    def read(self, path: str, *, limit: int = 1_000_000) -> Text: ...
    def exists(self, path: str) -> bool: ...
    def listdir(self, path: str) -> list[str]: ...
    def readlink(self, path: str) -> str | None: ...
    def realpath(self, path: str) -> str: ...


class Watching:
    """Samples watchers and the meter from `begin` to `end` in a thread; each tool runs in a thread of its own."""

    def __init__(
        self, host: ToolHost, watchers: Sequence[Monitor], meter: Meter, *, tools: Sequence[MonitoringTool] = (), interval: float = 1.0
    ) -> None:
        self._host, self._watchers, self.meter = host, watchers, meter
        self._tools, self._interval = tuple(tools), interval
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def begin(self) -> None:
        """Takes the first sample."""
        if self._threads:
            return
        self._sample()
        self._threads = [threading.Thread(target=self._follow, daemon=True, name="watching")]
        self._threads += [threading.Thread(target=self._run, args=(tool,), daemon=True, name=tool.argv[0]) for tool in self._tools]
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

    def _run(self, tool: MonitoringTool) -> None:
        on_line = None if tool.on_line is None else _safely(tool.on_line)
        guard = Guard(watch=lambda: "the measurement is over" if self._over.is_set() else "", on_line=on_line)
        while not self._over.is_set():
            ran = self._host.run_worker(tool.argv, timeout=86400, limit=50_000_000, env={}, guard=guard)
            if tool.on_end is not None:
                tool.on_end(ran)
            if not tool.again or ran.missing or self._over.wait(tool.again):
                return

    def end(self) -> None:
        """Takes the last sample. May be called twice, and without begin."""
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
            others="; ".join(dict.fromkeys(part.others for part in parts if part.others)),
            clock_mhz=first([part.clock_mhz for part in parts]), hottest_c=first([part.hottest_c for part in parts]),
            busy_percent=first([part.busy_percent for part in parts]),
            engines=next((part.engines for part in parts if part.engines), ()),
            memory_gbs=first([part.memory_gbs for part in parts]), memory_percent=first([part.memory_percent for part in parts]),

            others_share=first([part.others_share for part in parts]),
            others_grew=next((part.others_grew for part in parts if part.others_grew is not None), None),
            clock_ends=next((part.clock_ends for part in parts if part.clock_ends), ()),
            heat_ends=next((part.heat_ends for part in parts if part.heat_ends), ()), watts_ends=ends(self.meter.readings()),
            link=next((part.link for part in parts if part.link is not None), None),
            notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        )  # fmt: skip


def _safely(line: Callable[[str], None]) -> Callable[[str], None]:
    """Passes a tool's line to its parser; the output may have any form."""

    def take(text: str) -> None:
        try:
            line(text[:1000])
        except (ValueError, IndexError, OverflowError, RecursionError):
            return

    return take
