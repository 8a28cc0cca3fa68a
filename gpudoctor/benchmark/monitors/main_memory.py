"""The main memory that programs can still allocate: the machine's, or that of the control group (container, job, slice) with less left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from gpudoctor.system.host import Text

LEAST_FREE = 0.05
"""Share of main memory below which a worker is ended."""
_DEEPEST = 20


class MemoryHost(Protocol):
    """The methods that reading the limits of memory needs of a host."""

    def read(self, path: str, *, limit: int = 1_000_000) -> Text: ...
    def main_memory(self) -> tuple[int, int] | None: ...


def memory_is_short(host: MemoryHost) -> str:
    """Why a worker must be ended; '' while enough memory is left."""
    free, total = free_memory(host)
    if free is None or not total or free >= LEAST_FREE * total:
        return ""
    return f"ended because main memory was nearly full ({free / 2**20:.0f} MiB of {total / 2**30:.1f} GiB left)"


def free_memory(host: MemoryHost) -> tuple[int | None, int | None]:
    """(bytes that programs can still allocate, bytes in all), of the machine or the group with the least left; None where unknown."""
    found = host.main_memory()
    if found is None:
        return None, None
    _, total = found
    return min([found, *((left, most) for left, most in _groups(host) if most < total)])


def _groups(host: MemoryHost) -> Iterator[tuple[int, int]]:
    """(bytes left, bytes in all) of each control group of this process that has a limit, itself and those above it."""
    for folder, limit, used, names in _folders(host):
        most, now = _number(host, f"{folder}/{limit}"), _number(host, f"{folder}/{used}")
        if most is not None and now is not None:
            yield max(0, most - now + min(_cache(host, folder, names), now)), most


def _folders(host: MemoryHost) -> Iterator[tuple[str, str, str, tuple[str, str]]]:
    """The group's folder. In a container it is the root of the cgroup file system, whatever path /proc/self/cgroup gives."""
    second = "memory.max", "memory.current", ("inactive_file", "active_file")
    first = "memory.limit_in_bytes", "memory.usage_in_bytes", ("total_inactive_file", "total_active_file")
    paths: dict[str, str] = {}
    for line in host.read("/proc/self/cgroup", limit=100_000).text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if ".." not in path and (number == "0" or "memory" in controllers.split(",")):
            paths["second" if number == "0" else "first"] = path
    kinds = ("second", ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"), second), ("first", ("/sys/fs/cgroup/memory",), first)
    for kind, roots, names in kinds:
        parts = [part for part in paths.get(kind, "/").split("/") if part][:_DEEPEST]
        for root in roots:
            for depth in range(len(parts) + 1):
                yield "/".join([root, *parts[:depth]]), *names


def _cache(host: MemoryHost, folder: str, names: tuple[str, str]) -> int:
    """Bytes of cached files, which count as used, but are released when memory is needed."""
    total = 0
    for line in host.read(f"{folder}/memory.stat", limit=100_000).text.splitlines():
        name, _, value = line.partition(" ")
        if name in names and value.strip().isdigit():
            total += int(value)
    return total


def _number(host: MemoryHost, path: str) -> int | None:
    text = host.read(path, limit=100).text.strip()
    return int(text) if text.isascii() and text.isdigit() else None
