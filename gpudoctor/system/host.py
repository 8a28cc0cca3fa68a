"""What a host answers: results of commands, files, links, folders, environment. No host raises for something that is missing."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

Problem = Literal["", "missing", "denied", "too-large", "io-error", "not-recorded"]


class CaptureError(Exception):
    """Raised where a recorded machine cannot be read or written: one line with the file, what is wrong and what was expected."""


class DoorError(Exception):
    """Raised where what is examined instead of this machine cannot be reached or read: one line that says what, why and what to do."""


LONGEST_LINE = 8_000
FLOOD_KEPT = 4_000
PAYLOAD_MARK = "@gpudoctor "
"""The beginning of each line of JSON that a program of target/payloads prints."""
_STRUCTURED = ("{", "[", "<")


KERNEL = ("/proc", "/sys", "/dev")
"""Folders in which the kernel shows a machine. Where they are not mounted in a root, their files belong to no machine."""
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO, errno.ENAMETOOLONG, errno.ESRCH)


def problem_of(error: Exception) -> Problem:
    """The problem for an OSError of a file; 'missing' for a ValueError, which Python raises for a path that no file can have."""
    number = getattr(error, "errno", None)
    if number is None or number in _NOT_THERE:
        return "missing"
    return "denied" if number in (errno.EACCES, errno.EPERM) else "io-error"


def printable(text: str) -> str:
    """The name of a file or the value of a variable, in which bytes that are no UTF-8 are replaced."""
    return text if text.isascii() else os.fsencode(text).decode("utf-8", "replace")


def bounded(text: str, flooded: bool = False) -> str:
    """The text for parsers: of a flood and of very long lines only the beginning; JSON and XML unchanged.

    Parsers of lines then take linear time, whatever a tool printed or a recording holds.
    """
    if flooded:
        return text[:FLOOD_KEPT]
    if len(text) <= LONGEST_LINE or text.lstrip()[:1] in _STRUCTURED:
        return text
    lines = text.split("\n")
    if max(map(len, lines)) <= LONGEST_LINE:
        return text
    return "\n".join(line if line.startswith(PAYLOAD_MARK) else line[:LONGEST_LINE] for line in lines)


class Text(Struct, frozen=True):
    """The content of a file, or why there is none. `problem` is empty when `text` is the content."""

    text: str = ""
    problem: Problem = ""

    @property
    def ok(self) -> bool:
        return not self.problem


class Ran(Struct, frozen=True):
    """A finished, missing, killed or timed-out command. `rc` is None unless it exited by itself."""

    argv: tuple[str, ...]
    rc: int | None = None
    stdout: str = ""
    stderr: str = ""
    missing: bool = False
    timed_out: bool = False
    signal: int | None = None
    truncated: bool = False
    not_recorded: bool = False
    seconds: float = 0.0
    stopped: str = ""
    """Why gpudoctor ended it before its time was over; '' where it did not."""
    not_run: str = ""
    """Why it was not started; `not_recorded` is then true as well."""

    @property
    def ok(self) -> bool:
        return self.rc == 0

    @property
    def answered(self) -> bool:
        """Whether it ended by itself, with whatever status."""
        return self.rc is not None

    def why_not(self) -> str:
        """The reason (model.facts.REASONS) why this command gives no answer."""
        if self.not_recorded:
            return f"not inspected: {self.not_run}" if self.not_run else "not recorded"
        if self.missing:
            return "tool missing"
        if self.timed_out:
            return f"timeout: {self.argv[0]}"
        if self.signal is not None:
            return f"crashed: {self.argv[0]} died with signal {self.signal}"
        if self.truncated:
            return f"too large: output of {self.argv[0]}"
        if self.rc not in (0, None):
            return f"unparsable: {self.argv[0]} exited with {self.rc}"
        return "unparsable"


class Mode(Struct, frozen=True):
    """Permissions of a path: `mode` as ls prints it (crw-rw----), owner and group names and ids where known."""

    mode: str
    owner: str
    group: str
    uid: int | None = None
    gid: int | None = None


class Host(Protocol):
    """What probes ask: a machine, a recording or a text. Since a probe asks nothing else, it can be replayed."""

    origin: Literal["live", "capture"]
    platform: str
    """linux, wsl2, windows, macos or container: what a recording says, or what the live kernel is (linux, windows, macos)."""
    complete: bool
    """Whether what is not found is absent: True for live hosts and for recordings in which everything was asked."""
    quick: bool
    """Whether no process may be started; `run` then answers not_recorded ('not inspected')."""

    target_python: str | None
    """The interpreter or environment that --python named."""

    def run(self, argv: Sequence[str], *, timeout: float = 5.0, limit: int = 4_000_000) -> Ran: ...
    def run_child(
        self, argv: Sequence[str], *, timeout: float, limit: int, env: Mapping[str, str], stdin_text: str = "", niced: bool = True
    ) -> Ran:
        """Runs a process of the target environment each time it is called. `env` is added to the environment. Captures answer
        not_recorded."""
        ...

    def python_environment(self) -> dict[str, Any] | None:
        """The target Python environment in a capture (python.json); None on a live host."""
        ...

    def read(self, path: str, *, limit: int = 1_000_000) -> Text: ...
    def exists(self, path: str) -> bool: ...
    def knows(self, path: str) -> bool:
        """Whether it is known if the path exists: False where a capture does not show it; live hosts always know."""
        ...

    def listdir(self, path: str) -> list[str]:
        """Names in a folder, sorted; empty where there is none."""
        ...

    def readlink(self, path: str) -> str | None:
        """The target of a link as written; None for what is no link."""
        ...

    def realpath(self, path: str) -> str: ...
    def mode(self, path: str) -> Mode | None: ...
    def may_open(self, path: str) -> bool | None:
        """Whether this user may open the path for reading and writing; None where that is unknown."""
        ...

    def distrust(self, path: str, *, lies_here: bool = False) -> str:
        """'' where the path may be run although nobody named it, else why not, as system.trust.distrust writes it.

        `lies_here`: it is an environment that was found in the current folder. Recorded machines answer as the live one did.
        """
        ...

    def env(self, name: str) -> str | None: ...
    def env_names(self, prefix: str) -> list[str]:
        """Names of environment variables that begin with `prefix`."""
        ...

    def remaining(self) -> float:
        """The seconds that are left of the budget."""
        ...
