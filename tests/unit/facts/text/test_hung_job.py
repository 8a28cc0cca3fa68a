"""Which rank of a distributed job the others wait for."""

from __future__ import annotations

import json
import pickle
import tarfile
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.cli import run

Capture = pytest.CaptureFixture[str]


def dump_of(enqueued: int, completed: int, operation: str = "nccl:all_reduce", ranks: int = 2) -> dict[str, Any]:
    entries = [
        {"pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": number, "profiling_name": operation, "input_sizes": [[4]],
         "state": "scheduled", "is_p2p": False, "frames": [{"name": "train_step", "filename": "/home/ada/train.py", "line": 13}]}
        for number in range(1, enqueued + 1)
    ]  # fmt: skip
    status = {"last_enqueued_collective": enqueued, "last_started_collective": -1, "last_completed_collective": completed}
    return {"version": "2.10", "pg_config": {"0": {"ranks": str(list(range(ranks)))}}, "pg_status": {"0": status}, "entries": entries}


def stack_of(rank: int, *frames: str) -> str:
    lines = "\n".join(f"    {frame}" for frame in frames)
    return (
        f"Process {100 + rank}: /venv/bin/python train.py --local-rank={rank}\nPython v3.11.7 (/usr/bin/python3.11)\n\n"
        f'Thread {100 + rank} (idle): "MainThread"\n{lines}\n    <module> (train.py:30)\n'
        'Thread 9 (active+gil): "worker"\n    run (threading.py:1)\n'
    )


WAITS = (
    "all_reduce (torch/distributed/distributed_c10d.py:3252)",
    "wrapper (torch/distributed/c10d_logger.py:83)",
    "train_step (train.py:13)",
)

LOADER = ("_try_get_data (torch/utils/data/dataloader.py:1243)", "_next_data (torch/utils/data/dataloader.py:1410)")


def explained(files: list[Path], capsys: Capture) -> dict[str, Any]:
    run(["explain", *map(str, files), "--format", "json"])
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def written(folder: Path, *dumps: dict[str, Any]) -> list[Path]:
    paths = [folder / f"nccl_trace_rank_{rank}" for rank in range(len(dumps))]
    for path, dump in zip(paths, dumps, strict=True):
        path.write_bytes(pickle.dumps(dump, 2))
    return paths


@pytest.mark.parametrize(
    ("dumps", "found"),
    [
        ([dump_of(4, 3), dump_of(3, 3)], "hung-job-rank-behind"),
        ([dump_of(4, 3), dump_of(4, 3)], "hung-job-all-ranks-wait"),
        ([dump_of(4, 3), dump_of(4, 3, "nccl:broadcast")], "hung-job-collectives-differ"),
        ([dump_of(4, 3, ranks=4), dump_of(4, 3, ranks=4)], "hung-job-dumps-missing"),
        ([dump_of(4, 3, ranks=4), dump_of(3, 3, ranks=4)], "hung-job-rank-behind"),
        ([dump_of(4, 4), dump_of(4, 4)], None), ([dump_of(4, 4), dump_of(3, 3)], None),
    ],
)  # fmt: skip
def test_the_dumps_of_all_ranks_say_what_stops_the_job(
    dumps: list[dict[str, Any]], found: str | None, tmp_path: Path, capsys: Capture
) -> None:
    report = explained(written(tmp_path, *dumps), capsys)
    assert [finding["id"] for finding in report["findings"]] == ([found] if found else [])


def test_an_archive_of_them_says_the_same_and_names_the_rank_and_the_place(tmp_path: Path, capsys: Capture) -> None:
    paths = written(tmp_path, dump_of(4, 3), dump_of(4, 3), dump_of(3, 3))
    with tarfile.open(tmp_path / "dumps.tar.gz", "w:gz") as archive:
        for path in paths:
            archive.add(path, path.name)
    run(["explain", str(tmp_path / "dumps.tar.gz")])
    screen = " ".join(capsys.readouterr().out.split())
    assert "Rank 2 did not reach the collective" in screen and "number 4, called in train_step (train.py:13)" in screen
    assert "rank 2 stands after its call in train_step (train.py:13)" in screen


def test_one_dump_alone_asks_for_the_others(tmp_path: Path, capsys: Capture) -> None:
    report = explained(written(tmp_path, dump_of(4, 3)), capsys)
    assert [finding["id"] for finding in report["findings"]] == ["hung-job-dumps-missing"]


def test_stacks_of_py_spy_say_where_the_late_rank_stands(tmp_path: Path, capsys: Capture) -> None:
    paths = [tmp_path / f"{rank}.txt" for rank in range(3)]
    for rank, path in enumerate(paths):
        path.write_text(stack_of(rank, *(WAITS if rank != 1 else ("read (ssl.py:1166)", "load_batch (train.py:15)"))))
    report = explained(paths, capsys)
    [finding] = report["findings"]
    assert (
        finding["id"] == "hung-job-rank-behind" and "Rank 1" in finding["title"] and "read (ssl.py:1166)" in json.dumps(finding["advice"])
    )
    ranks = report["facts"]["job"]["ranks"]
    assert [rank.get("waits_for") for rank in ranks] == ["a collective", None, "a collective"]


@pytest.mark.parametrize(
    ("frames", "waits"),
    [
        (LOADER, "a worker of the data loader"),
        (("synchronize (torch/cuda/__init__.py:1040)", "step (train.py:3)"), "the device"),
        (("next_rendezvous (torch/distributed/elastic/rendezvous/dynamic_rendezvous.py:1)",), "the store of the rendezvous"),
        (("forward (model.py:12)",), None),
    ],
)  # fmt: skip
def test_what_a_process_waits_for(frames: tuple[str, ...], waits: str | None, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "stack.txt"
    path.write_text(stack_of(0, *frames))
    [rank] = explained([path], capsys)["facts"]["job"]["ranks"]
    assert rank.get("waits_for") == waits


def test_files_of_which_one_is_something_else_are_explained_one_by_one(tmp_path: Path, capsys: Capture) -> None:
    paths = written(tmp_path, dump_of(4, 3), dump_of(3, 3))
    (tmp_path / "train.log").write_text("RuntimeError: CUDA error: no kernel image is available for execution on the device\n")
    report = explained([*paths, tmp_path / "train.log"], capsys)
    assert len(report["texts"]) == 3
