"""Several processes at once on this processor: replicas of a network, ranks of gloo; one that is killed, one that hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from validate_runs import validate, workers

from gpudoctor.benchmark import flop_model
from gpudoctor.benchmark import workers as workers_of
from gpudoctor.reporters.shared.schema import complaints
from gpudoctor.system.local_host import LocalHost

REPLICAS = ("--replicas", "2", "--workload", "mobilenet_v2")


def disturbed(own: Path, number: signal.Signals, seconds: float) -> threading.Thread:
    """Sends a signal to the younger of two workers, so long after both are there."""

    def act() -> None:
        for _ in range(900):
            found = sorted(workers(own))
            if len(found) == 2:
                time.sleep(seconds)
                os.kill(found[-1], number)
                return
            time.sleep(0.1)

    thread = threading.Thread(target=act)
    thread.start()
    return thread


@pytest.mark.rotates("several processes at once")
@pytest.mark.alone
@pytest.mark.timeout(300)
def test_two_replicas_share_batches_from_image_to_result(environment: Callable[[str], Path], tmp_path: Path) -> None:
    ran, document, _ = validate(
        environment("torch-cpu"), tmp_path, *REPLICAS, "--batch", "1,2,5", "--duration", "2", "--max-latency", "1e6"
    )
    assert ran.returncode == 0 and complaints(document) == []
    two, five = document["measurements"]
    assert [(each["batch"], each["replicas"], each["status"]) for each in (two, five)] == [(2, 2, "ok"), (5, 2, "ok")]
    for each in (two, five):
        latency = each["latency_ms"]
        assert each["includes"] == ["preprocess", "host_to_device", "compute", "device_to_host"] and each["correctness"]["passed"]
        assert latency["p50"] <= latency["p95"] <= latency["p99"]
        # a batch waits for its slower half: together they do no less than what its latency alone would allow
        assert 0.8 < each["throughput"]["value"] / (1000 * each["batch"] / latency["mean"]) < 3
        assert each["energy"] is None and any("energy not known" in note for note in each["notes"])
    assert "the largest batch within 1e+06 ms (p95)" in five["notes"] and not any("largest" in note for note in two["notes"])
    assert not workers(tmp_path) and not list(tmp_path.iterdir())


@pytest.mark.rotates("several processes at once")
@pytest.mark.timeout(300)
def test_a_replica_that_somebody_kills_is_one_failure_and_takes_the_other_along(environment: Callable[[str], Path], tmp_path: Path) -> None:
    thread = disturbed(tmp_path, signal.SIGKILL, 6.0)
    ran, document, took = validate(environment("torch-cpu"), tmp_path, *REPLICAS, "--batch", "2,4", "--duration", "20")
    thread.join()
    killed, next_one = document["measurements"]
    assert ran.returncode == 1 and complaints(document) == []
    assert killed["status"] == "failed" and killed["reason"].startswith("replica ") and killed["reason"].endswith("died of SIGKILL")
    assert next_one["status"] == "ok" and took < 120
    assert not workers(tmp_path) and not list(tmp_path.iterdir())


@pytest.mark.rotates("several processes at once")
@pytest.mark.alone
@pytest.mark.timeout(300)
def test_two_processes_add_up_by_gloo_at_every_message_size(environment: Callable[[str], Path], tmp_path: Path) -> None:
    ran, document, _ = validate(environment("torch-cpu"), tmp_path, "--workload", "all_reduce", "--duration", "2")
    assert ran.returncode == 0 and complaints(document) == []
    found = document["measurements"]
    assert [each["input"] for each in found] == [[256 * 8**step] for step in range(6)]
    assert all(each["status"] == "ok" and each["replicas"] == 2 and each["correctness"]["passed"] for each in found)
    assert all(any(note.endswith("collective: gloo") for note in each["notes"]) for each in found)
    times = [each["latency_ms"]["median"] for each in found]
    rates = [each["throughput"]["value"] for each in found]
    assert times[0] < 50 and times[-1] > 3 * times[0] and rates[-1] > 3 * rates[0]
    # two ranks: bus bandwidth is bytes by time
    assert rates[-1] == pytest.approx((32 << 20) / times[-1] / 1e6, rel=0.01)
    assert not workers(tmp_path) and not list(tmp_path.iterdir())


@pytest.mark.rotates("several processes at once")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_rank_that_dies_or_hangs_is_a_failure_and_nothing_waits_for_it(
    environment: Callable[[str], Path], tmp_path: Path, number: signal.Signals
) -> None:
    thread = disturbed(tmp_path, number, 6.0)
    ran, document, took = validate(environment("torch-cpu"), tmp_path, "--workload", "all_reduce", "--duration", "60")
    thread.join()
    found: dict[str, Any] = document["measurements"][-1]
    assert ran.returncode == 1 and complaints(document) == [] and len(document["measurements"]) == 1
    assert found["status"] == "failed" and found["reason"].startswith("rank ") and took < 120
    assert found["reason"].endswith("died of SIGKILL") or (number == signal.SIGSTOP and "was silent for" in found["reason"])
    assert not workers(tmp_path) and not list(tmp_path.iterdir())


@pytest.mark.rotates("several processes at once")
@pytest.mark.timeout(300)
def test_the_end_of_the_doctor_is_that_of_all_replicas(environment: Callable[[str], Path], tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "gpudoctor", "validate", "--python", str(environment("torch-cpu")), *REPLICAS, "--duration", "60"]
    own = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=own)
    for _ in range(600):
        if len(workers(tmp_path)) == 2:
            break
        time.sleep(0.1)
    time.sleep(3.0)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert out == "" and err.strip() == "gpudoctor: interrupted" and process.returncode == 130
    assert not workers(tmp_path) and not list(tmp_path.iterdir())


@pytest.mark.rotates("several processes at once")
@pytest.mark.timeout(300)
def test_fine_tuning_in_mixed_precision_learns_as_float64_does(environment: Callable[[str], Path], tmp_path: Path) -> None:
    words = ("--workload", "classifier_finetuning", "--batch", "1", "--duration", "0.5", "--optimizer", "adam")
    ran, document, _ = validate(environment("torch-cpu"), tmp_path, *words)
    (found,) = document["measurements"]
    assert ran.returncode == 0 and complaints(document) == []
    assert (found["status"], found["dtype"], found["optimizer"]) == ("ok", "bfloat16", "adam")
    assert found["correctness"]["passed"] and found["input"] == [3, 224, 224]


@pytest.mark.rotates("several processes at once")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_the_head_learns_faster_than_the_rest_in_every_precision(environment: Callable[[str], Path], dtype: str) -> None:
    request = {
        "framework": "torch", "device": "cpu", "workload": "resnet18", "task": "training", "dtype": dtype, "optimizer": "sgd",
        "options": {"batch": 2, "height": 32, "width": 32, "classes": 19}, "duration": 0.1, "warm_up": 0.1, "fine_tuning": True,
        "threads": 1,
    }  # fmt: skip
    answer = workers_of.ask(LocalHost(budget=0.0), str(environment("torch-cpu") / "bin" / "python"), request, limit=200)
    assert answer.status == "ok", answer.reason
    rows = {row["name"]: row["passed"] for row in answer.result["outputs"]}
    assert rows["optimizer"] and rows["learning"], rows
    assert answer.result["grad_scaler"] is (dtype == "float16")


PREPARED = """
import sys
sys.path[:0] = [sys.argv[1]]
import networks, numpy, preprocessing, torch
network = networks.draw("resnet18", batch=2, height=5, width=7)
raw = numpy.frombuffer(preprocessing.image_bytes(network), numpy.uint8).reshape(2, 5, 7, 3).astype(numpy.float64)
right = ((raw / 255 - preprocessing.MEAN) / preprocessing.DEVIATION).transpose(0, 3, 1, 2)
for got in (preprocessing.WithNumpy(network, "float32").prepared(), preprocessing.WithTorch(network, torch.float32).prepared().numpy()):
    assert got.shape == (2, 3, 5, 7) and got.dtype == numpy.float32 and got.flags["C_CONTIGUOUS"]
    assert abs(got - right).max() < 1e-5, abs(got - right).max()
