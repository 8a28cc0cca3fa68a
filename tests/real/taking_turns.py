"""Tests that measure, or that load every core on purpose, have the machine to themselves; all others share it, two at a time.

Two locks between the processes: whoever waits for the machine holds the turn, so that nobody overtakes it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path


@contextmanager
def _held(path: Path, kind: int) -> Iterator[None]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, kind)
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)  # a forked child may hold the descriptor still
        os.close(handle)


@contextmanager
def machine(folder: Path, *, alone: bool) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as kept:
        with _held(folder / "turn", fcntl.LOCK_EX):
            kept.enter_context(_held(folder / "machine", fcntl.LOCK_EX if alone else fcntl.LOCK_SH))
        yield
