"""Runs of validate that something happens to in the middle: what was finished is reported, with the right cause, and nothing is left."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from validate_runs import workers

from gpudoctor.reporters.shared.schema import complaints

FAMILY = "what happens to a run of validate"
SECOND = ("resnet18", "--task", "inference,micro", "--batch", "1")
"""The second worker of a run that begins with a small measurement."""


def started(python: Path, own: Path, *words: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "gpudoctor", "validate", "--python", str(python), "--format", "json", *words]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(own)})


def wait_for(what: Callable[[], Any], seconds: float = 120.0) -> Any:
    for _ in range(int(seconds / 0.05)):
        if found := what():
            return found
        time.sleep(0.05)
    raise AssertionError("it never came")


def ended(process: subprocess.Popen[str]) -> tuple[dict[str, Any], str]:
    out, err = process.communicate(timeout=120)
    return json.loads(out) if out else {}, err.strip()


@pytest.mark.rotates(FAMILY)
@pytest.mark.timeout(300)
def test_ctrl_c_keeps_the_rows_that_were_finished(environment: Callable[[str], Path], tmp_path: Path) -> None:
    words = ("--workload", f"launch,{SECOND[0]}", *SECOND[1:], "--duration", "1")
    process = started(environment("torch-cpu"), tmp_path, *words)
    first = wait_for(lambda: workers(tmp_path))
    wait_for(lambda: set(workers(tmp_path)) - set(first))
    process.send_signal(signal.SIGINT)
    document, err = ended(process)
    assert process.returncode == 130 and err == "gpudoctor: interrupted; the report holds what was finished"
    assert complaints(document) == []
    assert [(each["workload"], each["status"]) for each in document["measurements"]] == [("launch", "ok"), ("resnet18", "skipped")]
    assert not workers(tmp_path) and not list(tmp_path.iterdir())


@pytest.mark.rotates(FAMILY)
@pytest.mark.timeout(300)
def test_what_a_killed_run_leaves_goes_with_the_next(environment: Callable[[str], Path], tmp_path: Path) -> None:
    words = ("--workload", "launch", "--duration", "0.2")
    process = started(environment("torch-cpu"), tmp_path, *words)
    wait_for(lambda: workers(tmp_path))
    process.kill()
    process.communicate()
    wait_for(lambda: not workers(tmp_path))
    assert list(tmp_path.iterdir())
    document, _ = ended(started(environment("torch-cpu"), tmp_path, *words))
    assert [each["status"] for each in document["measurements"]] == ["ok"]
    assert not list(tmp_path.iterdir())


@pytest.mark.rotates(FAMILY)
@pytest.mark.timeout(300)
def test_an_environment_that_is_deleted_in_the_middle_is_named(environment: Callable[[str], Path], tmp_path: Path) -> None:
    own, env = tmp_path / "own", tmp_path / "env"
    own.mkdir()
    venv.create(env, with_pip=False, symlinks=True)
    (packages,) = env.glob("lib/python*/site-packages")
    (there,) = environment("torch-cpu").glob("lib/python*/site-packages")
    (packages / "torch.pth").write_text(f"{there}\n")
    for entry in there.glob("torch*"):
        (packages / entry.name).symlink_to(entry)
    process = started(env / "bin" / "python", own, "--workload", f"launch,{SECOND[0]}", *SECOND[1:], "--duration", "0.5")
    wait_for(lambda: workers(own))
    time.sleep(1.0)
    shutil.rmtree(env / "bin")
    document, _ = ended(process)
    assert process.returncode == 1 and complaints(document) == []
    found = {each["workload"]: each for each in document["measurements"]}
    assert "interpreter" in found["resnet18"]["reason"] and found["resnet18"]["reason"].endswith("is missing")
    assert not list(own.iterdir())


@pytest.mark.rotates(FAMILY)
@pytest.mark.timeout(300)
def test_two_runs_at_once_do_not_touch_each_other(environment: Callable[[str], Path], tmp_path: Path) -> None:
    words = ("--workload", "launch", "--duration", "0.5")
    both = [started(environment("torch-cpu"), tmp_path, *words) for _ in range(2)]
    for process in both:
        document, _ = ended(process)
        assert [each["status"] for each in document["measurements"]] == ["ok"], document
    assert not list(tmp_path.iterdir())
