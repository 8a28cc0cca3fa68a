"""Tools that monitor a card: nvidia-smi, xpu-smi, intel_gpu_top, gc-inventory. Their output is validated."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from gpudoctor.benchmark.monitors.drm_clients import ClientHost, strangers
from gpudoctor.benchmark.monitors.energy import Meter
from gpudoctor.benchmark.monitors.monitor import OTHERS, MonitoringTool, Seen, ends, middle
from gpudoctor.system.host import Ran

NVIDIA_FIELDS = (
    "clocks.sm", "temperature.gpu", "power.draw", "clocks_throttle_reasons.active", "utilization.gpu", "utilization.memory",
)  # fmt: skip
NVIDIA_REASONS = {0x8: "hardware slowdown", 0x20: "heat (software)", 0x40: "heat (hardware)", 0x80: "power brake"}
"""Bits of clocks_throttle_reasons.active that a sound machine does not show. 0x4, the power limit, is how boards run under full load."""
XPU_METRICS = "0,1,2,3,6,7,17,31,34,35"
"""Use, power, clock, heat, memory read and written, share of the bandwidth, compute and copy engines, reason of throttling."""
XPU_CAUSES = ("thermal", "current", "psu")
"""Throttle reasons of Level Zero that a healthy machine does not have. A power cap is normal under full load."""
LONGEST_OBJECT = 1_000_000
"""Characters of an object: more is none."""
SHORTEST_PERIOD = 100.0
"""Milliseconds: the first object comes at once and covers next to nothing."""
IPU_EVERY = 1.0
"""Seconds between two runs; each run takes about one second."""
MIB = 1 << 20


class NvidiaWatch(Struct):
    """Parses the lines of `nvidia-smi --query-gpu=... -lms 500`, and of `nvidia-smi pmon`, which has a line for each process."""

    meter: Meter
    host: ClientHost | None = None
    own: Sequence[int | str] = ()
    foreign: str = ""
    """Who computed there before, for drivers without pmon."""
    _clocks: list[float] = field(default_factory=list)
    _heat: list[float] = field(default_factory=list)
    _busy: list[float] = field(default_factory=list)
    _memory: list[float] = field(default_factory=list)
    _bits: int = 0
    _columns: list[str] = field(default_factory=list)
    _working: set[int] = field(default_factory=set)
    _idle: set[int] = field(default_factory=set)

    @staticmethod
    def command(index: str) -> tuple[str, ...]:
        query = ",".join(NVIDIA_FIELDS)
        return "nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits", "-lms", "500", "-i", index

    def tools(self, index: str) -> tuple[MonitoringTool, ...]:
        return (
            MonitoringTool(self.command(index), self.line, lambda ran: no_reading(self.meter, ran)),
            MonitoringTool(("nvidia-smi", "pmon", "-i", index, "-s", "u", "-d", "1"), self.process),
        )

    def line(self, text: str) -> None:
        words = [word.strip() for word in text.split(",")]
        if len(words) != len(NVIDIA_FIELDS):
            return
        watts = _float(words[2])
        for place, values in ((0, self._clocks), (1, self._heat), (4, self._busy), (5, self._memory)):
            value = _float(words[place])
            if value is not None:
                values.append(value)
        if watts is not None:
            self.meter.feed(time.monotonic(), watts)
        try:
            self._bits |= int(words[3], 16)
        except ValueError:
            pass

    def process(self, text: str) -> None:
        """Parses a line of pmon. The heading names the columns (newer drivers have more); '-' marks an unused engine."""
        words = text.split()
        if words[:2] == ["#", "gpu"]:
            self._columns = words[1:]
        elif self._columns and words and words[0] != "#" and len(words) >= len(self._columns):
            row = dict(zip(self._columns, words, strict=False))
            if row.get("pid", "").isdigit():
                share = _float(row.get("sm", ""))
                (self._working if share is not None and share > 100 * OTHERS else self._idle).add(int(row["pid"]))

    def sample(self, now: float) -> None:
        """The tools sample."""

    def seen(self) -> Seen:
        reasons = [words for bit, words in NVIDIA_REASONS.items() if self._bits & bit]
        others: str = self.foreign
        notes: tuple[str, ...] = ()
        if self._columns and self.host is not None:
            others, notes = strangers(self.host, self._working, self._idle - self._working, self.own)
        return Seen(
            throttled=f"throttled: {', '.join(reasons)}" if reasons else "", others=others, clock_mhz=middle(self._clocks),
            hottest_c=max(self._heat, default=None), busy_percent=middle(self._busy), memory_percent=middle(self._memory), notes=notes,
            clock_ends=ends(self._clocks), heat_ends=ends(self._heat),
        )  # fmt: skip


class XpuSmiWatch(Struct):
    """Parses the lines of `xpu-smi dump`: a heading, then a line a second; N/A stands for a sensor that the card lacks."""

    meter: Meter
    _columns: list[str] = field(default_factory=list)
    _values: dict[str, list[float]] = field(default_factory=dict)
    _reasons: dict[str, None] = field(default_factory=dict)

    def tools(self, device: str) -> tuple[MonitoringTool, ...]:
        """The command. `device`: PCI address, or number. Versions 1.x and 2.x accept --metrics; only 1.x accepts -m."""
        argv = "xpu-smi", "dump", "-d", device, "--metrics", XPU_METRICS
        return (MonitoringTool(argv, self.line, lambda ran: no_reading(self.meter, ran)),)

    def line(self, text: str) -> None:
        words = [word.strip() for word in text.split(",")]
        if words[0].lower() == "timestamp":
            self._columns = [word.lower() for word in words]
            return
        for column, word in zip(self._columns[2:], words[2:], strict=False):
            value = _float(word)
            if value is not None:
                self._values.setdefault(column, []).append(value)
            elif "throttle" in column and any(cause in word.lower() for cause in XPU_CAUSES):
                self._reasons[word[:60]] = None
            if value is not None and "power" in column:
                self.meter.feed(time.monotonic(), value)

    def sample(self, now: float) -> None:
        """The tool samples."""

    def _column(self, *words: str) -> list[float]:
        return next((values for name, values in self._values.items() if all(word in name for word in words)), [])

    def seen(self) -> Seen:
        read, written = middle(self._column("memory read")), middle(self._column("memory write"))
        engines = [(name, middle(self._column(f"{name} engine"))) for name in ("compute", "copy")]
        return Seen(
            throttled=f"throttled ({', '.join(self._reasons)})" if self._reasons else "", clock_mhz=middle(self._column("gpu frequency")),
            hottest_c=max(self._column("core temperature"), default=None), busy_percent=middle(self._column("gpu utilization")),
            engines=tuple((name, share) for name, share in engines if share is not None),
            memory_gbs=None if read is None or written is None else (read + written) * 1000 / 1e9,
            memory_percent=middle(self._column("bandwidth utilization")), clock_ends=ends(self._column("gpu frequency")),
            heat_ends=ends(self._column("core temperature")),
        )  # fmt: skip


class IntelTopWatch(Struct):
    """Parses the lines of `intel_gpu_top -J`: objects in an array (newer versions) or without one, in various layouts.

    Engine use and traffic of the memory controller. It counts by i915's PMU, so it needs root or CAP_PERFMON. Its watts are not taken:
    cards have a counter of their own, and those of integrated GPUs are a part of the package's.
    """

    _text: list[str] = field(default_factory=list)
    _size: int = 0
    _depth: int = 0
    _quoted: bool = False
    _engines: dict[str, list[float]] = field(default_factory=dict)
    _traffic: list[float] = field(default_factory=list)
    _clocks: list[float] = field(default_factory=list)
    _note: str = ""

    def tools(self, node: str) -> tuple[MonitoringTool, ...]:
        """The command. `node`: such as /dev/dri/card0."""
        return (MonitoringTool(("intel_gpu_top", "-J", "-s", "1000", "-d", f"drm:{node}", "-o", "-"), self.line, self.ended),)

    def line(self, text: str) -> None:
        """Braces are counted outside of strings; what stands between objects is left out."""
        kept, escaped = [], False
        for letter in text:
            if self._depth:
                kept.append(letter)
            if escaped:
                escaped = False
            elif letter == "\\" and self._quoted:
                escaped = True
            elif letter == '"' and self._depth:
                self._quoted = not self._quoted
            elif letter == "{" and not self._quoted:
                if not self._depth:
                    kept.append(letter)
                self._depth += 1
            elif letter == "}" and not self._quoted and self._depth:
                self._depth -= 1
                if not self._depth:
                    self._object("".join([*self._text, *kept]))
                    self._text, self._size, kept = [], 0, []
        if self._depth:
            self._text.append("".join(kept) + "\n")
            self._size += len(kept)
            if self._size > LONGEST_OBJECT:
                self._text, self._size, self._depth, self._quoted = [], 0, 0, False

    def _object(self, text: str) -> None:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return
        period = _at(found, "period", "duration")
        if period is None or period < SHORTEST_PERIOD:
            return
        engines = found.get("engines")
        for name, engine in engines.items() if isinstance(engines, Mapping) else ():
            busy = _at(engine, "busy")
            if busy is not None and len(self._engines) < 100:
                self._engines.setdefault(str(name)[:40], []).append(busy)
        read, written = (_at(found, "imc-bandwidth", name) for name in ("reads", "writes"))
        if read is not None and written is not None:
            self._traffic.append((read + written) * MIB / 1e9)
        clock = _at(found, "frequency", "actual")
        if clock:
            self._clocks.append(clock)

    def ended(self, ran: Ran) -> None:
        if not ran.missing and not ran.stopped and not self._engines:
            self._note = f"memory traffic not known: intel_gpu_top: {_complaint(ran)}"

    def sample(self, now: float) -> None:
        """The tool samples."""

    def seen(self) -> Seen:
        shares = {name: middle(values) or 0.0 for name, values in self._engines.items()}
        return Seen(
            clock_mhz=middle(self._clocks), clock_ends=ends(self._clocks),
            busy_percent=max(shares.values(), default=None), memory_gbs=middle(self._traffic),
            engines=tuple((name, share) for name, share in shares.items() if share >= 0.5), notes=(self._note,) if self._note else (),
        )  # fmt: skip


class IpuWatch(Struct):
    """Parses the repeated output of `gc-inventory --json`: attributes of each IPU, as texts with units."""

    meter: Meter
    host: ClientHost
    device: str
    own: Sequence[int | str] = ()
    _values: dict[str, list[float]] = field(default_factory=dict)
    _users: set[int] = field(default_factory=set)

    def tools(self) -> tuple[MonitoringTool, ...]:
        return (MonitoringTool(("gc-inventory", "--json"), None, self.take, IPU_EVERY),)

    def take(self, ran: Ran) -> None:
        no_reading(self.meter, ran)
        try:
            listed = json.loads(ran.stdout).get("devices")
        except (ValueError, RecursionError, AttributeError):
            return
        for row in listed if isinstance(listed, list) else ():
            if isinstance(row, Mapping) and str(row.get("id")) == self.device:
                for name in ("total board power", "ipu power", "ipu utilisation", "clock", "average die temp"):
                    value = _leading(row.get(name))
                    if value is not None:
                        self._values.setdefault(name, []).append(value)
                watts = _leading(row.get("total board power"))
                if watts is not None:
                    self.meter.feed(time.monotonic(), watts)
                user = str(row.get("user process id", ""))
                if user.isascii() and user.isdigit():
                    self._users.add(int(user))

    def sample(self, now: float) -> None:
        """The tool samples."""

    def seen(self) -> Seen:
        others, notes = strangers(self.host, self._users, set(), self.own)
        return Seen(
            others=others, notes=notes, clock_mhz=middle(self._values.get("clock", ())),
            hottest_c=max(self._values.get("average die temp", ()), default=None),
            busy_percent=middle(self._values.get("ipu utilisation", ())), clock_ends=ends(self._values.get("clock", ())),
            heat_ends=ends(self._values.get("average die temp", ())),
        )  # fmt: skip


def no_reading(meter: Meter, ran: Ran) -> None:
    """Why a tool gave no watts, where it did not start or ended with an error."""
    if meter.why_not or ran.stopped:
        return
    if ran.missing:
        meter.why_not = f"no energy counter: {ran.argv[0]} is not there"
    elif ran.rc or ran.signal:
        meter.why_not = f"no energy counter: {ran.argv[0]}: {_complaint(ran)}"


def _complaint(ran: Ran) -> str:
    lines = [line.strip() for line in (ran.stderr + "\n" + ran.stdout)[:20_000].splitlines() if line.strip()]
    if not lines:
        return f"died of signal {ran.signal}" if ran.signal else f"left with status {ran.rc}"
    return "".join(letter for letter in lines[0] if letter.isprintable())[:120]


def _at(tree: Any, *names: str) -> float | None:
    for name in names:
        tree = tree.get(name) if isinstance(tree, Mapping) else None
    if isinstance(tree, bool) or not isinstance(tree, int | float | str):
        return None
    return _float(str(tree))


def _leading(text: Any) -> float | None:
    """The number at the beginning of a text such as '114.7 W', '1850MHz' or '21.25%'."""
    if not isinstance(text, str):
        return None
    digits = text.strip()[:30]
    end = next((place for place, letter in enumerate(digits) if letter not in "0123456789."), len(digits))
    return _float(digits[:end])


def _float(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and 0 <= number < 1e10 else None
