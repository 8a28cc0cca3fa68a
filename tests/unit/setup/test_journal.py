"""What the journal keeps, and that one run at a time acts."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from gpudoctor.model.plan import DONE, Command, FileChange, Plan, PlannedStep, Refusal, Word
from gpudoctor.setup.journal import Journal, JournaledProcess, JournalError
from gpudoctor.setup.packages.pip_command import alone
from gpudoctor.setup.plan_store import plan_from_json, plan_to_json
from gpudoctor.system.live_changes import ActingHost
from gpudoctor.system.local_host import LocalHost
from gpudoctor.system.state_folder import state_folder

ACTS = (Command(argv=("true", "x"), env={"E": "1"}), FileChange(path="/x", content="é"), Word(text="do"))
FIRST = PlannedStep(
    number=1, kind="file", title="one", why="", layer="framework", recipe="cpu", settings={"path": "/x", "n": [1, {"a": None}]},
    acts=ACTS, changes=("writes",),
)  # fmt: skip
SECOND = PlannedStep(number=2, kind="file", title="two", why="", layer="framework", recipe="cpu", settings={}, state=DONE, note="there")
PLAN = Plan(
    name="cpu", recipe="cpu", title="PyTorch on the processor", stack="torch-cpu", compute="torch-cpu", machine="a machine", env="/env",
    refusals=(Refusal(title="no", advice="do"),), warnings=("w",), variables={"A": "b"}, steps=(FIRST, SECOND),
)  # fmt: skip

HOLD = """
import sys, time
from collections.abc import Sequence
from pathlib import Path
from gpudoctor.setup.journal import Journal
with Journal(Path(sys.argv[1])).held():
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_plan_comes_back_as_it_was():
    assert plan_from_json(json.loads(json.dumps(plan_to_json(PLAN)))) == PLAN


def test_a_plan_that_was_damaged_is_named_in_one_line(tmp_path: Path):
    journal = Journal(tmp_path)
    journal.start(PLAN, "1")
    journal.close()
    with sqlite3.connect(tmp_path / "journal.sqlite") as database:
        plan = json.loads(database.execute("SELECT plan FROM run").fetchone()[0])
        plan["steps"][0]["number"] = "one"
        database.execute("UPDATE run SET plan=?", (json.dumps(plan),))
    with pytest.raises(
        JournalError, match=r"the plan of run 1 cannot be read \(steps\[0\]\.number: expected a whole number, found a text\)"
    ):
        Journal(tmp_path).runs()


def test_steps_that_hold_already_are_never_begun(tmp_path: Path):
    journal = Journal(tmp_path)
    run = journal.start(PLAN, "1")
    assert {number: row.state for number, row in journal.steps(run).items()} == {1: "todo", 2: "skipped"}


def test_what_was_begun_is_there_for_another_process(tmp_path: Path):
    journal = Journal(tmp_path)
    run = journal.start(PLAN, "1")
    journal.begin(run, 1, {"old": "content"})
    seen = Journal(tmp_path).unfinished()
    assert seen is not None and seen.id == run and seen.plan == PLAN
    assert (seen.steps[0].state, seen.steps[0].before, seen.steps[0].after) == ("begun", {"old": "content"}, None)
    journal.finish(run, 1, {"new": "content"})
    journal.set_run(run, "done")
    assert Journal(tmp_path).unfinished() is None
    assert Journal(tmp_path).runs()[0].steps[0].after == {"new": "content"}


def test_a_child_is_open_until_its_end_was_seen(tmp_path: Path):
    journal = Journal(tmp_path)
    run = journal.start(PLAN, "1")
    journal.child_starts(run, 1, JournaledProcess(41, 7, True, "apt-get"))
    journal.child_starts(run, 1, JournaledProcess(42, 8, False, "pip"))
    journal.child_ends(run, 42)
    assert journal.open_children(run) == [JournaledProcess(41, 7, True, "apt-get")]


@pytest.mark.starts_processes("a second doctor holds the journal")
def test_no_password_of_a_proxy_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """pip is given the proxy as an argument; neither the journal nor the log of the run keeps its password."""
    monkeypatch.setenv("PIP_PROXY", "http://anna:ple@se-not@127.0.0.1:9")
    argv = alone(["/bin/true", "-m", "pip", "install", "torch"], LocalHost())
    assert "http://anna:ple@se-not@127.0.0.1:9" in argv
    journal = Journal(tmp_path)
    run = journal.start(PLAN, "1")

    def starts(pid: int, began: int, finish: bool, words: Sequence[str]) -> None:
        journal.child_starts(run, 1, JournaledProcess(pid, began, finish, words[0]))

    ActingHost(LocalHost(), log=tmp_path / "run-1.log", on_child=starts).run(argv)
    journal.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert b"/bin/true" in kept and b"not@" not in kept and b"anna" not in kept


@pytest.mark.starts_processes("a second doctor holds the journal")
def test_a_second_run_is_told_who_is_at_work_and_let_in_when_the_first_dies(tmp_path: Path):
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(JournalError, match=rf"process {holder.pid}"), Journal(tmp_path).held():
            pass
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    with Journal(tmp_path).held():
        pass


def test_a_journal_of_another_format_is_refused_and_kept(tmp_path: Path):
    journal = Journal(tmp_path)
    journal._database.execute("PRAGMA user_version=99")
    journal.close()
    content = (tmp_path / "journal.sqlite").read_bytes()
    with pytest.raises(JournalError, match="format 99"):
        Journal(tmp_path)
    assert (tmp_path / "journal.sqlite").read_bytes() == content


def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path):
    (tmp_path / "journal.sqlite").write_bytes(b"not a database, but somebody's file" * 100)
    with pytest.raises(JournalError, match="cannot be opened"):
        Journal(tmp_path)
    assert (tmp_path / "journal.sqlite").read_bytes().startswith(b"not a database")


def test_the_state_folder_is_where_the_platform_wants_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert state_folder() == tmp_path / "gpudoctor"
    monkeypatch.setenv("XDG_STATE_HOME", "relative/is/ignored")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert state_folder() == Path("/home/somebody/.local/state/gpudoctor")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert state_folder() == Path("/var/lib/gpudoctor")


def test_a_full_disk_is_one_clear_line(tmp_path: Path):
    journal = Journal(tmp_path)
    journal._database.execute("PRAGMA max_page_count=1")
    with pytest.raises(JournalError, match=r"cannot be written .*full.*free some space, then gpudoctor setup --resume continues"):
        for _ in range(200):
            journal.start(PLAN, "1")
