"""gpudoctor audit of real environments from PyPI: what excludes each other is named, and its command mends it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import format_validators
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


@pytest.mark.rotates("environment", member="ipex-beside-torch")
def test_ipex_beside_another_torch(environment: Environment) -> None:
    status, document = audit(environment("ipex-beside-torch"), "--backend", "cpu")
    found = errors(document)
    assert status == 1 and set(found) == {"intel-extension-for-pytorch"}
    assert "built for torch 2.8, not torch==2.13.0" in found["intel-extension-for-pytorch"]["says"]
    assert found["intel-extension-for-pytorch"]["use"] == ['pip install "torch==2.8.*"']


@pytest.mark.rotates("environment", member="ipex-beside-torch")
def test_on_intel_gpus_ipex_goes_and_torch_comes_from_its_index(environment: Environment) -> None:
    status, document = audit(environment("ipex-beside-torch"), "--backend", "xpu")
    found = errors(document)
    assert status == 1 and set(found) == {"intel-extension-for-pytorch", "torch"}
    assert found["intel-extension-for-pytorch"]["use"] == ["pip uninstall -y intel-extension-for-pytorch"]
    assert "--index-url https://download.pytorch.org/whl/xpu" in found["torch"]["use"][0]


@pytest.mark.rotates("environment", member="onnxruntime-twice")
def test_onnxruntime_twice(environment: Environment) -> None:
    status, document = audit(environment("onnxruntime-twice"), "--backend", "openvino")
    found = errors(document)
    assert status == 1 and set(found) == {"onnxruntime"}
    assert found["onnxruntime"]["use"] == ["pip uninstall -y onnxruntime onnxruntime-openvino", "pip install onnxruntime-openvino"]


@pytest.mark.rotates("environment", by="name")
@pytest.mark.parametrize("name", ["torch-cpu", "onnxruntime", "openvino", "bare"])
def test_sound_environments_have_no_error(environment: Environment, name: str) -> None:
    status, document = audit(environment(name), "--backend", "cpu")
    assert (status, errors(document)) == (0, {})


@pytest.mark.rotates("slow", member="pipeline formats")
def test_sarif_is_valid_whatever_the_files_say(tmp_path: Path) -> None:
    """Every kind of row, on every backend, with names that try to break out of the format; read by SARIF's schema and a reader."""
    (tmp_path / "a b#c%").mkdir()
    (tmp_path / "requirements.txt").write_text(
        "torch==2.3.0\nnumpy\nonnxruntime-gpu\nonnxruntime\nflash-attn\napex\ndetectron2\nllama-cpp-python\nipex-llm\nnvidia-cublas-cu12\n"
        "jax[cuda13]; python_version > '3.9'\nxformers @ https://x.example/\x1b[31m\u202e%0A::error::.whl\n"
    )
    (tmp_path / "a b#c%" / "Dockerfile").write_text("FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime\nRUN pip install vllm tensorflow\n")
    files, counts = [], []
    for backend in ("cuda", "rocm", "xpu", "directml", "opencl", "ipu", "openvino", "onnxruntime", "mps", "cpu"):
        target = tmp_path / f"{backend}.sarif"
        argv = [sys.executable, "-m", "gpudoctor", "audit", "requirements.txt", "a b#c%/Dockerfile", "--backend", backend]
        done = subprocess.run([*argv, "--format", "sarif", "-o", str(target)], capture_output=True, text=True, timeout=60, cwd=tmp_path)
        assert done.returncode in (0, 1) and done.stderr == "", (backend, done.stderr)
        document = json.loads(subprocess.run([*argv, "--format", "json"], capture_output=True, text=True, timeout=60, cwd=tmp_path).stdout)
        files.append(target)
        counts.append(sum(document["summary"][name] for name in ("errors", "warnings", "unverified", "infos")))
        run = json.loads(target.read_text())["runs"][0]
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
        places = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]]
        assert set(places) <= {"requirements.txt", "a%20b%23c%25/Dockerfile"}, places
        levels = [result["level"] for result in run["results"]]
        assert levels.count("error") == document["summary"]["errors"] and done.returncode == (1 if "error" in levels else 0)
    assert format_validators.sarif(files) == counts and min(counts) > 0