assert preprocessing.WithTorch(network, torch.bfloat16).prepared().dtype == torch.bfloat16
print("same")
"""


def test_images_are_prepared_alike_with_numpy_and_torch(environment: Callable[[str], Path]) -> None:
    argv = [str(environment("torch-cpu") / "bin" / "python"), "-c", PREPARED, os.path.dirname(flop_model.WORKER)]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=120)
    assert ran.stdout == "same\n", ran.stderr


@pytest.mark.rotates("environment", by="name")
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("framework", "name", "device"),
    [
        ("onnxruntime", "onnxruntime", "ort:CPUExecutionProvider"), ("openvino", "openvino", "openvino:CPU"),
        ("jax", "jax-cpu", "jax:cpu:0"), ("tensorflow", "tensorflow-cpu", "tf:CPU:0"),
    ],
)  # fmt: skip
def test_every_framework_prepares_images_and_runs_in_replicas(
    environment: Callable[[str], Path], tmp_path: Path, framework: str, name: str, device: str
) -> None:
    words = ("--replicas", "2", "--workload", "resnet18", "--batch", "2", "--duration", "1", "--device", device)
    ran, document, _ = validate(environment(name), tmp_path, *words)
    (found,) = document["measurements"]
    assert ran.returncode == 0 and complaints(document) == [], found
    assert (found["framework"], found["replicas"], found["includes"][0]) == (framework, 2, "preprocess")
    assert not workers(tmp_path) and not list(tmp_path.iterdir())
