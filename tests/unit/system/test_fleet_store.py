"""The store of a fleet's rows: whole files only, an index that can be lost, and nothing hostile gets in."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.system import fleet_store
from gpudoctor.system.fleet_store import FleetStore, RowRefused, decode

CREATED = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def row(host: str = "gpu01", run: str = "first", **more: Any) -> dict[str, Any]:
    return {"schema": "gpudoctor.row/1", "host": host, "run": run, "created": CREATED, "tool": "gpudoctor 0.1.0", **more}


def encoded(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document).encode()


def hosts(store: FleetStore, **question: Any) -> list[str]:
    return sorted(each.host for each in store.rows(**question))


def test_a_row_is_kept_once_and_found_again(tmp_path: Path) -> None:
    store, content = FleetStore(tmp_path / "fleet"), encoded(row())
    assert store.add(content).new and not store.add(content).new
    assert [each.host for each in FleetStore(tmp_path / "fleet").rows()] == ["gpu01"]
    assert [(each.run, each.hosts) for each in store.runs()] == [("first", 1)]


def test_files_and_folders_are_private(tmp_path: Path) -> None:
    store = FleetStore(tmp_path / "fleet")
    store.add(encoded(row()))
    for path in (tmp_path / "fleet").rglob("*"):
        if path.suffix == ".json" or path.is_dir():
            assert path.stat().st_mode & 0o077 == 0, path


def test_the_row_that_arrived_last_counts(tmp_path: Path) -> None:
    store = FleetStore(tmp_path)
    store.add(encoded(row(failed="no answer within 60 s")))
    late = store.add(encoded(row(created="2020-01-01T00:00:00Z")))  # the clock of the host is wrong
    os.utime(path_of(tmp_path, encoded(row(created="2020-01-01T00:00:00Z"))), (time.time() + 5, time.time() + 5))
    assert late.new and [each.failed for each in store.rows(run="first")] == [""]


def path_of(folder: Path, content: bytes) -> Path:
    return next(folder.rglob(f"{hashlib.sha256(content).hexdigest()}.json"))


def test_a_row_of_a_wrong_clock_lies_in_the_folder_of_today(tmp_path: Path) -> None:
    store = FleetStore(tmp_path)
    store.add(encoded(row(created="1970-01-01T00:00:07Z")))
    store.add(encoded(row("gpu02", created="2199-01-01T00:00:00Z")))
    today = {time.strftime("%Y-%m-%d", time.gmtime(time.time() + shift)) for shift in (-60, 60)}
    assert {each.name for each in (tmp_path / "rows").iterdir()} <= today
    assert hosts(store) == ["gpu01", "gpu02"]


def test_rows_of_a_run_and_before_a_moment(tmp_path: Path) -> None:
    store = FleetStore(tmp_path)
    for number, run in enumerate(("first", "second")):
        for host in ("gpu01", "gpu02")[number:]:
            content = encoded(row(host, run))
            store.add(content)
            os.utime(path_of(tmp_path, content), (1000 + 1000 * number, 1000 + 1000 * number))
    store.rebuild()
    assert hosts(store, run="second") == ["gpu02"] and hosts(store, run="first") == ["gpu01", "gpu02"]
    assert [each.run for each in store.rows(hosts=["gpu02"])] == ["second"]
    assert [each.run for each in store.rows(until=1500, hosts=["gpu02"])] == ["first"]
    assert [each.run for each in store.runs()] == ["second", "first"]


def test_what_another_collector_adds_or_removes_is_seen(tmp_path: Path) -> None:
    ours, theirs = FleetStore(tmp_path), FleetStore(tmp_path)
    ours.add(encoded(row("gpu01")))
    assert hosts(ours) == ["gpu01"]
    theirs.add(encoded(row("gpu02")))
    assert hosts(ours) == ["gpu01", "gpu02"]
    gone = encoded(row("gpu03"))
    theirs.add(gone)
    assert "gpu03" in hosts(ours)
    path_of(tmp_path, gone).unlink()
    assert hosts(ours) == ["gpu01", "gpu02"]


@pytest.mark.parametrize("damage", [b"", b"no database at all", b"SQLite format 3\x00" + b"\xff" * 4000])
def test_a_damaged_or_missing_index_loses_nothing(tmp_path: Path, damage: bytes) -> None:
    FleetStore(tmp_path).add(encoded(row()))
    store = FleetStore(tmp_path)
    assert hosts(store) == ["gpu01"]
    store.close()
    for name in ("index.sqlite-wal", "index.sqlite-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / "index.sqlite").write_bytes(damage)
    assert hosts(FleetStore(tmp_path)) == ["gpu01"]


def test_an_index_of_another_version_is_made_again(tmp_path: Path) -> None:
    FleetStore(tmp_path).add(encoded(row()))
    base = sqlite3.connect(tmp_path / "index.sqlite")
    base.execute("create table rows (something text)")
    base.execute("pragma user_version=999")
    base.commit()
    base.close()
    assert hosts(FleetStore(tmp_path)) == ["gpu01"]


def test_what_a_killed_collector_left_is_no_row(tmp_path: Path) -> None:
    store = FleetStore(tmp_path)
    store.add(encoded(row()))
    folder = next((tmp_path / "rows").iterdir())
    (folder / ".new-half").write_bytes(encoded(row("gpu09"))[:40])
    assert hosts(FleetStore(tmp_path)) == ["gpu01"]
    os.utime(folder / ".new-half", (0, 0))
    store.prune(0)
    assert not (folder / ".new-half").exists()


def test_a_file_that_was_changed_is_passed_over(tmp_path: Path) -> None:
    store = FleetStore(tmp_path)
    store.add(encoded(row("gpu01")))
    store.add(encoded(row("gpu02")))
    path_of(tmp_path, encoded(row("gpu02"))).write_bytes(encoded(row("gpu99")))
    assert hosts(FleetStore(tmp_path)) == ["gpu01"]


def test_a_link_in_the_store_is_not_followed(tmp_path: Path) -> None:
    store = FleetStore(tmp_path / "fleet")
    content = encoded(row("gpu01"))
    store.add(content)
    path = path_of(tmp_path / "fleet", content)
    (tmp_path / "outside.json").write_bytes(content)
    path.unlink()
    path.symlink_to(tmp_path / "outside.json")
    assert hosts(FleetStore(tmp_path / "fleet")) == []


def test_many_collectors_at_once_lose_nothing(tmp_path: Path) -> None:
    def collect(first: int) -> None:
        store = FleetStore(tmp_path)
        for number in range(first, first + 40):
            store.add(encoded(row(f"gpu{number:03d}")))
            if number % 10 == 0:
                store.runs()

    threads = [threading.Thread(target=collect, args=(40 * number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(hosts(FleetStore(tmp_path))) == 160


def test_a_full_disk_leaves_no_half_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FleetStore(tmp_path)
    store.add(encoded(row("gpu01")))

    def full(descriptor: int, mode: str) -> Any:
        os.close(descriptor)
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(fleet_store.os, "fdopen", full)
        with pytest.raises(OSError, match="No space"):
            store.add(encoded(row("gpu02")))
    assert hosts(FleetStore(tmp_path)) == ["gpu01"]
    assert not list(tmp_path.rglob(".new-*"))


def test_the_index_of_a_folder_that_cannot_be_written_lives_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FleetStore(tmp_path).add(encoded(row()))
    connect = sqlite3.connect

    def refused(path: Any, **more: Any) -> Any:
        if path != ":memory:":
            raise sqlite3.OperationalError("unable to open database file")
        return connect(path, **more)

    monkeypatch.setattr("gpudoctor.system.fleet_index.sqlite3.connect", refused)
    assert hosts(FleetStore(tmp_path)) == ["gpu01"]
    assert not (tmp_path / "index.sqlite").exists()


def test_prune_keeps_the_newest_row_of_each_host(tmp_path: Path) -> None:
    store = FleetStore(tmp_path)
    for run, age in (("old", 20), ("newer", 10)):
        content = encoded(row(run=run))
        store.add(content)
        moment = time.time() - age * 86400
        os.utime(path_of(tmp_path, content), (moment, moment))
    assert store.prune(5) == 1
    assert [each.run for each in FleetStore(tmp_path).rows()] == ["newer"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"garbage", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b"[" * 5000, "no JSON"),
        (b"{}", "names no schema"),
        (encoded(row(schema="gpudoctor.report/1")), "names no schema"),
        (encoded(row(host="a b")), "name of a host"),
        (encoded(row(host="../../etc")), "name of a host"),
        (encoded(row(host="-rf")), "name of a host"),
        (encoded(row(host="gpu\u001b[31m")), "name of a host"),
        (encoded(row(run="x y")), "run"),
        (encoded(row(created="yesterday")), "created"),
        (encoded(row(cards=[{"address": 1, "vendor": "amd", "model": "x"}])), r"cards\[0\]\.address"),
        (encoded(row(findings=[{"id": "x", "key": "x", "severity": "fatal", "confidence": "", "layer": "", "title": ""}])), "severity"),
        (encoded(row(tool="x" * 500)), "tool"),
        (encoded(row(values={"a": 1e999})), "values.a|no JSON"),
        (encoded({name: value for name, value in row().items() if name != "host"}), "host: is missing"),
        (encoded(row(report="x" * 70_000)), "65536 bytes"),
    ],
)
def test_hostile_rows_are_refused_with_the_reason(tmp_path: Path, content: bytes, why: str) -> None:
    store = FleetStore(tmp_path)
    with pytest.raises(RowRefused, match=why):
        store.add(content, "gpu07.json")
    assert "gpu07.json" in store.refused() and hosts(store) == []


def test_rows_of_later_versions_are_read_as_far_as_they_are_understood(tmp_path: Path) -> None:
    store = FleetStore(tmp_path)
    store.add(encoded(row("gpu01")))
    store.add(encoded(row("gpu02", schema="gpudoctor.row/2", weather={"inside": "dry"}, cards=[])))
    store.add(encoded(row("gpu03", schema="gpudoctor.row/3", cards=[{"address": "a", "vendor": "amd", "model": "m", "colour": "red"}])))
    assert hosts(store) == ["gpu01", "gpu02", "gpu03"]
    assert [each.cards[0].model for each in store.rows(hosts=["gpu03"])] == ["m"]


def test_decode_takes_what_a_host_writes() -> None:
    assert decode(encoded(row(labels={"role": "train"}))).labels == {"role": "train"}
