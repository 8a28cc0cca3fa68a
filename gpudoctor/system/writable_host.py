"""The door through which a machine is changed: one process at a time, journaled before it runs, its output in a log file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from gpudoctor.system.host import Host


class ActFailed(Exception):
    """An act that did not succeed: `str()` is one line with the reason; `advice` the next step; `tail` the end of the log."""

    def __init__(self, reason: str, advice: str = "", tail: str = "") -> None:
        super().__init__(reason)
        self.advice, self.tail = advice, tail


class NeedsRoot(ActFailed):
    """There is no way to become root here: `commands` are what a person with the rights must run."""

    def __init__(self, commands: Sequence[Sequence[str]], why: str = "sudo is not installed") -> None:
        super().__init__(f"this needs root rights, and {why}", "run the commands as root, then gpudoctor setup --resume")
        self.commands = tuple(tuple(argv) for argv in commands)
        self.why = why


class Done(Struct, frozen=True):
    """A process that ended. `output` is the last 64 KiB of both streams, decoded; the whole of it is in the log of the run."""

    rc: int
    output: str


class WritableHost(Protocol):
    """The machine that a run changes. Everything a kind does goes through here."""

    @property
    def look(self) -> Host:
        """Reads of the present state; nothing is remembered."""
        ...

    is_root: bool
    offline: bool
    """No network may be used (an offline bundle is)."""

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
        """Runs it to its end, LC_ALL=C, no standard input. `check`: a status other than 0 raises ActFailed with `advice`.

        `finish`: it must not be stopped in the middle (dpkg, rpm): after an interruption it is waited for, others are ended.
        Raises NeedsRoot.
        """
        ...

    def ask(self, argv: Sequence[str], *, root: bool = False, env: Mapping[str, str] | None = None, limit: float = 120.0) -> Done:
        """A command that only reads (simulations, queries): not journaled, standard output alone in `output`."""
        ...

    def read(self, path: str, *, root: bool = False) -> bytes | None:
        """The whole content; None where there is no such file. Raises ActFailed where it cannot be read."""
        ...

    def write(self, path: str, content: bytes, *, mode: int = 0o644, root: bool = False, owner: str | None = None) -> None:
        """Atomic: the old content or the new one, never a part. Folders above must exist, links are followed. `owner`: user:group (root).

        Where `mode` or `owner` is not given, that of the file that is there stays.
        """
        ...

    def make_folder(self, path: str, *, mode: int = 0o755, root: bool = False) -> None: ...
    def remove(self, path: str, *, root: bool = False) -> None:
        """A file or a link; not there is fine."""
        ...

    def remove_empty_folder(self, path: str, *, root: bool = False) -> bool:
        """Removes a folder if it is empty. True where it is gone now."""
        ...

    def remove_tree(self, path: str) -> None:
        """A folder with everything in it, of this user; links are not followed; not there is fine."""
        ...

    def rename(self, source: str, target: str) -> None: ...
    def list_tree(self, path: str) -> dict[str, str]:
        """Paths below a folder to what each is (system.snapshots): two looks compare equal where nothing changed."""
        ...

    def snapshot_tree(self, source: str, target: str) -> None:
        """A copy by hard links, links kept; `target` is there only once it is whole."""
        ...

    def restore_tree(self, snapshot: str, target: str, after: Mapping[str, str] | None = None) -> tuple[str, ...]:
        """Makes `target` what the snapshot holds, but keeps what is not as `after` (of list_tree) says: that changed since."""
        ...

    def drop_snapshot(self, snapshot: str) -> None: ...
    def unpack(self, archive: str, target: str) -> None:
        """A tar or zip into a folder that is there only once all of it is. Raises ActFailed, also for paths and links that lead out."""
        ...

    def fetch(self, url: str, *, limit: int = 5_000_000_000) -> bytes:
        """A small document (a key), whole. Raises ActFailed with the reason. Never used when `offline`."""
        ...

    def download(self, url: str, path: str, *, sha256: str, size: int | None = None) -> None:
        """To `path`, continued where a part is there; refused (and removed) where the checksum is another. Raises ActFailed."""
        ...

    def say(self, text: str) -> None:
        """Progress: shown on a terminal, silent in a pipe."""
        ...
