"""`gpudoctor fleet add` with results of other programs: the host's own row stays."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from fleet_rows import finding, measured, row

from gpudoctor.cli import run
from gpudoctor.model.fleet_row import LARGEST
from gpudoctor.services import fleet_files
from gpudoctor.system.fleet_store import FleetStore

DAY = 1_795_166_400
"""A moment of 2026-11-20."""
OWN = {"schema": "gpudoctor.row/1", "host": "gpu01", "run": "first", "created": "2026-11-20T10:00:00Z", "tool": "gpudoctor 0.1.0"}


def dcgm(status: str, gpus: int = 1, warning: str = "DBE") -> dict[str, Any]:
    results = [{"entity_group": "GPU", "entity_id": number, "status": status, "warnings": [warning]} for number in range(gpus)]
    tests = [{"name": f"test {number}", "results": results} for number in range(gpus)]
    return {"DCGM Diagnostic": {"test_categories": [{"category": "Hardware", "tests": tests}]}, "metadata": {"version": "4.2.3"}}


def put(path: Path, content: object, indent: int | None = 2) -> str:
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=indent), encoding="utf-8")
    os.utime(path, (DAY, DAY))
    return str(path)


def added(folder: Path, *words: str) -> int:
    return run(["fleet", "add", "--store", str(folder / "store"), *words])


def stored(folder: Path) -> set[tuple[str, str, str]]:
    return {(row.host, row.tool, row.run) for row in FleetStore(folder / "store").rows()}


def test_the_rows_of_host_and_program_stand_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert added(tmp_path, put(tmp_path / "own.json", OWN, None)) == 0
    assert added(tmp_path, put(tmp_path / "gpu01.json", dcgm("Fail")), "--run", "first") == 0
    assert stored(tmp_path) == {("gpu01", "gpudoctor 0.1.0", "first"), ("gpu01", "dcgm 4.2.3", "first")}
    capsys.readouterr()
    assert run(["fleet", "show", "--store", str(tmp_path / "store"), "--exclude"]) == 1
    assert capsys.readouterr().out == "gpu01\n"
    FleetStore(tmp_path / "store").prune(0)
    assert len(stored(tmp_path)) == 2


def test_the_host_is_that_of_the_document_else_the_given_one_else_the_file(tmp_path: Path) -> None:
    smoke = {"host": "mi300", "status": "PASS", "fail_reasons": []}
    nodes = '{"index": "sb1", "Category": "Mem", "Issue Details": "slow"}\n{"index": "sb2", "Category": "Mem", "Issue Details": "slow"}\n'
    one, two = put(tmp_path / "node7.json", dcgm("Pass")), put(tmp_path / "diagnosis_summary.jsonl", nodes)
    assert added(tmp_path, one, two, put(tmp_path / "smoke.json", smoke)) == 0
    assert added(tmp_path, one, "--host", "gpu9", "--run", "r") == 0
    day = "2026-11-20"
    assert stored(tmp_path) == {
        ("node7", "dcgm 4.2.3", day), ("sb1", "superbench", day), ("sb2", "superbench", day), ("mi300", "primus-node-smoke", day),
        ("gpu9", "dcgm 4.2.3", "r"),
    }  # fmt: skip


def test_a_large_result_becomes_a_row_of_the_usual_size(tmp_path: Path) -> None:
    assert added(tmp_path, put(tmp_path / "big.json", dcgm("Fail", 16, "w" * 900))) == 0
    (path,) = (tmp_path / "store" / "rows").rglob("*.json")
    (row,) = FleetStore(tmp_path / "store").rows()
    assert path.stat().st_size <= LARGEST and row.verdicts and len(row.verdicts) + row.left_out["verdicts"] == 256


@pytest.mark.parametrize(
    ("content", "why"),
    [({"host": "../../etc", "status": "PASS", "tier1": {}}, "name of a host"), ({"unknown": 1}, "no schema"), ("[" * 5000, "no JSON"),
     ({"host": "", "status": "PASS", "tier1": {}}, "")],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_a_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: object, why: str
) -> None:  # fmt: skip
    assert added(tmp_path, put(tmp_path / "x.json", content)) == (2 if why else 0)
    assert why in capsys.readouterr().err


@pytest.mark.parametrize("words", [("--host", "a b"), ("--host", "$(id)"), ("--run", "../x"), ("--host", "\x1b[31m")])
def test_names_are_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, str]) -> None:
    assert added(tmp_path, put(tmp_path / "x.json", dcgm("Pass")), *words) == 2
    said = capsys.readouterr().err
    assert words[0] in said and "\x1b" not in said


def test_a_document_among_messages_is_read(tmp_path: Path) -> None:
    path = put(tmp_path / "gpu07.json", f"WARNING: no fabric manager\n{json.dumps(dcgm('Pass'), indent=2)}\nrc=0\n")
    assert run(["fleet", "add", path, "--store", str(tmp_path / "store")]) == 0
    (row,) = FleetStore(tmp_path / "store").rows()
    assert row.host == "gpu07" and [each.outcome for each in row.verdicts] == ["pass"]


def test_a_table_has_a_column_for_all_that_a_row_says() -> None:
    whole = row("gpu01", findings=(finding("old", "warning"),), measurements=(measured(1.0, links={"cuda:0 cuda:1": 20.0}),))
    for name, record in fleet_files._records(whole):
        assert list(record) == [column for column, _ in fleet_files._columns(fleet_files.TABLES[name])], name
        assert not any(isinstance(value, dict) for value in record.values()), name
