"""A status line with the elapsed time, shown on a terminal after a second and removed at the end."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 1.0
"""Seconds before the line is shown."""


class StatusLine:
    """One line on standard error. Nothing is shown in a pipe, on a terminal without control sequences, or with --quiet."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._on = sys.stderr.isatty() and not quiet and os.environ.get("TERM") != "dumb"
        self._lock = threading.Lock()
        self._text = ""
        self._timer: threading.Timer | None = None
        self._shown: tuple[Progress, TaskID] | None = None

    def says(self, text: str) -> None:
        if not self._on:
            return
        from gpudoctor.reporters.shared.escape import visible

        with self._lock:
            self._text = visible(" ".join(text.split()))
            if self._shown is not None:
                self._shown[0].update(self._shown[1], description=self._text)
            elif self._timer is None:
                self._timer = threading.Timer(PATIENCE, self._begin)
                self._timer.daemon = True
                self._timer.start()

    def looking(self, name: str) -> None:
        """Shows that the probe `name` is running."""
        self.says(f"Checking {name.replace('_', ' ')}")

    def _begin(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._timer is None or self._shown is not None:
                return
            columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
            progress = Progress(*columns, console=Console(file=sys.stderr), transient=True, redirect_stdout=False, redirect_stderr=False)
            progress.start()
            task = progress.add_task(self._text, total=None)
            progress.tasks[0].start_time = progress.get_time() - PATIENCE
            self._shown = progress, task

    def wipe(self) -> None:
        """Removes the line, before anything else is written."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._shown is not None:
                self._shown[0].stop()
                self._shown = None
