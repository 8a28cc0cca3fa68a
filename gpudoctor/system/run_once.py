"""Starts each command of one examination once, since several probes, which run in threads, ask the same tools."""

from __future__ import annotations

import threading
from collections.abc import Callable

from gpudoctor.system.host import Ran


class RunOnce:
    """Remembers the answer of each command."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: dict[tuple[str, ...], threading.Lock] = {}
        self._ran: dict[tuple[str, ...], Ran] = {}

    def __call__(self, argv: tuple[str, ...], start: Callable[[], Ran]) -> Ran:
        """The answer of a command, which `start` gives where it was not asked before. Other threads that ask for the same command meanwhile
        wait for it."""
        with self._lock:
            turn = self._turns.setdefault(argv, threading.Lock())
        with turn:
            if argv not in self._ran:
                self._ran[argv] = start()
            return self._ran[argv]
