"""Limits the memory of this process in commands that read what somebody else wrote.

Readers have limits of their own with messages of their own. This one covers what they miss: an allocation beyond it raises MemoryError in
this process, instead of making the machine swap or the kernel kill a training.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

MOST = 300 * 1000 * 1000
"""The most bytes for a command that reads a file of somebody else."""
_CODE = 48 << 20
"""Bytes of the interpreter and its libraries, which are mapped from files and do not count as data."""

_ROOM = 200 * 1000 * 1000


def _taken() -> int:
    """The bytes of data that this process has already."""
    if sys.platform == "win32":
        return 0
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


@contextlib.contextmanager
def limited_memory(most: int = MOST) -> Iterator[None]:
    """Limits this process to `most` bytes within the block, on Linux; on other systems it does nothing.

    A process that is large already, such as a notebook that calls gpudoctor, gets 200 MB more than it has. Processes that are started
    within the block inherit the limit, so that it should only read. Of nested limits the smaller one holds.
    """
    if sys.platform != "linux":
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    ours = max(most - _CODE, _taken() + _ROOM)
    ends = [limit for limit in (soft, hard, ours) if limit != resource.RLIM_INFINITY]
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (min(ends), hard))
    except (OSError, ValueError):  # a sandbox may forbid limits
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
