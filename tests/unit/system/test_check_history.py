"""The history of `check`: private, bounded, whole."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.system import check_history as module
from gpudoctor.system.check_history import History


def report(minute: int, **facts: Any) -> dict[str, Any]:
    return {"created": f"2026-11-20T10:{minute:02}:00Z", "facts": facts, "findings": []}


def keep(store: History, minute: int, *, target: str = "0" * 12, healthy: bool = True, **facts: Any) -> None:
    assert store.keep(report(minute, **facts), target=target, healthy=healthy)


def test_files_are_private_and_read_back(tmp_path: Path) -> None:
    store = History(tmp_path / "state" / "history")
    keep(store, 1, a=1)
    [kept] = store.list()
    assert (kept.created, kept.healthy, store.read(kept)) == ("2026-11-20T10:01:00Z", True, report(1, a=1))
    assert [stat.S_IMODE(os.stat(path).st_mode) for path in (store.folder, kept.path)] == [0o700, 0o600]


def test_the_last_healthy_run_of_the_same_environment_is_found(tmp_path: Path) -> None:
    store = History(tmp_path)
    keep(store, 1, a=1)
    keep(store, 2, a=2)
    keep(store, 3, a=3, healthy=False)
    keep(store, 4, a=4, target="1" * 12)
    found = store.last_healthy("0" * 12)
    assert found is not None and found[1]["facts"] == {"a": 2}
    assert store.last_healthy("2" * 12) is None


def test_a_run_that_found_the_same_takes_the_place_of_the_last(tmp_path: Path) -> None:
    store = History(tmp_path)
    for minute in range(5):
        keep(store, minute, a=1, memory={"available_bytes": minute})
    assert [kept.created[14:16] for kept in store.list()] == ["04"]
    keep(store, 6, a=2)
    keep(store, 7, a=1)
    assert len(store.list()) == 3  # there and back again is two changes


def test_number_and_bytes_are_bounded_and_the_last_healthy_run_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 5)
    store = History(tmp_path)
    keep(store, 0, a=-1)
    for minute in range(1, 30):
        keep(store, minute, a=minute, healthy=False)
    assert [kept.created[14:16] for kept in store.list()] == ["29", "28", "27", "26", "00"]
    monkeypatch.setattr(module, "MOST_BYTES", 2 * store.list()[0].size + 10)
    keep(store, 31, a=31, healthy=False)
    assert [kept.created[14:16] for kept in store.list()] == ["31", "00"]


@pytest.mark.parametrize("content", [b"", b"no gzip", b"\x1f\x8b\x08\x00cut", b"[1]"])
def test_a_damaged_file_is_passed_over(tmp_path: Path, content: bytes) -> None:
    store = History(tmp_path)
    keep(store, 1, a=1)
    keep(store, 2, a=2)
    store.list()[0].path.write_bytes(content)
    found = store.last_healthy("0" * 12)
    assert found is not None and found[1]["facts"] == {"a": 1}


def test_a_folder_that_is_a_link_and_a_full_disk_keep_nothing_and_do_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "history").symlink_to(tmp_path / "elsewhere")
    assert not History(tmp_path / "history").keep(report(1), target="0" * 12, healthy=True)
    assert not list((tmp_path / "elsewhere").iterdir())

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    store = History(tmp_path / "other")
    assert not store.keep(report(1), target="0" * 12, healthy=True)
    assert not list(store.folder.iterdir())


def test_names_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.json.gz").write_bytes(b"x")
    store = History(tmp_path)
    assert not store.keep({"created": "../../evil", "facts": {}}, target="0" * 12, healthy=True)
    keep(store, 1)
    assert len(store.list()) == 1 and (tmp_path / "mine.json.gz").exists()
