"""gpudoctor audit of real environments from PyPI: what excludes each other is named, and its command mends it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Environment = Callable[[str], Path]


def audit(environment: Path, *words: str) -> tuple[int, dict[str, Any]]:
    argv = [sys.executable, "-m", "gpudoctor", "audit", "--python", str(environment), "--format", "json", *words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120)
    assert not done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


def errors(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    (file,) = document["files"]
    return {row["package"]: row for row in file["packages"] if row["verdict"] == "error"}


def test_ipex_beside_another_torch(environment: Environment) -> None:
    status, document = audit(environment("ipex-beside-torch"), "--backend", "cpu")
    found = errors(document)
    assert status == 1 and set(found) == {"intel-extension-for-pytorch"}
    assert "built for torch 2.8, not torch==2.13.0" in found["intel-extension-for-pytorch"]["says"]
    assert found["intel-extension-for-pytorch"]["use"] == ['pip install "torch==2.8.*"']


def test_on_intel_gpus_ipex_goes_and_torch_comes_from_its_index(environment: Environment) -> None:
    status, document = audit(environment("ipex-beside-torch"), "--backend", "xpu")
    found = errors(document)
    assert status == 1 and set(found) == {"intel-extension-for-pytorch", "torch"}
    assert found["intel-extension-for-pytorch"]["use"] == ["pip uninstall -y intel-extension-for-pytorch"]
    assert "--index-url https://download.pytorch.org/whl/xpu" in found["torch"]["use"][0]


def test_onnxruntime_twice(environment: Environment) -> None:
    status, document = audit(environment("onnxruntime-twice"), "--backend", "openvino")
    found = errors(document)
    assert status == 1 and set(found) == {"onnxruntime"}
    assert found["onnxruntime"]["use"] == ["pip uninstall -y onnxruntime onnxruntime-openvino", "pip install onnxruntime-openvino"]


@pytest.mark.parametrize("name", ["torch-cpu", "onnxruntime", "openvino", "bare"])
def test_sound_environments_have_no_error(environment: Environment, name: str) -> None:
    status, document = audit(environment(name), "--backend", "cpu")
    assert (status, errors(document)) == (0, {})
