"""Commands of one look at a machine, each started once: probes run side by side, and several of them ask the same tool."""

from __future__ import annotations

import threading
from collections.abc import Callable

from gpudoctor.system.host import Ran


class RunOnce:
    """Remembers what each command answered."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: dict[tuple[str, ...], threading.Lock] = {}
        self._ran: dict[tuple[str, ...], Ran] = {}

    def __call__(self, argv: tuple[str, ...], start: Callable[[], Ran]) -> Ran:
        """The answer of this command: of `start` where nobody has asked yet. Who asks meanwhile waits for it; other commands do not."""
        with self._lock:
            turn = self._turns.setdefault(argv, threading.Lock())
        with turn:
            if argv not in self._ran:
                self._ran[argv] = start()
            return self._ran[argv]
