"""The index of a fleet's rows: SQLite, made from the files and brought up to date before each question. Deleting it loses nothing."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

FORMAT = 3
"""The version of the tables. An index of another one is made again."""
_TABLES = """
create table if not exists rows (path text primary key, host text, program text, run text, created text, arrived real, measured integer);
create index if not exists by_run on rows (run, host, arrived);
create table if not exists folders (name text primary key, changed integer, files integer);
"""
_ROW = "insert or replace into rows values (?, ?, ?, ?, ?, ?, ?)"


class Entry(Struct, frozen=True):
    """One row: where it lies, and when it arrived at this collector (seconds since 1970)."""

    path: str
    host: str
    program: str
    run: str
    created: str
    arrived: float
    measured: bool
    """Whether the row has measurements."""


class RunInfo(Struct, frozen=True):
    """One collection. `created`: the time (UTC, by this collector's clock) at which its last row arrived."""

    run: str
    created: str
    hosts: int
    measured: int
    """The rows with measurements."""


Reader = Callable[[Path], Entry | None]
"""Reads the file of a row for the index; None for a file that is no row."""


class FleetIndex:
    """The index of one store. Where it cannot be written (a full or read-only disk) it is kept in memory for this run."""

    def __init__(self, folder: Path, reader: Reader) -> None:
        self.folder, self.reader = folder, reader
        self.base = self._opened()

    def _opened(self) -> sqlite3.Connection:
        path = self.folder / "index.sqlite"
        for attempt in (1, 2):
            base = None
            try:
                base = sqlite3.connect(path, timeout=20.0, isolation_level=None)
                base.execute("pragma journal_mode=wal")
                base.execute("pragma synchronous=off")  # the files are the truth
                if base.execute("pragma user_version").fetchone()[0] not in (0, FORMAT):
                    raise sqlite3.DatabaseError("an index of another version")
                base.executescript(_TABLES)
                base.execute(f"pragma user_version={FORMAT}")
                return base
            except sqlite3.OperationalError:
                break  # read-only, full, or locked by another collector for long
            except sqlite3.DatabaseError:  # damaged, or of another version
                if base is not None:
                    base.close()
                if attempt == 1:
                    delete_index(self.folder)
        base = sqlite3.connect(":memory:", isolation_level=None)
        base.executescript(_TABLES)
        return base

    def close(self) -> None:
        self.base.close()

    def update(self) -> None:
        """Takes up what other collectors, or a copy of files, added or removed since: folders whose time or number of files changed."""
        rows = self.folder / "rows"
        known = {name: (changed, files) for name, changed, files in self.base.execute("select name, changed, files from folders")}
        with contextlib.suppress(OSError):
            present = sorted(entry.name for entry in os.scandir(rows) if entry.is_dir(follow_symlinks=False))
            for name in present:
                changed = os.stat(rows / name).st_mtime_ns
                files = {entry.name for entry in os.scandir(rows / name) if is_kept(entry)}
                if known.pop(name, None) != (changed, len(files)):
                    self._take(name, files, changed)
            for name in known:
                self._take(name, set(), 0)

    def _take(self, name: str, files: set[str], changed: int) -> None:
        """Brings the entries of one folder up to date."""
        prefix = f"rows/{name}/"
        old = {path for (path,) in self.base.execute("select path from rows where path >= ? and path < ?", (prefix, f"rows/{name}0"))}
        now = {prefix + file for file in files}
        found = (self.reader(self.folder / path) for path in sorted(now - old))
        with self._together():
            self.base.executemany("delete from rows where path = ?", [(path,) for path in old - now])
            self.base.executemany(_ROW, (_values(entry) for entry in found if entry is not None))
            if files:
                self.base.execute("insert or replace into folders values (?, ?, ?)", (name, changed, len(files)))
            else:
                self.base.execute("delete from folders where name = ?", (name,))

    @contextlib.contextmanager
    def _together(self) -> Iterator[None]:
        self.base.execute("begin immediate")
        try:
            yield
        except BaseException:
            self.base.execute("rollback")
            raise
        self.base.execute("commit")

    def runs(self) -> list[RunInfo]:
        """The newest first, by the time of arrival of their last row."""
        asked = (
            "select run, strftime('%Y-%m-%dT%H:%M:%SZ', max(arrived), 'unixepoch'), count(distinct host), sum(measured)"
            " from rows group by run order by max(arrived) desc, run desc"
        )
        return [RunInfo(*found) for found in self.base.execute(asked)]

    def newest(
        self, run: str | None = None, until: float | None = None, hosts: Collection[str] = (), *, measured: bool = False
    ) -> Sequence[Entry]:
        """Of each host and program the entry that arrived last: of one run, or of all, and before the moment `until`. `measured`: only of
        rows with measurements."""
        conditions, given = ["1"], list[object]()
        for condition, value in (("run = ?", run), ("arrived < ?", until)):
            if value is not None:
                conditions.append(condition)
                given.append(value)
        if measured:
            conditions.append("measured")
        columns, where = "path, host, program, run, created, max(arrived), measured", " and ".join(conditions)
        asked = f"select {columns} from rows where {where} group by host, program"
        wanted = frozenset(hosts)
        return [entry for found in self.base.execute(asked, given) if (entry := Entry(*found)).host in wanted or not wanted]

    def every(self) -> Iterator[str]:
        """The paths of all rows, in the order of their arrival."""
        return (path for (path,) in self.base.execute("select path from rows order by arrived, path"))


def delete_index(folder: Path) -> None:
    """Removes the files of the index of a store."""
    for name in ("index.sqlite", "index.sqlite-wal", "index.sqlite-shm"):
        with contextlib.suppress(OSError):
            os.unlink(folder / name)


def is_kept(entry: os.DirEntry[str]) -> bool:
    """Whether a file of the store is one that appeared whole: not what a killed collector left, nor a link."""
    return entry.name.endswith(".json") and not entry.name.startswith(".") and entry.is_file(follow_symlinks=False)


def _values(entry: Entry) -> tuple[str, str, str, str, str, float, bool]:
    return (entry.path, entry.host, entry.program, entry.run, entry.created, entry.arrived, entry.measured)
