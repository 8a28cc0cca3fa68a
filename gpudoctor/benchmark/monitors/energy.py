"""Energy in joules by RAPL, hwmon, or a tool that prints watts; or why there is no value. Read through the host only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct, field

from gpudoctor.system.host import Text

POWERCAP = "/sys/class/powercap"
SHORTEST = 0.5
"""The shortest measurement in seconds: some counters are updated only ten times a second."""
WRAP_32 = 2**32
"""i915's counter of microjoules had 32 bits in old kernels."""


class CounterHost(Protocol):
    """The methods that reading a counter needs of a host."""

    def read(self, path: str, *, limit: int = 1_000_000) -> Text: ...
    def exists(self, path: str) -> bool: ...
    def listdir(self, path: str) -> list[str]: ...


class Joules(Struct, frozen=True):
    joules: float
    seconds: float
    boundary: str
    """package, card or board"""
    source: str

    @property
    def watts(self) -> float:
        return self.joules / self.seconds


class Counter(Struct):
    """One file that counts microjoules, and the value at which it wraps around."""

    path: str
    wraps_at: int | None = None
    """Largest value in microjoules; None: at 32 bits, where it falls from below them."""
    last: int | None = None
    total: int = 0

    def read(self, host: CounterHost) -> bool:
        value = number(host, self.path)
        if value is None:
            return False
        if self.last is not None:
            step = value - self.last
            if step < 0:
                step += self.wraps_at + 1 if self.wraps_at else WRAP_32
                if step < 0:  # the counter was reset; it did not wrap around
                    return False
            self.total += step
        self.last = value
        return True


class Meter(Struct):
    """The energy between begin and end. Counters are subtracted; sampled watts are integrated by the trapezoidal rule."""

    source: str
    boundary: str
    counters: list[Counter] = field(default_factory=list)
    power: str = ""
    """A file of microwatts, where there is no counter."""
    why_not: str = ""
    _first: float | None = None
    _last: float | None = None
    _watts: list[tuple[float, float]] = field(default_factory=list)
    _totals: list[tuple[float, float]] = field(default_factory=list)
    """When a counter was read, and the joules so far."""

    def readings(self) -> list[float]:
        """Watts, one after another."""
        steps = [
            (joules - before) / (now - since)
            for (since, before), (now, joules) in zip(self._totals, self._totals[1:], strict=False)
            if now > since
        ]
        return steps or [watts for _, watts in self._watts]

    def sample(self, host: CounterHost, now: float) -> None:
        if self.counters:
            read = [counter.read(host) for counter in self.counters]
            if not all(read):
                self.why_not = self.why_not or f"{self.counters[0].path} could not be read while it ran"
                return
            self._totals.append((now, sum(counter.total for counter in self.counters) / 1e6))
        elif self.power:
            value = number(host, self.power)
            if value is None:
                self.why_not = self.why_not or f"{self.power} could not be read while it ran"
                return
            self._watts.append((now, value / 1e6))
        else:
            return
        self._first, self._last = now if self._first is None else self._first, now

    def feed(self, now: float, watts: float) -> None:
        """Adds a reading in watts that a tool printed."""
        self._watts.append((now, watts))
        self._first, self._last = now if self._first is None else self._first, now

    def total(self) -> Joules | None:
        """The energy so far in joules; None where it is unknown, for the reason in `why_not`."""
        if self.why_not:
            return None
        if self._first is None or self._last is None:
            self.why_not = f"{self.source} gave no reading"
            return None
        seconds = self._last - self._first
        if seconds < SHORTEST:
            self.why_not = f"too short for {self.source}: {seconds:.1f} s"
            return None
        if self.counters:
            joules = sum(counter.total for counter in self.counters) / 1e6
        else:
            pairs = zip(self._watts, self._watts[1:], strict=False)
            joules = sum((after - before) * (low + high) / 2 for (before, low), (after, high) in pairs)
        if joules <= 0:  # some kernels have the file, but do not count
            self.why_not = f"{self.source} stands still"
            return None
        return Joules(joules, seconds, self.boundary, self.source)


def of_processor(host: CounterHost) -> Meter:
    """The counters of RAPL for all packages. The domain `dram` is left out, since it is not part of a package."""
    names = [name for name in host.listdir(POWERCAP) if re.fullmatch(r"(intel-rapl|amd-rapl):\d+", name)]
    if not names:
        return Meter("rapl", "package", why_not=f"no energy counter: {POWERCAP} has no package domain (a virtual machine has none)")
    counters = []
    for name in names:
        folder = f"{POWERCAP}/{name}"
        if not host.read(f"{folder}/name", limit=100).text.startswith("package"):
            continue  # psys counts the whole board, packages included
        found = host.read(f"{folder}/energy_uj", limit=100)
        if found.problem == "denied":
            return Meter("rapl", "package", why_not=f"needs root: {folder}/energy_uj may be read by root alone")
        if found.ok:
            counters.append(Counter(f"{folder}/energy_uj", number(host, f"{folder}/max_energy_range_uj")))
    return (
        Meter("rapl", "package", counters)
        if counters
        else Meter("rapl", "package", why_not=f"no package counter in {POWERCAP} can be read")
    )


def of_card(host: CounterHost, gpu: Mapping[str, Any]) -> Meter:
    """The card's own sensors: a counter of energy where the driver has one (xe, i915), else power (amdgpu)."""
    folder = hwmon(host, gpu)
    driver = str(gpu.get("driver") or "its driver")
    if not folder:
        return Meter("hwmon", "card", why_not=f"no energy counter: {driver} shows no sensors for {gpu.get('address') or 'this device'}")
    if number(host, f"{folder}/energy1_input"):
        return Meter("hwmon", "card", [Counter(f"{folder}/energy1_input")])
    for name in ("power1_average", "power1_input"):
        if number(host, f"{folder}/{name}") is not None:
            return Meter("hwmon", "card", power=f"{folder}/{name}")
    return Meter("hwmon", "card", why_not=f"no energy counter: {folder} has neither energy1_input nor power1_average")


def hwmon(host: CounterHost, gpu: Mapping[str, Any]) -> str:
    """The hwmon folder of a card; '' where there is none."""
    base = f"/sys/bus/pci/devices/{gpu.get('address')}/hwmon"
    return next((f"{base}/{name}" for name in host.listdir(base) if name.startswith("hwmon")), "")


def number(host: CounterHost, path: str) -> int | None:
    text = host.read(path, limit=100).text.strip()
    return int(text) if text.isascii() and text.isdigit() else None
