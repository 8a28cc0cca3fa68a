"""The rows of a fleet: one file for each host and run, named by the hash of its content and never changed. The files are the truth.

    STORE/rows/2026-11-23/<sha256 of the content>.json     by the day of `created`, at most a day from the collector's clock
    STORE/refused/<sha256 of the place>.json               what was no row, and why
    STORE/index.sqlite                                     made from the files

A file appears by rename, so that any number of collectors may write at once, and a collector that is killed leaves whole files only.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from gpudoctor.model.fleet_row import LARGEST_READ, FleetRow, program
from gpudoctor.model.node_sets import EXPECTED, is_name
from gpudoctor.model.typed_json import TypedJsonError, read
from gpudoctor.system import json_text
from gpudoctor.system.fleet_index import Entry, FleetIndex, RunInfo, delete_index, is_kept
from gpudoctor.system.state_folder import private_folder, state_folder, write_whole

RUN = "expected the id of a run (letters, digits, '.', '_', ':', '+' and '-', beginning with a letter or digit)"
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+-]{0,99}")
SCHEMA = re.compile(r"gpudoctor\.row/([1-9]\d{0,3})")
DAY = 86400
_DECODER = msgspec.json.Decoder(FleetRow)


class RowRefused(ValueError):
    """Bytes that are no row of a host: what is wrong, and what was expected."""


class Added(Struct, frozen=True):
    """`new`: False where the very same row was in the store already."""

    row: FleetRow
    new: bool


def store_folder(given: str | None) -> Path:
    """The folder of the store: the given one, else GPUDOCTOR_FLEET, else `fleet` in the state folder."""
    chosen = given or os.environ.get("GPUDOCTOR_FLEET")
    return Path(chosen) if chosen else state_folder() / "fleet"


def is_run(text: str) -> bool:
    """Whether the text may be the id of a run."""
    return _RUN.fullmatch(text) is not None


def decode(content: bytes) -> FleetRow:
    """The row in the bytes that a host sent. Raises RowRefused.

    A later schema gpudoctor.row/N is read as far as it is understood: its further keys are passed over.
    """
    if len(content) > LARGEST_READ:
        raise RowRefused(f"it has more than {LARGEST_READ} bytes; a row of gpudoctor has at most 8192")
    try:
        document = json_text.loads(content.decode("utf-8"))
    except ValueError as error:
        raise RowRefused(
            f"it is no JSON ({(str(error).splitlines() or ['damaged'])[0][:120]}); expected the output of gpudoctor check --format row"
        ) from None
    schema = document.get("schema") if isinstance(document, dict) else None
    version = SCHEMA.fullmatch(schema) if isinstance(schema, str) else None
    if version is None:
        raise RowRefused(
            "it names no schema gpudoctor.row/1, and no program is known that writes such documents; expected the output of"
            " gpudoctor check --format row, or of a program that docs/guide/fleet.md names"
        )
    try:
        row = read(FleetRow, {**document, "schema": "gpudoctor.row/1"})
    except TypedJsonError as error:
        raise RowRefused(f"{error}; the row was changed, or is of a gpudoctor that this one does not know") from None
    except RecursionError:
        raise RowRefused("it is nested too deep to be a row") from None
    if not is_name(row.host):
        raise RowRefused(f"host: {EXPECTED}")
    if not is_run(row.run):
        raise RowRefused(f"run: {RUN}")
    return row


class FleetStore:
    """The store in one folder. Raises OSError where it cannot be written; reading works in a folder that is read-only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._index: FleetIndex | None = None

    def add(self, content: bytes, place: str = "") -> Added:
        """Keeps a row. `place`: the file or host that it came from, for `refused`. Raises RowRefused, OSError."""
        try:
            row = decode(content)
        except RowRefused as refused:
            if place:
                self.refuse(place, str(refused))
            raise
        path = self.folder / "rows" / _day(row.created) / f"{hashlib.sha256(content).hexdigest()}.json"
        if path.exists():
            return Added(row, False)
        private_folder(self.folder)
        private_folder(self.folder / "rows")
        private_folder(path.parent)
        write_whole(path, content, durable=False)  # after a loss of power a host is asked again
        return Added(row, True)

    def rows(
        self, *, run: str | None = None, until: float | None = None, hosts: Collection[str] = (), measured: bool = False
    ) -> Iterator[FleetRow]:
        """Of each host the row of each program that arrived last: of one run, or of all, and before the moment `until` (seconds since
        1970); `measured`: only rows with measurements. A row is read when it is asked for, and a file that was damaged meanwhile is passed
        over."""
        for entry in self.index().newest(run, until, hosts, measured=measured):
            if (row := self.row_in(self.folder / entry.path)) is not None:
                yield row

    def last_rows(self, run: str) -> dict[str, str]:
        """The hosts of a run with the time at which their row was made, from the index alone."""
        return {entry.host: entry.created for entry in self.index().newest(run)}

    def every(self) -> Iterator[FleetRow]:
        """All rows, in the order of their arrival."""
        for path in list(self.index().every()):
            if (row := self.row_in(self.folder / path)) is not None:
                yield row

    def runs(self) -> list[RunInfo]:
        """The collections, newest first by the time at which their last row arrived here."""
        return self.index().runs()

    def row_in(self, path: Path) -> FleetRow | None:
        """The row of a file of the store; None for a file whose content is not what its name says."""
        content = _bytes(path)
        if content is None or hashlib.sha256(content).hexdigest() != path.stem:
            return None
        with contextlib.suppress(msgspec.DecodeError, msgspec.ValidationError):
            return _DECODER.decode(content)
        with contextlib.suppress(RowRefused):  # of a later schema
            return decode(content)
        return None

    def refuse(self, place: str, why: str) -> None:
        """Remembers that something was no row. Errors of the disk are passed over: the reason was already given to who asked."""
        with contextlib.suppress(OSError):
            private_folder(self.folder)
            private_folder(self.folder / "refused")
            name = hashlib.sha256(place.encode("utf-8", "replace")).hexdigest()[:32]
            record = json.dumps({"place": place[:300], "why": why[:300]}).encode()
            write_whole(self.folder / "refused" / f"{name}.json", record, durable=False)

    def refused(self) -> dict[str, str]:
        """What was no row, by its place, with the reason."""
        found = {}
        with contextlib.suppress(OSError):
            for entry in os.scandir(self.folder / "refused"):
                content = _bytes(Path(entry.path)) if is_kept(entry) else None
                with contextlib.suppress(ValueError, TypeError, KeyError):
                    record = json.loads(content or b"")
                    found[str(record["place"])] = str(record["why"])
        return dict(sorted(found.items()))

    def rebuild(self) -> int:
        """Makes the index again from the files, and returns the number of rows."""
        self.close()
        delete_index(self.folder)
        return sum(info.hosts for info in self.runs())

    def prune(self, days: float) -> int:
        """Deletes rows that arrived more than `days` ago, but the newest row of each host and program never; returns the number. Raises
        OSError."""
        kept = {entry.path for entry in self.index().newest()}
        before, gone = time.time() - days * DAY, 0
        for path in sorted((self.folder / "rows").glob("*/*.json")):
            if path.relative_to(self.folder).as_posix() not in kept and path.lstat().st_mtime < before:
                path.unlink(missing_ok=True)
                gone += 1
        for folder in (self.folder / "rows").glob("*"):
            _sweep(folder)
        with contextlib.suppress(OSError):
            for entry in os.scandir(self.folder / "refused"):
                if entry.stat(follow_symlinks=False).st_mtime < before:
                    os.unlink(entry.path)
        return gone

    def index(self) -> FleetIndex:
        """The index, with what arrived until now."""
        if self._index is None:
            self._index = FleetIndex(self.folder, self._entry)
        self._index.update()
        return self._index

    def close(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None

    def _entry(self, path: Path) -> Entry | None:
        row = self.row_in(path)
        if row is None:
            return None
        return Entry(
            path.relative_to(self.folder).as_posix(),
            row.host,
            program(row.tool),
            row.run,
            row.created,
            path.stat().st_mtime,
            bool(row.measurements),
        )


def _day(created: str) -> str:
    """The day of a row; today's where the clock of the host is off by more than a day, so that a wrong clock makes no strange folder."""
    moment = created[:10]
    now = time.time()
    near = {time.strftime("%Y-%m-%d", time.gmtime(now + shift * DAY)) for shift in (-1, 0, 1)}
    return moment if moment in near else time.strftime("%Y-%m-%d", time.gmtime(now))


def _bytes(path: Path) -> bytes | None:
    """The content of a file of the store; None where it is gone, a link, or larger than any row."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            content = file.read(LARGEST_READ + 1)
    except OSError:
        return None
    return content if len(content) <= LARGEST_READ else None


def _sweep(folder: Path) -> None:
    """Removes what a killed collector left, older than an hour, and the folder if it is empty."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.startswith(".new-") and entry.stat(follow_symlinks=False).st_mtime < time.time() - 3600:
                os.unlink(entry.path)
        folder.rmdir()
