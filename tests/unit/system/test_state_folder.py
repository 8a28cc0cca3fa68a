"""What gpudoctor keeps is its owner's alone, also where an older one, or another umask, left it open."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from gpudoctor.setup.journal import Journal
from gpudoctor.system import state_folder
from gpudoctor.system.check_history import History
from gpudoctor.system.run_log import RunLog

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes of files")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state of an installation that knew no private files."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(state_folder, "_tightened", set())
    folder = tmp_path / "gpudoctor"
    (folder / "history").mkdir(parents=True)
    (folder / "measurements").mkdir()
    (folder / "kept-environment").mkdir()
    for name in ("pseudonyms.json", "journal.sqlite", "setup-1.log", "history/x.json.gz", "measurements/y.json"):
        (folder / name).touch()
        (folder / name).chmod(0o644)
    shared = tmp_path / "module.py"
    shared.touch()
    shared.chmod(0o644)
    os.link(shared, folder / "kept-environment/module.py")
    os.link(shared, folder / "linked.py")
    for path in (folder, folder / "history", folder / "measurements"):
        path.chmod(0o755)
    return folder


def is_private(folder: Path) -> bool:
    folders = [folder, folder / "history", folder / "measurements"]
    files = [folder / name for name in ("pseudonyms.json", "journal.sqlite", "setup-1.log", "history/x.json.gz", "measurements/y.json")]
    return all(mode(path) == 0o700 for path in folders) and all(mode(path) == 0o600 for path in files)


def test_the_first_private_file_tightens_what_is_there(old: Path) -> None:
    state_folder.write_private(old / "history" / "new.json", b"{}")
    assert is_private(old)
    assert mode(old / "linked.py") == 0o644  # a second name of somebody's module: its mode is theirs


def test_the_journal_is_private_and_tightens_too(old: Path) -> None:
    Journal(old).close()
    assert is_private(old)


def test_a_new_journal_and_log_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Journal(tmp_path / "state").close()
        with RunLog(tmp_path / "logs/run.log").entry(["true"]):
            pass
    finally:
        os.umask(before)
    assert mode(tmp_path / "state") == 0o700 and mode(tmp_path / "logs") == 0o700
    assert all(mode(path) & 0o077 == 0 for path in [*(tmp_path / "state").iterdir(), tmp_path / "logs/run.log"])


def test_links_are_not_followed(old: Path, tmp_path: Path) -> None:
    target = tmp_path / "somebody"
    target.touch()
    target.chmod(0o644)
    (old / "link").symlink_to(target)
    state_folder.tighten(old)
    assert mode(target) == 0o644
    (tmp_path / "other").mkdir()
    (tmp_path / "other/journal.sqlite").symlink_to(target)
    with pytest.raises(Exception, match="journal"):
        Journal(tmp_path / "other")


def test_history_still_reads_what_it_kept(old: Path) -> None:
    assert History().list() == []
