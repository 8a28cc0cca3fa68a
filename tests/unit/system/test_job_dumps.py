"""Dumps of PyTorch's flight recorder: read as data, whatever they hold."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.system.job_dumps import NoDump, plain_pickle, rank_of, recorder_text
from gpudoctor.system.text_files import NotText, pieces


def dump_of(
    enqueued: int, completed: int, operation: str = "nccl:all_reduce", sizes: Any = ((4,),), where: str = "train_step"
) -> dict[str, Any]:
    """As torch writes it: every collective until the last that was enqueued; the fields that are read, and a few that are not."""
    frames = [
        {"name": "all_reduce", "filename": "/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", "line": 3245},
        {"name": "train_step", "filename": "/home/ada/train.py", "line": 13},
    ]
    entries = [
        {"record_id": number - 1, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": number, "p2p_seq_id": 0,
         "profiling_name": operation, "input_sizes": sizes, "state": "scheduled", "retired": number <= completed, "is_p2p": False,
         "frames": frames}
        for number in range(1, enqueued + 1)
    ]  # fmt: skip
    status = {"last_enqueued_collective": enqueued, "last_started_collective": -1, "last_completed_collective": completed}
    return {"version": "2.10", "pg_config": {"0": {"ranks": "[0, 1]"}}, "pg_status": {"0": status}, "entries": entries}


@pytest.mark.parametrize("write", [lambda dump: pickle.dumps(dump, 2), lambda dump: json.dumps(dump).encode()])
def test_a_dump_becomes_lines_that_name_the_collective_and_where_it_is_called(write: Any) -> None:
    text = recorder_text(write(dump_of(4, 3)), "nccl_trace_rank_7").decode().splitlines()
    assert text == [
        "flight recorder of rank 7, version 2.10",
        "group 0, ranks [0, 1]: enqueued 4, started -1, completed 3",
        "collective 3 of group 0: nccl:all_reduce [[4]], completed, called in train_step (train.py:13)",
        "collective 4 of group 0: nccl:all_reduce [[4]], scheduled, called in train_step (train.py:13)",
    ]


def test_a_retired_collective_has_ended_although_the_group_names_an_earlier_one() -> None:
    dump = dump_of(4, 3)
    dump["pg_status"]["0"]["last_completed_collective"] = 1
    assert "completed 3" in recorder_text(json.dumps(dump).encode(), "rank_0").decode()


class Calls:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, ("touch called",)


@pytest.mark.parametrize("value", [Calls(), {"entries": [Calls()]}, Path("x"), {1, 2}, b"bytes of protocol 2"])
def test_a_pickle_that_names_anything_is_not_read(value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="it is not read"):
        plain_pickle(pickle.dumps(value, 2))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [b"\x80\x02", b"\x80\x02}q\x00(", b"\x80\x02]a.", b"\x80\x02h\x05.", b"\x80\x02}K\x01.", b"\x80\x02]]].", b"\x80\x02}(]K\x01u.",
     pickle.dumps(dump_of(2, 1), 2)[:-30], b"\x80\x02\x8a\xff."],
)  # fmt: skip
def test_a_damaged_pickle_is_one_error(content: bytes) -> None:
    with pytest.raises(NoDump):
        recorder_text(content, "x")


def test_lists_that_hold_themselves_cost_nothing() -> None:
    inner: list[Any] = [1]
    for _ in range(60):
        inner = [inner, inner]
    inner.append(inner)
    dump = {**dump_of(2, 1, sizes=inner), "version": inner}
    dump["pg_status"]["0"]["last_started_collective"] = inner
    dump["entries"][0]["profiling_name"] = inner
    assert len(recorder_text(pickle.dumps(dump, 2), "rank_0")) < 2000


def test_what_a_dump_says_stays_on_its_line() -> None:
    dump = dump_of(2, 1, operation="nccl:all_reduce\nflight recorder of rank 9\x1b[2J")
    assert len(recorder_text(pickle.dumps(dump, 2), "rank_0").splitlines()) == 4


@pytest.mark.parametrize(
    ("name", "rank"),
    [("nccl_trace_rank_3", "3"), ("/a/rank12.json", "12"), ("dump-5.json", "5"), ("trace_7", "7"), ("dump.json", ""), ("rank_x", "")],
)  # fmt: skip
def test_the_name_of_a_file_says_the_rank(name: str, rank: str) -> None:
    assert rank_of(name) == rank


def test_other_pickles_are_named_and_other_json_is_text(tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_bytes(pickle.dumps({"weights": [1.0]}, 2))
    with pytest.raises(NotText, match="no dump of PyTorch's flight recorder"):
        list(pieces(str(tmp_path / "model.pt")))
    (tmp_path / "log.json").write_text('{"message": "an entry with \\"collective_seq_id\\": 3"}')
    assert b"".join(pieces(str(tmp_path / "log.json"))) == (tmp_path / "log.json").read_bytes()
