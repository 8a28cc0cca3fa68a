"""The processor's peaks, from /proc/cpuinfo and cpufreq: for its roofline, which is an estimate."""

from __future__ import annotations

from gpudoctor.benchmark.cpu_ceiling import estimate
from gpudoctor.benchmark.monitors.energy import CounterHost, number
from gpudoctor.benchmark.reference_rows import DeviceRow


def peaks(host: CounterHost, memory_gbs: float | None = None) -> DeviceRow | None:
    """None where the system does not tell cores, clock and width. `memory_gbs`: as it was measured."""
    cores: set[tuple[str, str]] = set()
    flags: set[str] = set()
    clocks: list[float] = []
    logical, package = 0, "0"
    for line in host.read("/proc/cpuinfo", limit=4_000_000).text.splitlines():
        name, _, value = line.partition(":")
        name, value = name.strip(), value.strip()
        if name == "processor":
            logical += 1
        elif name == "physical id":
            package = value
        elif name == "core id":
            cores.add((package, value))
        elif name in ("flags", "Features"):
            flags.update(value.split())
        elif name == "cpu MHz" and value.replace(".", "", 1).isdigit():
            clocks.append(float(value))
    top = number(host, "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
    ghz = top / 1e6 if top else max(clocks) / 1000 if clocks else 0.0
    return estimate(len(cores) or logical, ghz, flags, memory_gbs)
