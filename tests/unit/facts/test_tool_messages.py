"""What a machine's own tools said is looked through for messages, by check and in its reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from machine_stories import CUDA_WHEEL, linux

from gpudoctor.cli import run
from gpudoctor.facts.tool_messages import APART, said
from gpudoctor.model.facts import Facts, Known

SYMBOL = "libcusparse.so.12: undefined symbol: __nvJitLinkAddData_12_1, version libnvJitLink.so.12"


def facts(**known: object) -> Facts:
    found = Facts()
    for name, value in known.items():
        found.set(name.replace("__", "."), Known(value, "test"))
    return found


def test_speakers_stand_apart_and_have_no_line_of_a_text() -> None:
    failed = {"torch": {"error": {"kind": "exception", "name": "OSError", "message": "one\ntwo"}}, "jax": {"imported": True}}
    lines = said(facts(python__frameworks=failed, nvidia__smi__error="three"))
    spoken = [(line.source, line.text) for line in lines if line.text]
    assert spoken == [("import torch", "OSError: one"), ("import torch", "two"), ("nvidia-smi", "three")]
    numbers = [line.number for line in lines]
    assert numbers == sorted(set(numbers)) and numbers[-1] < 0
    assert [line.source for line in lines].count("") == APART


def test_a_silent_machine_says_nothing() -> None:
    assert said(facts(kernel__log=["Out of memory: Killed process 7 (python)"], python__frameworks={})) == []


@pytest.fixture
def machine(tmp_path: Path) -> str:
    error = {"kind": "exception", "name": "ImportError", "message": SYMBOL}
    torch = {"imported": False, "version": "2.7.1", "error": error, "devices": []}
    return str(linux("shadowed").nvidia().environment_of(CUDA_WHEEL, {"torch": torch}).expect().write(tmp_path))


def test_check_knows_the_message_of_a_failed_import(machine: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--capture", machine, "--format", "json"]) == 1
    checked = json.loads(capsys.readouterr().out)
    first = checked["findings"][0]
    assert first["id"] == "nvjitlink-shadowed" and f"import torch: ImportError: {SYMBOL}" in first["evidence"]
    assert checked["summary"]["first_broken"] == "torch-cuda/framework"


def test_a_report_of_it_is_explained_alike(machine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.json"
    run(["check", "--capture", machine, "--format", "json", "-o", str(report)])
    capsys.readouterr()
    run(["explain", str(report), "--format", "json"])
    assert json.loads(capsys.readouterr().out)["findings"][0]["id"] == "nvjitlink-shadowed"


def test_why_names_the_speaker(machine: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--capture", machine, "--why", "nvjitlink-shadowed"]) == 0
    assert "from import torch" in capsys.readouterr().out
