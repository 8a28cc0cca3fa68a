"""What an engine is asked, and what it gives back: the same for all transports."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from gpudoctor.model.fleet_row import LARGEST_READ
from gpudoctor.system import json_text

MOST_ERRORS = 8192
"""Bytes of the standard error of a host that are kept, from its end."""
BY_SSH = (
    ("connection refused", "ssh: connection refused"),
    ("permission denied", "ssh: permission denied"),
    ("could not resolve", "ssh: no host of this name"),
    ("host key verification failed", "ssh: its host key is not known, or has changed"),
    ("remote host identification has changed", "ssh: its host key is not known, or has changed"),
    ("no route to host", "ssh: no route to the host"),
    ("timed out", "ssh: no connection in time"),
    ("closed by remote host", "ssh: the connection was closed"),
    ("connection closed", "ssh: the connection was closed"),
    ("connection reset", "ssh: the connection was closed"),
    ("broken pipe", "ssh: the connection was closed"),
)  # fmt: skip
"""What ssh says, in lower case, and the reason that is kept, so that the same failure of many hosts is one text."""
FLOODED = f"its answer has more than {LARGEST_READ} bytes"
_NOT_SHOWN = re.compile(r"[^\x20-\x7e\xa0-\u2fff]+")


class EngineError(ValueError):
    """An engine that cannot be used here: what it lacks, and what to do."""


class Asked(Struct, frozen=True, kw_only=True):
    """One question to many hosts."""

    hosts: Sequence[str]
    """Their names as the site calls them; checked by the caller."""
    command: Sequence[str]
    """gpudoctor as it is called on the hosts. A file that is brought along, and the workers of a Python cluster, need none."""
    arguments: Sequence[str]
    """What gpudoctor is asked there: check --format row."""
    variables: Mapping[str, str]
    """Environment variables of the command. GPUDOCTOR_HOST is added for each host."""
    timeout: float
    """Seconds for one host, from the start of the command there."""
    file: Path | None = None
    """gpudoctor.pyz, which is copied to each host, run there and removed."""
    checksum: str = ""
    """SHA-256 of the file, as hexadecimal digits."""


class Answer(Struct, frozen=True):
    """What one host sent (at most LARGEST_READ bytes and what came with the last read), and why nothing more came of it."""

    host: str
    output: bytes = b""
    why: str = ""


Taker = Callable[[Answer], None]
"""Called once for each host, as soon as it has answered or failed. What it raises ends the collection."""


class Engine(Protocol):
    """One transport."""

    def hosts(self, given: str, expand: Callable[[str], Sequence[str]]) -> Sequence[str]:
        """The hosts of a node set, or all that the engine knows where none was given. Raises EngineError.

        `expand` reads a plain node set.
        """

    def ask(self, asked: Asked, take: Taker) -> None:
        """Asks all hosts. A host that fails stops no other one. Raises EngineError where none can be asked."""


def last_row(output: bytes) -> bytes | None:
    """The last line that is a JSON object; banners of a login may stand before it. None where there is none."""
    for line in reversed(output[: LARGEST_READ + 1].splitlines()):
        text = line.strip()
        if text.startswith(b"{") and text.endswith(b"}"):
            try:
                json_text.loads(text.decode("utf-8"))
            except (ValueError, RecursionError):
                continue
            return text
    return None


def why_none(host: str, status: int | None, output: bytes, errors: bytes) -> str:
    """Why a command gave no row, in a few words without the host's own name, so that equal reasons can be folded."""
    said = one_line(errors[-MOST_ERRORS:].decode("utf-8", "replace"))
    low = said.lower()
    if status == 255:
        return next((words for sign, words in BY_SSH if sign in low), f"ssh: {_without(host, said) or 'it ended with status 255'}")
    if status in (126, 127):
        return f"the command is not there ({_without(host, said) or f'exit status {status}'}); name it by --command, or use --deploy"
    if output.strip():
        start = output.lstrip()[:1] == b"{"
        return "its answer broke off in the middle" if start else "its answer is no row"
    ended = f"exit status {status}" if status is not None else "it ended"
    return f"{ended} without an answer{f': {_without(host, said)}' if said else ''}"


def late(seconds: float) -> str:
    return f"no answer within {seconds:g} s"


def one_line(text: str) -> str:
    """The last line with something on it, printable and at most 160 characters."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return _NOT_SHOWN.sub(" ", lines[-1])[:160] if lines else ""


def _without(host: str, said: str) -> str:
    return re.sub(rf"(?<![A-Za-z0-9.-]){re.escape(host)}(?![A-Za-z0-9-])", "HOST", said)
