"""Networks on a device whose faults are known: `validate` must not call it right, and a sound one must pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from environments import build

from gpudoctor.benchmark import workers
from gpudoctor.benchmark.results import judged
from gpudoctor.system.local_host import LocalHost

FAULTY = Path(__file__).with_name("faulty_device")


def verified(faults: str, workload: str, task: str, device: str = "ocl:0", dtype: str = "float32") -> tuple[workers.WorkerAnswer, str]:
    """What the worker answered, and what is wrong with it ('' : nothing)."""
    framework = "torch" if device == "cpu" else "torch-opencl"
    request: dict[str, Any] = {
        "framework": framework, "device": device, "workload": workload, "task": task, "dtype": dtype, "job": "verify", "threads": 1,
        "options": {"batch": 1, "height": 64, "width": 64},
    }  # fmt: skip
    variables = {"PYTHONPATH": str(FAULTY), "FAULTY_DEVICE": faults}
    answer = workers.ask(LocalHost(), str(build("torch-cpu") / "bin" / "python"), request, limit=200, variables=variables)
    correctness, wrong = judged(answer.result.get("outputs"))
    if answer.status == workers.OK:
        assert correctness is not None and correctness.passed == (wrong == "")
    return answer, wrong


@pytest.mark.rotates("a sound device")
@pytest.mark.parametrize("task", ["inference", "training"])
def test_a_sound_device_is_right(task: str) -> None:
    answer, wrong = verified("", "resnet18", task)
    assert (answer.status, wrong) == (workers.OK, ""), answer


@pytest.mark.rotates("a fault of a device")
@pytest.mark.parametrize(
    ("faults", "task", "said"),
    [
        ("conv-off", "inference", "layers: conv1 differs by"), ("conv-off", "training", "layers: conv1 differs by"),
        ("zero-gradient", "training", "gradient"), ("conv-nan", "inference", "NaN"), ("conv-infinite", "inference", "infinite|NaN"),
        ("conv-constant", "inference", "layers: conv1"), ("conv-nan", "training", "NaN"),
    ],
)  # fmt: skip
def test_each_fault_fails_the_network(faults: str, task: str, said: str) -> None:
    answer, wrong = verified(faults, "resnet18", task)
    assert answer.status == workers.OK and any(word in wrong for word in said.split("|")), (answer.reason, wrong)


@pytest.mark.rotates("training on this processor")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("workload", ["alexnet", "resnet50", "mobilenet_v2", "style_transfer"])
def test_training_on_this_processor_is_right_in_each_type(workload: str, dtype: str) -> None:
    """mobilenet_v2's gradients in bfloat16 are mostly rounding: that is the network's, not the device's."""
    answer, wrong = verified("", workload, "training", device="cpu", dtype=dtype)
    assert (answer.status, wrong) == (workers.OK, ""), answer
