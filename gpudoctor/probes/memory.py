"""Main memory and processor."""

from __future__ import annotations

import re

from gpudoctor.host.base import Host
from gpudoctor.model.facts import Facts, FactSpec, Known, Unknown
from gpudoctor.probes._probe import Collected, Probe, from_run


def parse_meminfo(text: str) -> dict[str, int]:
    return {name: int(size) * 1024 for name, size in re.findall(r"^(\w+):\s+(\d+) kB", text, re.MULTILINE)}


def parse_cpuinfo(text: str) -> tuple[str | None, list[str]]:
    """Model and flags of the first processor."""
    model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", text, re.MULTILINE)
    return (model[1].strip() if model else None), (flags[1].split() if flags else [])


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


PROBE = Probe(
    "memory",
    (
        FactSpec("memory.total_bytes", "int", "main memory"),
        FactSpec("memory.available_bytes", "int", "main memory that programs could still get"),
        FactSpec("memory.swap_bytes", "int", "swap space"),
        FactSpec("cpu.model", "text", "name of the processor"),
        FactSpec("cpu.flags", "list", "features of the processor"),
        FactSpec("cpu.cores", "int", "logical processors"),
    ),
    collect,
)
