"""benchmarks/on_device on this processor, in small sizes: one command gives the whole folder; an interruption leaves what was finished."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from environments import build

from gpudoctor.knowledge.loader import read_toml

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.alone, pytest.mark.full_only("it measures for minutes")]


def command(folder: Path, *more: str) -> list[str]:
    words = [sys.executable, str(ROOT / "benchmarks" / "on_device"), "--python", str(build("torch-cpu")), "--device", "cpu", "--small"]
    return [*words, "-o", str(folder), *more]


def test_one_command_gives_the_whole_folder(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    done = subprocess.run(command(folder), capture_output=True, text=True, timeout=900, check=False)
    steps = {one["name"]: one for one in json.loads((folder / "steps.json").read_text())}
    assert done.returncode == 0 or any(one["cut_off"] for one in steps.values()), (done.stdout, done.stderr, steps)
    assert sum(one["seconds"] for one in steps.values()) <= 600 + 15 * len(steps)
    assert {"capture", "check", "validate", "micro", "loops", "full", "operators", "tests", "try-fixes", "html"} == set(steps)
    assert steps["tests"]["status"] == 0 or steps["tests"]["cut_off"], (folder / "tests.txt").read_text()[-3000:]
    report = json.loads((folder / "report.json").read_text())
    assert "ok" in {one["status"] for one in report["measurements"]} <= {"ok", "skipped"}
    assert json.loads((folder / "check.json").read_text())["schema"] == "gpudoctor.report/1"
    ratios = {one["workload"]: one["ratio"] for one in json.loads((folder / "ratios.json").read_text())}
    assert set(ratios) == {"matmul", "memory_bandwidth"} and all(0.2 < ratio < 5 for ratio in ratios.values()), ratios
    assert "| matmul |" in (folder / "summary.md").read_text() and (folder / "report.html").read_text().startswith("<!doctype html>")
    assert json.loads((folder / "operators.json").read_text())["operators"]
    fixes = folder / "fixes.json"  # a busy machine may have no time for a single one
    assert json.loads(fixes.read_text())["trials"] if fixes.exists() else steps["try-fixes"]["cut_off"], steps


def test_the_recorded_machine_is_a_test_case(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    subprocess.run(command(folder, "--minutes", "5", "--only", "capture"), capture_output=True, text=True, timeout=400, check=False)
    expected = read_toml(folder / "machine" / "expect.toml")
    assert isinstance(expected["errors"], list) and expected["verdicts"]["torch-cpu"]
    words = [sys.executable, "-m", "gpudoctor", "check", "--capture", str(folder / "machine"), "--format", "json"]
    report = json.loads(subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT).stdout)
    assert [each["id"] for each in report["findings"] if each["severity"] == "error"] == expected["errors"]
    assert [one["name"] for one in json.loads((folder / "steps.json").read_text())] == ["capture"]


def test_a_step_that_takes_too_long_is_cut_off_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    done = subprocess.run(command(folder, "--minutes", "0.1", "--only", "full"), capture_output=True, text=True, timeout=120, check=False)
    (one,) = json.loads((folder / "steps.json").read_text())
    assert one["cut_off"] and one["status"] is not None and one["seconds"] < 6 + 20 and "full: exit status" in done.stdout
    assert "| full | " in (folder / "summary.md").read_text()


def test_an_interruption_leaves_what_was_finished(tmp_path: Path) -> None:
    """Also where it was started in the background of a shell, which has it ignore Ctrl-C."""
    folder = tmp_path / "out"
    background = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", *command(folder)]
    child = subprocess.Popen(background, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    end = time.monotonic() + 120
    while not (folder / "check.json").exists() and time.monotonic() < end:
        time.sleep(0.2)
    os.killpg(child.pid, signal.SIGINT)
    child.communicate(timeout=60)
    assert (folder / "summary.md").exists() and (folder / "machine" / "machine.toml").exists()
    assert "capture" in (folder / "summary.md").read_text()


def test_a_folder_with_something_in_it_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("mine")
    done = subprocess.run(command(tmp_path), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "not empty" in done.stderr and os.listdir(tmp_path) == ["kept"]
