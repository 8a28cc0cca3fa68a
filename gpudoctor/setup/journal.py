"""What setup planned, began, did and undid, in SQLite. It is written before each act, so that a run can continue after any interruption."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from gpudoctor.model.plan import DONE, TODO, Plan
from gpudoctor.setup.plan_store import plan_from_json, plan_to_json
from gpudoctor.system.portable import lock_file
from gpudoctor.system.state_folder import tighten

UNFINISHED = ("running", "waiting", "failed", "interrupted", "undoing")
"""States of a run that has to be resumed or undone before another begins."""
FORMAT = 1
_SCHEMA = """
CREATE TABLE run (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, plan TEXT, tool TEXT, started TEXT, ended TEXT, state TEXT, note TEXT);
CREATE TABLE step (run INTEGER, number INTEGER, state TEXT, before TEXT, after TEXT, note TEXT, PRIMARY KEY (run, number));
CREATE TABLE child (run INTEGER, step INTEGER, pid INTEGER, began INTEGER, finish INTEGER, argv TEXT, ended INTEGER DEFAULT 0);
"""


class JournalError(Exception):
    """Raised where the journal cannot be used or another run holds it, with one line that names the next step."""


class StepRow(Struct, frozen=True):
    """A step of a run. `state`: todo, skipped, begun, waiting, done, failed, undoing, undone, kept."""

    number: int
    state: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    note: str


class RunRow(Struct, frozen=True):
    """A run. `state`: running, waiting, failed, interrupted, done, unverified, undoing, undone, kept."""

    id: int
    name: str
    plan: Plan
    started: str
    state: str
    note: str
    steps: tuple[StepRow, ...]


class JournaledProcess(Struct, frozen=True):
    """A process that a run started. `began` is its start time in clock ticks since boot, which identifies it together with the pid.

    Its arguments are not kept, since the address of a proxy among them may hold a password. `finish`: it must run to its end.
    """

    pid: int
    began: int
    finish: bool
    program: str


def _made_private(path: Path) -> None:
    """Creates the file with mode 0600, whatever the umask. Raises OSError for a link."""
    flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    os.close(os.open(path, flags, 0o600))


class Journal:
    """The journal in a state folder. Within `held()` no other run can act."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            _made_private(folder / "journal.sqlite")
            tighten(folder)
            self._database = sqlite3.connect(folder / "journal.sqlite", isolation_level=None, timeout=30)
            self._database.execute("PRAGMA synchronous=FULL")
            self._prepare()
        except (OSError, sqlite3.Error) as error:
            advice = "set XDG_STATE_HOME to a folder of yours"
            raise JournalError(f"{folder}: the journal of setup cannot be opened ({error}); {advice}") from error

    def _prepare(self) -> None:
        with self._whole():
            version = self._database.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                for statement in _SCHEMA.strip().splitlines():
                    self._database.execute(statement)
                self._database.execute(f"PRAGMA user_version={FORMAT}")
            elif version != FORMAT:
                raise sqlite3.DatabaseError(f"it is of format {version}, this gpudoctor writes {FORMAT}")

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        try:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # a full disk has ended the transaction already
                    self._database.execute("ROLLBACK")
                raise
        except sqlite3.OperationalError as error:
            advice = "free some space, then gpudoctor setup --resume continues"
            raise JournalError(f"{self.folder}: the journal of setup cannot be written ({error}); {advice}") from error

    def close(self) -> None:
        self._database.close()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Holds the lock of the journal. Raises JournalError while another gpudoctor holds it; the system releases it when that one
        ends."""
        with open(self.folder / "setup.lock", "a+b") as file:
            if not lock_file(file.fileno()):
                file.seek(0)
                holder = file.read(32).decode("ascii", "replace").strip()
                raise JournalError(f"another gpudoctor setup is at work (process {holder or 'unknown'}); wait for it, or end it first")
            file.truncate(0)
            file.write(str(os.getpid()).encode())
            file.flush()
            yield

    # runs

    def start(self, plan: Plan, tool: str) -> int:
        with self._whole():
            cursor = self._database.execute(
                "INSERT INTO run (name, plan, tool, started, state, note) VALUES (?, ?, ?, ?, 'running', '')",
                (plan.name, json.dumps(plan_to_json(plan)), tool, _now()),
            )
            run = int(cursor.lastrowid or 0)
            for step in plan.steps:
                state = "skipped" if step.state == DONE else "todo" if step.state == TODO else step.state
                self._database.execute("INSERT INTO step (run, number, state, note) VALUES (?, ?, ?, '')", (run, step.number, state))
        return run

    def set_run(self, run: int, state: str, note: str = "") -> None:
        ended = "" if state in UNFINISHED else _now()
        self._database.execute("UPDATE run SET state=?, note=?, ended=? WHERE id=?", (state, note, ended, run))

    def run(self, number: int) -> RunRow | None:
        return next(iter(self._runs("WHERE id=?", (number,))), None)

    def runs(self) -> list[RunRow]:
        """All runs, the oldest first."""
        return self._runs("ORDER BY id", ())

    def unfinished(self) -> RunRow | None:
        return next((row for row in reversed(self.runs()) if row.state in UNFINISHED), None)

    def _runs(self, where: str, values: Sequence[Any]) -> list[RunRow]:
        found = self._database.execute(f"SELECT id, name, plan, started, state, note FROM run {where}", values).fetchall()
        return [
            RunRow(number, name, self._plan(number, plan), started, state, note, tuple(self._steps(number)))
            for number, name, plan, started, state, note in found
        ]

    def _plan(self, run: int, text: str) -> Plan:
        try:
            return plan_from_json(json.loads(text))
        except (ValueError, RecursionError) as error:
            advice = "move the file away to begin a new journal; what its runs installed can then no longer be undone"
            raise JournalError(f"{self.folder / 'journal.sqlite'}: the plan of run {run} cannot be read ({error}); {advice}") from error

    # steps

    def _steps(self, run: int) -> Iterator[StepRow]:
        rows = self._database.execute("SELECT number, state, before, after, note FROM step WHERE run=? ORDER BY number", (run,))
        for number, state, before, after, note in rows.fetchall():
            yield StepRow(number, state, json.loads(before) if before else None, json.loads(after) if after else None, note)

    def steps(self, run: int) -> dict[int, StepRow]:
        return {row.number: row for row in self._steps(run)}

    def begin(self, run: int, step: int, before: Mapping[str, Any]) -> None:
        self._database.execute(
            "UPDATE step SET state='begun', before=? WHERE run=? AND number=?", (json.dumps(dict(before)), run, step)
        )  # fmt: skip

    def finish(self, run: int, step: int, after: Mapping[str, Any]) -> None:
        self._database.execute(
            "UPDATE step SET state='done', after=?, note='' WHERE run=? AND number=?", (json.dumps(dict(after)), run, step)
        )  # fmt: skip

    def set_step(self, run: int, step: int, state: str, note: str = "") -> None:
        self._database.execute("UPDATE step SET state=?, note=? WHERE run=? AND number=?", (state, note, run, step))

    # children

    def child_starts(self, run: int, step: int, child: JournaledProcess) -> None:
        self._database.execute(
            "INSERT INTO child (run, step, pid, began, finish, argv) VALUES (?, ?, ?, ?, ?, ?)",
            (run, step, child.pid, child.began, int(child.finish), json.dumps([child.program])),
        )

    def child_ends(self, run: int, pid: int) -> None:
        self._database.execute("UPDATE child SET ended=1 WHERE run=? AND pid=?", (run, pid))

    def open_children(self, run: int) -> list[JournaledProcess]:
        """The processes of a run whose end was not seen."""
        rows = self._database.execute("SELECT pid, began, finish, argv FROM child WHERE run=? AND ended=0 ORDER BY rowid", (run,))
        return [JournaledProcess(pid, began, bool(finish), json.loads(argv)[0]) for pid, began, finish, argv in rows.fetchall()]


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
