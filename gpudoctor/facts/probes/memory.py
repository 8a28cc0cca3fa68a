"""Main memory and processor: their size, the memory modules, and what limits the processor."""

from __future__ import annotations

import re

from gpudoctor.facts.probes._probe import Collected, Probe, from_run, from_text
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.system.host import Host


def parse_meminfo(text: str) -> dict[str, int]:
    """The sizes in /proc/meminfo, in bytes."""
    return {name: int(size) * 1024 for name, size in re.findall(r"^(\w+):\s+(\d+) kB", text, re.MULTILINE)}


def parse_cpuinfo(text: str) -> tuple[str | None, list[str]]:
    """(model or None, flags) of the first processor in /proc/cpuinfo."""
    model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", text, re.MULTILINE)
    return (model[1].strip() if model else None), (flags[1].split() if flags else [])


DMI = "/run/udev/data/+dmi:id"
"""The file with what systemd's dmi_memory_id has read from the firmware's tables, which only root can read."""
QUOTAS = ("/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us")
GOVERNOR = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
DRIVER = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"
NO_SIZE = ("", "0")
LIMITS = "/proc/self/limits"


def parse_fitting(text: str) -> tuple[int, int] | None:
    """(number of memory modules, number of slots) by udev's properties 'E:MEMORY_DEVICE_0_SIZE=8589934592'; None without such ones."""
    properties = dict(line[2:].split("=", 1) for line in text.splitlines() if line.startswith("E:MEMORY_") and "=" in line)
    sizes = {name: value for name, value in properties.items() if re.fullmatch(r"MEMORY_DEVICE_\d+_SIZE", name)}
    slots = properties.get("MEMORY_ARRAY_NUM_DEVICES", "")
    fitted = sum(value not in NO_SIZE and properties.get(name.replace("_SIZE", "_PRESENT")) != "0" for name, value in sizes.items())
    return (fitted, int(slots) if slots.isdigit() else len(sizes)) if fitted else None


def parse_quota(most: str, quota: str, period: str) -> float | None:
    """The number of processors that a control group may use at once: by cpu.max of version 2 ('200000 100000'), else by the two files of
    version 1; None for all of them."""
    words = most.split() if most.strip() else [quota.strip(), period.strip()]
    if len(words) == 2 and all(word.isascii() and word.isdigit() for word in words) and int(words[1]) > 0:
        return int(words[0]) / int(words[1])
    return None


def parse_lockable(text: str) -> int | None:
    """The soft limit 'Max locked memory' of /proc/self/limits in bytes; -1 without limit, None where the line is not there."""
    found = re.search(r"^Max locked memory\s+(\d{1,20}|unlimited)\s", text, re.MULTILINE)
    return None if found is None else -1 if found[1] == "unlimited" else int(found[1])


def _lockable(host: Host) -> Fact:
    text = host.read(LIMITS, limit=10_000)
    limit = parse_lockable(text.text)
    return Absent(LIMITS) if limit == -1 else from_text(text, limit, LIMITS)


def _fitting(host: Host) -> Collected:
    text = host.read(DMI)
    modules = parse_fitting(text.text)
    for name, value in (("memory.modules", modules and modules[0]), ("memory.slots", modules and modules[1])):
        yield name, Known(value, DMI) if value else Unknown("not recorded")


def _limits(host: Host) -> Collected:
    texts = [host.read(path, limit=100) for path in QUOTAS]
    quota = parse_quota(*(text.text for text in texts))
    if quota is not None:
        yield "cpu.quota", Known(quota, QUOTAS[0] if texts[0].ok else QUOTAS[1])
    elif any(text.ok for text in texts) or host.origin == "live":
        yield "cpu.quota", Absent(QUOTAS[0])
    else:
        yield "cpu.quota", Unknown("not recorded")
    governor = host.read(GOVERNOR, limit=100)
    yield "cpu.governor", from_text(governor, governor.text.strip() or None, GOVERNOR)
    driver = host.read(DRIVER, limit=100)
    yield "cpu.frequency_driver", from_text(driver, driver.text.strip() or None, DRIVER)


def collect(host: Host, facts: Facts) -> Collected:
    if host.platform == "macos":
        size = host.run(["sysctl", "-n", "hw.memsize"])
        text = size.stdout.strip()
        yield "memory.total_bytes", from_run(size, int(text) if text.isdigit() else None)
        brand = host.run(["sysctl", "-n", "machdep.cpu.brand_string"])
        yield "cpu.model", from_run(brand, brand.stdout.strip() or None)
        return
    if host.platform == "windows":
        return
    memory = parse_meminfo(host.read("/proc/meminfo").text)
    for fact, key in (("memory.total_bytes", "MemTotal"), ("memory.available_bytes", "MemAvailable"), ("memory.swap_bytes", "SwapTotal")):
        yield fact, Known(memory[key], "/proc/meminfo") if key in memory else Unknown("not recorded")
    text = host.read("/proc/cpuinfo", limit=8_000_000).text
    model, flags = parse_cpuinfo(text)
    yield "cpu.model", Known(model, "/proc/cpuinfo") if model else Unknown("not recorded")
    yield "cpu.flags", Known(flags, "/proc/cpuinfo") if flags else Unknown("not recorded")
    cores = len(re.findall(r"^processor\s*:", text, re.MULTILINE))
    yield "cpu.cores", Known(cores, "/proc/cpuinfo") if cores else Unknown("not recorded")
    yield "memory.lockable_bytes", _lockable(host)
    yield from _fitting(host)
    yield from _limits(host)


PROBE = Probe(
    "memory",
    (
        FactSpec("memory.total_bytes", "int", "size of main memory"),
        FactSpec("memory.available_bytes", "int", "main memory that programs could still get"),
        FactSpec("memory.swap_bytes", "int", "swap space"),
        FactSpec("memory.lockable_bytes", "int", "memory that a process may lock (ulimit -l); absent: without limit"),
        FactSpec("cpu.model", "text", "name of the processor"),
        FactSpec("cpu.flags", "list", "features of the processor"),
        FactSpec("cpu.cores", "int", "logical processors"),
        FactSpec("cpu.quota", "float", "processors that a container may use at once; absent: all of them"),
        FactSpec("cpu.governor", "text", "how the kernel chooses the processor's clock: performance, schedutil, powersave"),
        FactSpec("cpu.frequency_driver", "text", "what sets the processor's clock: intel_pstate, amd-pstate-epp, acpi-cpufreq"),
        FactSpec("memory.modules", "int", "memory modules that are fitted"),
        FactSpec("memory.slots", "int", "places for memory modules"),
    ),
    collect,
)
