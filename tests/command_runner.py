"""Runs commands of gpudoctor, each in a fork of a small process of its own, and measures what each one takes.

Linux counts the memory that a process had when it forked as its child's. The process that forks here has imported gpudoctor and holds
nothing else, whatever the tests around it hold: what is measured is gpudoctor's own memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

MOST_CPU_SECONDS = 30
"""After so many the kernel ends a command."""


class Measured(NamedTuple):
    status: int
    signal: int
    seconds: float
    """Of the processor."""
    most: int
    """Bytes of memory."""
    out: str
    error: str


class CommandRunner:
    """The small process; it ends with its block."""

    def __enter__(self) -> CommandRunner:
        self.process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.process.communicate()

    def run(self, folder: Path, words: Sequence[str]) -> Measured:
        """The command line, started in the folder."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps([str(folder), list(words)]) + "\n")
        self.process.stdin.flush()
        status, signal, seconds, most = json.loads(self.process.stdout.readline())
        said = [(folder / name).read_text(encoding="utf-8", errors="replace") for name in (".out", ".error")]
        return Measured(status, signal, seconds, most, *said)


def _serve() -> None:
    from gpudoctor.services import explaining

    explaining.explain(explaining.ExplainRequest(text=[b"x"]))  # what every command would do again otherwise
    for line in sys.stdin:
        folder, words = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _command(folder, words)
        _, how, used = os.wait4(pid, 0)
        signal = os.WTERMSIG(how) if os.WIFSIGNALED(how) else 0
        status = -1 if signal else os.waitstatus_to_exitcode(how)
        sys.stdout.write(json.dumps([status, signal, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024]) + "\n")
        sys.stdout.flush()


def _command(folder: str, words: list[str]) -> None:
    """In the fork; never returns."""
    from gpudoctor import cli

    status = 99
    try:
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_SECONDS, MOST_CPU_SECONDS))
        os.environ |= {"HOME": folder, "XDG_STATE_HOME": f"{folder}/state", "GPUDOCTOR_HISTORY": "0", "NO_COLOR": "1"}
        for number, name in ((0, "/dev/null"), (1, ".out"), (2, ".error")):
            os.dup2(os.open(name, os.O_RDWR | os.O_CREAT, 0o600), number)
        with contextlib.suppress(SystemExit):
            status = cli.run(words)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


if __name__ == "__main__":
    _serve()
