"""What a host answers: results of commands, files, links, folders, environment. No host ever raises for a missing thing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

Problem = Literal["", "missing", "denied", "too-large", "io-error", "not-recorded"]


class CaptureError(Exception):
    """A recorded machine that cannot be read or written: one line, with the file, what is wrong and what was expected."""


class DoorError(Exception):
    """What was to be examined in place of this machine cannot be reached or read: one line that says what, why and what to do."""


LONGEST_LINE = 8_000
FLOOD_KEPT = 4_000
PAYLOAD_MARK = "@gpudoctor "
"""Begins a line of JSON from one of our own payloads."""
_STRUCTURED = ("{", "[", "<")


def bounded(text: str, flooded: bool = False) -> str:
    """What a parser may be shown: of a flood the beginning, of an endless line the beginning; JSON and XML as they are.

    Line-oriented parsers then take linear time, whatever a tool or a recording holds.
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
    """Why it was ended from here before its time was over."""
    not_run: str = ""
    """Why it was not started at all; `not_recorded` is true then, too."""

    @property
    def ok(self) -> bool:
        return self.rc == 0

    @property
    def answered(self) -> bool:
        """It ended by itself, with whatever status."""
        return self.rc is not None

    def why_not(self) -> str:
        """The reason (model.facts.REASONS) for which this command taught nothing."""
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
    """The door. Every probe asks through it, so that every probe replays."""

    origin: Literal["live", "capture"]
    platform: str
    """linux, wsl2, windows, macos or container: what a recording says, or what the live kernel is (linux, windows, macos)."""
    complete: bool
    """True where 'not found' may be believed as recorded; live hosts are complete."""
    quick: bool
    """True: no process is to be started; `run` answers not_recorded ('not inspected')."""

    target_python: str | None
    """The interpreter or environment that --python named."""

    def run(self, argv: Sequence[str], *, timeout: float = 5.0, limit: int = 4_000_000) -> Ran: ...
    def run_child(
        self, argv: Sequence[str], *, timeout: float, limit: int, env: Mapping[str, str], stdin_text: str = "", niced: bool = True
    ) -> Ran:
        """A process of the target environment: nothing is remembered; `env` is added to the environment. Captures answer not_recorded."""
        ...

    def python_environment(self) -> dict[str, Any] | None:
        """What a capture says of the target Python environment (python.json); None on a live host."""
        ...

    def read(self, path: str, *, limit: int = 1_000_000) -> Text: ...
    def exists(self, path: str) -> bool: ...
    def knows(self, path: str) -> bool:
        """False where a capture cannot tell whether the path is there; live hosts always know."""
        ...

    def listdir(self, path: str) -> list[str]:
        """Names in a folder, sorted; empty where there is none."""
        ...

    def readlink(self, path: str) -> str | None:
        """The target as written, or None."""
        ...

    def realpath(self, path: str) -> str: ...
    def mode(self, path: str) -> Mode | None: ...
    def may_open(self, path: str) -> bool | None:
        """Whether this user may open the path for reading and writing; None where that cannot be told."""
        ...

    def distrust(self, path: str, *, lies_here: bool = False) -> str:
        """'' where it may be run without being asked for by name, else why not (system.trust), in words for a program.

        `lies_here`: it is an environment that was only found in the current folder. Recorded machines say what the live one said.
        """
        ...

    def env(self, name: str) -> str | None: ...
    def env_names(self, prefix: str) -> list[str]:
        """Names of environment variables that begin with `prefix`."""
        ...

    def remaining(self) -> float:
        """Seconds left of the budget."""
        ...
