"""The processor's peaks by formula, from /proc/cpuinfo and cpufreq, and the size of its last cache."""

from __future__ import annotations

from gpudoctor.benchmark.cpu_ceiling import estimate
from gpudoctor.benchmark.monitors.energy import CounterHost, number
from gpudoctor.benchmark.reference_rows import DeviceRow


def peaks(host: CounterHost, memory_gbs: float | None = None) -> DeviceRow | None:
    """The peaks; None where cores, clock or vector width are unknown. `memory_gbs`: the measured bandwidth in GB/s."""
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


def last_cache(host: CounterHost) -> int | None:
    """The size in bytes of the first core's largest cache; None where it is unknown."""
    found = []
    for place in range(8):
        text = host.read(f"/sys/devices/system/cpu/cpu0/cache/index{place}/size").text.strip()
        if text[:-1].isdigit() and text[-1:] in SIZES:
            found.append(int(text[:-1]) * SIZES[text[-1]])
    return max(found, default=None)


SIZES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
