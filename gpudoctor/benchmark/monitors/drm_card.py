"""Monitors a card through the sysfs files of its Linux driver: amdgpu, i915, xe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from gpudoctor.benchmark.monitors.energy import CounterHost, hwmon, number
from gpudoctor.benchmark.monitors.monitor import Seen, ends, middle, sagged


class CardWatch(Struct):
    """Samples one card. `gpu`: its record of the fact `gpus`."""

    host: CounterHost
    gpu: Mapping[str, Any]
    _clocks: list[float] = field(default_factory=list)
    _heat: list[float] = field(default_factory=list)
    _busy: list[float] = field(default_factory=list)
    _memory: list[float] = field(default_factory=list)
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
        for name, values in (("gpu_busy_percent", self._busy), ("mem_busy_percent", self._memory)):  # amdgpu
            share = number(self.host, f"/sys/bus/pci/devices/{self.gpu.get('address')}/{name}")
            if share is not None and share <= 100:
                values.append(float(share))
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
        """The clock from the line of pp_dpm_sclk with an asterisk, the current level: '2: 2575Mhz *'."""
        for line in self.host.read(f"/sys/bus/pci/devices/{self.gpu.get('address')}/pp_dpm_sclk", limit=10_000).text.splitlines():
            digits = line.partition(":")[2].strip().lower().partition("mhz")[0]
            if line.rstrip().endswith("*") and digits.isdigit():
                self._clocks.append(float(digits))

    def seen(self) -> Seen:
        throttled = f"throttled ({', '.join(self._reasons)})" if self._reasons else ""
        if not throttled and sagged(self._clocks):
            throttled = f"the clock fell from {self._clocks[0]:.0f} to {self._clocks[-1]:.0f} MHz"
        return Seen(
            throttled=throttled, clock_mhz=middle(self._clocks), hottest_c=max(self._heat, default=None), busy_percent=middle(self._busy),
            memory_percent=middle(self._memory), clock_ends=ends(self._clocks), heat_ends=ends(self._heat),
        )  # fmt: skip
