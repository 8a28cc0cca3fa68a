"""A network after a set-up: what is said of how the worker ended, and who is blamed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gpudoctor.benchmark import workers
from gpudoctor.benchmark.first_network import NetworkTrial, try_network
from gpudoctor.benchmark.workers import WorkerAnswer
from gpudoctor.model.measurement import FAILED, OK, SKIPPED

RIGHT = [{"name": "gradients", "max_relative_error": 1e-5, "tolerance": 6e-3, "passed": True}]
WRONG = [{"name": "gradients", "max_relative_error": 0.5, "tolerance": 6e-3, "passed": False}]


def tried(
    monkeypatch: pytest.MonkeyPatch, answer: WorkerAnswer, framework: str = "torch-xpu", device: str = "xpu:0"
) -> tuple[NetworkTrial, list[Any]]:
    asked: list[Any] = []

    def ask(host: Any, python: str, request: Mapping[str, Any], **more: Any) -> WorkerAnswer:
        asked.append((python, dict(request), more))
        return answer

    monkeypatch.setattr(workers, "ask", ask)
    return try_network(framework, device, "/env/bin/python", variables={"A": "1"}), asked


def test_a_right_training_is_told_with_its_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    found, asked = tried(monkeypatch, WorkerAnswer(status=OK, result={"outputs": RIGHT}))
    assert found == NetworkTrial("resnet18 training right, within 0.006 of float64")
    (python, request, more), = asked  # fmt: skip
    assert python == "/env/bin/python" and request["job"] == "verify" and request["framework"] == "torch" and request["device"] == "xpu:0"
    assert more["variables"] == {"A": "1"} and more["limit"] <= 60


def test_frameworks_without_training_infer(monkeypatch: pytest.MonkeyPatch) -> None:
    found, asked = tried(monkeypatch, WorkerAnswer(status=OK, result={"outputs": RIGHT}), "openvino:GPU", "openvino:GPU")
    assert asked[0][1]["task"] == "inference" and found.text.startswith("resnet18 inference right")


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (WorkerAnswer(status=OK, result={"outputs": WRONG}), "resnet18 training gives wrong results: gradients differs by 0.5"),
        (
            WorkerAnswer(status=FAILED, stage="correctness", reason="correctness: died of SIGSEGV"),
            "resnet18 training fails: correctness: died",
        ),
    ],
)
def test_wrong_results_and_crashes_are_a_failure(monkeypatch: pytest.MonkeyPatch, answer: WorkerAnswer, text: str) -> None:
    found, _ = tried(monkeypatch, answer)
    assert found.wrong and found.text.startswith(text)


@pytest.mark.parametrize(
    "answer",
    [
        WorkerAnswer(status=SKIPPED, stage="device", reason="torch.xpu lists no device"),
        WorkerAnswer(status=FAILED, stage="import", reason="import: ModuleNotFoundError: No module named 'numpy'"),
        WorkerAnswer(status=FAILED, stage="correctness", reason="correctness: no end after 60 s", late=True),
        WorkerAnswer(status=FAILED, stage="correctness", reason="correctness: memory", out_of_memory=True),
    ],
)
def test_what_says_nothing_against_the_device_is_told_and_blames_nobody(monkeypatch: pytest.MonkeyPatch, answer: WorkerAnswer) -> None:
    found, _ = tried(monkeypatch, answer)
    assert not found.wrong and found.text.startswith("resnet18 training not tried: ")


def test_where_there_is_no_network_to_try_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    for framework, device in (("opencl", "opencl:0.0"), ("poptorch", "ipu:0"), ("torch-cpu", "")):
        found, asked = tried(monkeypatch, WorkerAnswer(status=OK), framework, device)
        assert found == NetworkTrial() and asked == []
