"""A limit on the memory of this process, for commands that read what somebody else wrote.

Readers have limits of their own, each with a message of its own. This one holds whatever they miss: an allocation beyond it raises
MemoryError in this process instead of making the machine swap or the kernel kill a training run.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

MOST = 300 * 1000 * 1000
"""Bytes that a command which reads a stranger's file may take in all."""
_CODE = 48 << 20
"""Bytes of the interpreter and its libraries, which are mapped from files and do not count as data."""


@contextlib.contextmanager
def limited_memory(most: int = MOST) -> Iterator[None]:
    """While it lasts, this process gets at most `most` bytes (Linux; other systems have no such limit, and nothing happens there).

    Processes that are started meanwhile inherit it: only reading belongs into it. Inside another one the smaller limit holds.
    """
    if sys.platform != "linux":
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    ends = [limit for limit in (soft, hard, most - _CODE) if limit != resource.RLIM_INFINITY]
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (min(ends), hard))
    except (OSError, ValueError):  # a sandbox may forbid it
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
