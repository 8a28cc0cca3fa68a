"""The log of a run: every command and its output, which the children write into it themselves."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpudoctor.model.lazy_pattern import lazy

_ESCAPES = lazy(r"\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|.)")
_PASSWORD = lazy(r"(://)[^/\s]+@")
_COMPLAINT = lazy(r"(E: |error\b|.*\bERROR\b|fatal\b|dpkg: error)", re.I)


class RunLog:
    """A log that only its owner can read, since output may hold addresses of mirrors."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)

    @contextlib.contextmanager
    def entry(self, argv: Sequence[str]) -> Iterator[int]:
        """A descriptor for the output of a command, after a line that names it."""
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
        try:
            line = _PASSWORD.sub(r"\1***@", shlex.join(argv))
            os.write(descriptor, f"\n# {time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n".encode("utf-8", "replace"))
            yield descriptor
        finally:
            os.close(descriptor)

    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def tail(self, begin: int, most: int) -> str:
        """The last `most` bytes of the text from the position `begin` on."""
        with open(self.path, "rb") as handle:
            end = handle.seek(0, os.SEEK_END)
            handle.seek(max(begin, end - most))
            return handle.read(most).decode("utf-8", "replace")

    def last_line(self, begin: int) -> str:
        return next(reversed(shown_lines(self.tail(begin, 4096))), "")


def shown_lines(text: str) -> list[str]:
    """The lines of an output in a form that can be shown: without escapes, control characters, empty and very long lines."""
    lines = (_ESCAPES.sub("", line[:4096]) for line in re.split(r"[\r\n]+", text))
    shown = ("".join(letter if letter.isprintable() else " " for letter in line).strip()[:200] for line in lines)
    return [line for line in shown if line]


def complaint(lines: Sequence[str]) -> str:
    """The line that most likely gives the reason of a failure; '' where there are no lines."""
    return next((line for line in reversed(lines) if _COMPLAINT.match(line)), lines[-1] if lines else "")
