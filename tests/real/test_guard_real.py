"""gpudoctor guard with pip and uv, against the package index: torch for the processor, which PyPI has in another build only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from environments import build

INDEX = "https://download.pytorch.org/whl/cpu"


def guard(*command: str, status: int) -> dict[str, Any]:
    words = [sys.executable, "-m", "gpudoctor", "guard", "--python", str(build("torch-cpu")), "--format", "json", "--", *command]
    environment = {**os.environ, "PATH": f"{build('uv') / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == status, done.stdout + done.stderr
    trial: dict[str, Any] = json.loads(done.stdout)["trial"]
    return trial


def state() -> list[str]:
    return sorted(str(path) for path in Path(build("torch-cpu")).glob("lib/python*/site-packages/*"))


def broken(trial: dict[str, Any]) -> list[str]:
    return [change["name"] for change in trial["changes"] if change["breaks"]]


@pytest.mark.rotates("guard", by="tool")
@pytest.mark.parametrize("tool", ["pip install", "uv pip install"])
def test_a_partner_of_another_torch_is_seen_and_nothing_is_installed(tool: str) -> None:
    before = state()
    trial = guard(*tool.split(), "torchvision==0.25.0", status=1)
    assert trial["outcome"] == "breaks" and broken(trial) == ["torch"]
    assert trial["with_constraints"] is None and trial["safe"] == ""
    assert state() == before


@pytest.mark.rotates("guard", by="tool")
@pytest.mark.parametrize("tool", ["pip install", "uv pip install"])
def test_a_package_without_demands_is_let_through(tool: str) -> None:
    trial = guard(*tool.split(), "einops", status=0)
    assert trial["outcome"] == "kept" and [change["name"] for change in trial["changes"]] == ["einops"]


@pytest.mark.rotates("guard", member="uv pip install")
def test_uv_takes_the_newest_partner_and_with_the_constraints_the_right_one() -> None:
    trial = guard("uv", "pip", "install", "torchvision", status=1)
    assert broken(trial) == ["torch"]
    assert {"torch": "2.13.0"}.keys().isdisjoint({change["name"] for change in trial["with_constraints"]})
    assert {change["name"]: change["new"] for change in trial["with_constraints"]}["torchvision"].startswith("0.28.")


@pytest.mark.rotates("guard", member="pip install")
def test_what_the_index_does_not_have_is_no_answer() -> None:
    trial = guard("pip", "install", "einops==99", status=4)
    assert trial["outcome"] == "unknown" and "einops==99" in trial["reason"]
