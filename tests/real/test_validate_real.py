"""gpudoctor validate on a torch that pip really installed: a minute, a report that fits the schema, and a worker that somebody kills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from validate_runs import validate, workers

from gpudoctor.benchmark.processes import MORE
from gpudoctor.model.measurement import OUT_OF_TIME
from gpudoctor.reporters.shared.schema import complaints

LIMIT = 60.0
SLACK = 6.0
"""Seconds that a machine with other work on its two cores may take more."""


@pytest.mark.rotates("the default minute")
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("name", "first"), [
    ("torch-cpu", [("resnet18", "inference"), ("resnet18", "training")]),
    ("openvino", [("resnet18", "inference")]), ("onnxruntime", [("resnet18", "inference")]),
])  # fmt: skip
def test_the_default_minute_begins_with_a_small_network_and_is_right(
    environment: Callable[[str], Path], tmp_path: Path, name: str, first: list[tuple[str, str]]
) -> None:
    ran, document, took = validate(environment(name), tmp_path)
    assert ran.returncode == 0, ran.stderr + ran.stdout[-2000:]
    assert took <= LIMIT + SLACK
    assert complaints(document) == []
    rows = document["measurements"]
    assert [(each["workload"], each["task"]) for each in rows[: len(first)]] == first
    done = [each for each in rows if each["status"] == "ok"]
    assert done and all(each["status"] == "ok" or each["reason"].startswith(OUT_OF_TIME) for each in rows), rows
    assert all(each["correctness"]["passed"] for each in done if each["correctness"])
    assert all(each["ceiling"]["fraction"] <= 1.001 for each in done if each["ceiling"])
    assert all(each["conditions"]["settings"] for each in done if each["task"] != "micro")
    assert document["facts"]["measured"]["done"] == len(done)
    assert not workers(tmp_path) and not list(tmp_path.iterdir())


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["torch-cpu", "openvino", "onnxruntime"])
def test_small_measurements_share_a_process_and_operators_are_one_of_them(
    environment: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    seen: set[int] = set()
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.2):
            seen.update(workers(tmp_path))

    thread = threading.Thread(target=watch)
    thread.start()
    ran, document, _ = validate(environment(name), tmp_path, "--workload", "matmul,operators,launch", "--duration", "0.5")
    over.set()
    thread.join()
    assert ran.returncode == 0 and complaints(document) == []
    matmul, operators, launch = document["measurements"]
    assert [each["status"] for each in (matmul, operators, launch)] == ["ok"] * 3
    again = [each for each in document["measurements"] if each["noisy"] or any("measured twice" in note for note in each["notes"])]
    assert 1 <= len(seen) <= MORE + len(again), "each pass has one process for all; what others disturbed is measured once more in its own"
    assert matmul["throughput"]["unit"] == "TFLOP/s" and 0.001 < matmul["throughput"]["value"] < 100
    assert matmul["correctness"]["passed"] and "the fastest measured here" in matmul["ceiling"]["source"]
    assert operators["iterations"] > 20 and operators["correctness"]["passed"]


@pytest.mark.timeout(300)
def test_a_worker_that_somebody_kills_is_one_failure_and_the_rest_goes_on(environment: Callable[[str], Path], tmp_path: Path) -> None:
    python = environment("torch-cpu")
    mine: list[int] = []

    def kill() -> None:
        for _ in range(600):
            found = workers(tmp_path)
            if found:
                time.sleep(1.0)
                os.kill(found[0], signal.SIGKILL)
                mine.extend(found)
                return
            time.sleep(0.1)

    thread = threading.Thread(target=kill)
    thread.start()
    ran, document, _ = validate(python, tmp_path, "--workload", "matmul,launch", "--duration", "1")
    thread.join()
    assert ran.returncode == 1 and complaints(document) == []
    first, second = document["measurements"]
    assert first["workload"] == "matmul" and first["status"] == "failed" and first["reason"].endswith("died of SIGKILL")
    assert second["workload"] == "launch" and second["status"] == "ok"
    assert document["facts"]["measured"]["failed"] == ["matmul micro float32 on cpu"]
    assert mine and not workers(tmp_path) and not list(tmp_path.iterdir())


@pytest.mark.rotates("the end of the doctor")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_end_of_the_doctor_is_that_of_its_workers(environment: Callable[[str], Path], tmp_path: Path, number: signal.Signals) -> None:
    argv = [sys.executable, "-m", "gpudoctor", "validate", "--python", str(environment("torch-cpu")), "--workload", "matmul"]
    own = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen([*argv, "--duration", "60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=own)
    for _ in range(600):
        if workers(tmp_path):
            break
        time.sleep(0.1)
    time.sleep(2.0)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    time.sleep(0.5)
    assert out == "" and not workers(tmp_path)
    if number == signal.SIGKILL:
        return  # nobody is left to remove the folder
    assert process.returncode == 130 and err.strip() == "gpudoctor: interrupted" and not list(tmp_path.iterdir())
