"""The interface through which a machine is changed: one process at a time, journaled before it runs, with its output in a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from gpudoctor.system.host import Host


class ActFailed(Exception):
    """Raised where an act failed: `str()` is one line with the reason, `advice` the next step, `tail` the end of the log."""

    def __init__(self, reason: str, advice: str = "", tail: str = "") -> None:
        super().__init__(reason)
        self.advice, self.tail = advice, tail


class NeedsRoot(ActFailed):
    """Raised where this process cannot become root: `commands` are those that a person with root rights must run."""

    def __init__(self, commands: Sequence[Sequence[str]], why: str = "sudo is not installed") -> None:
        super().__init__(f"this needs root rights, and {why}", "run the commands as root, then gpudoctor setup --resume")
        self.commands = tuple(tuple(argv) for argv in commands)
        self.why = why


class Done(Struct, frozen=True):
    """A process that ended. `output`: the last 64 KiB of both streams, decoded; the log of the run holds all."""

    rc: int
    output: str


class WritableHost(Protocol):
    """The machine that a run changes. Kinds of steps use nothing else."""

    @property
    def look(self) -> Host:
        """A host that reads the present state and remembers nothing."""
        ...

    is_root: bool
    offline: bool
    """Whether no network may be used, as with an offline bundle."""

    def run(
        self,
        argv: Sequence[str],
        *,
        root: bool = False,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        check: bool = True,
        finish: bool = False,
        advice: str = "",
        limit: float = 7200.0,
    ) -> Done:
        """Runs a command to its end, with LC_ALL=C and without standard input. `check`: a status other than 0 raises ActFailed with
        `advice`.

        `finish`: it must not be stopped in the middle (dpkg, rpm): after an interruption it is waited for, while others are ended.
        Raises NeedsRoot.
        """
        ...

    def ask(self, argv: Sequence[str], *, root: bool = False, env: Mapping[str, str] | None = None, limit: float = 120.0) -> Done:
        """Runs a command that only reads, such as a simulation or a query: it is not journaled, and `output` holds standard output
        alone."""
        ...

    def read(self, path: str, *, root: bool = False) -> bytes | None:
        """The whole content of a file; None where there is none. Raises ActFailed where it cannot be read."""
        ...

    def write(self, path: str, content: bytes, *, mode: int = 0o644, root: bool = False, owner: str | None = None) -> None:
        """Writes a file atomically. The folders above must exist; links are followed. `owner`: user:group, with root.

        Without `mode` or `owner`, that of an existing file stays.
        """
        ...

    def make_folder(self, path: str, *, mode: int = 0o755, root: bool = False) -> None: ...
    def remove(self, path: str, *, root: bool = False) -> None:
        """Removes a file or link, which need not exist."""
        ...

    def remove_empty_folder(self, path: str, *, root: bool = False) -> bool:
        """Removes a folder if it is empty; returns whether it does not exist now."""
        ...

    def remove_tree(self, path: str) -> None:
        """Removes a folder of this user with everything in it; links are not followed. It need not exist."""
        ...

    def rename(self, source: str, target: str) -> None: ...
    def list_tree(self, path: str) -> dict[str, str]:
        """The paths below a folder with marks (system.snapshots): two listings are equal where nothing has changed."""
        ...

    def snapshot_tree(self, source: str, target: str) -> None:
        """Copies a folder by hard links, links included; `target` appears when it is complete."""
        ...

    def restore_tree(self, snapshot: str, target: str, after: Mapping[str, str] | None = None) -> tuple[str, ...]:
        """Gives `target` the content of the snapshot, but keeps and returns paths that have changed since `after`, a result of
        list_tree."""
        ...

    def drop_snapshot(self, snapshot: str) -> None: ...
    def unpack(self, archive: str, target: str) -> None:
        """Unpacks a tar or zip file into a folder that appears when it is complete. Raises ActFailed, also for paths and links that lead
        out of it."""
        ...

    def fetch(self, url: str, *, limit: int = 5_000_000_000) -> bytes:
        """The content of a small document, such as a key. Raises ActFailed with the reason, also when `offline`."""
        ...

    def download(self, url: str, path: str, *, sha256: str, size: int | None = None) -> None:
        """Downloads a file to `path`, continuing a part of it; it is removed where the checksum differs. Raises ActFailed."""
        ...

    def say(self, text: str) -> None:
        """Shows progress on a terminal; in a pipe it does nothing."""
        ...
