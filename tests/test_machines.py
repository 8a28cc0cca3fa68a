"""Every recorded machine in tests/machines: the errors exactly, the first broken rung, the verdicts of its stacks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpudoctor.cli import run
from gpudoctor.knowledge.loader import read_toml

MACHINES = sorted(path.parent for path in (Path(__file__).parent / "machines").glob("*/expect.toml"))


@pytest.mark.parametrize("folder", MACHINES, ids=[folder.name for folder in MACHINES])
def test_machine(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = read_toml(folder / "expect.toml")
    status = run(["check", "--capture", str(folder), "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    assert status == (1 if expected["errors"] else 0)
    said = [finding["id"] for finding in report["findings"]]
    errors = [finding["id"] for finding in report["findings"] if finding["severity"] == "error"]
    assert sorted(errors) == sorted(expected["errors"])
    assert set(expected["also"]) <= set(said)
    assert not set(expected.get("never", ())) & set(said)
    assert (report["summary"]["first_broken"] or "") == expected["first_broken"]
    verdicts = {stack["stack"]: stack["verdict"] for stack in report["stacks"]}
    for stack, verdict in expected["verdicts"].items():
        assert verdicts[stack] == verdict, stack
    memory = {gpu["address"]: gpu for gpu in report["facts"].get("gpu_memory") or ()}
    for address, sizes in expected.get("memory", {}).items():
        assert {name: memory[address].get(name) for name in sizes} == sizes, address


def test_there_are_machines_of_every_kind() -> None:
    assert len(MACHINES) >= 24
