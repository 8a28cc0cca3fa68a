"""Where a network is really computed: a device that lets the processor do an operator is found out, with the operator's name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.benchmark import workers
from gpudoctor.benchmark.first_network import try_network
from gpudoctor.model.measurement import OK
from gpudoctor.system.local_host import LocalHost

FAULTY = Path(__file__).with_name("faulty_device")
SMALL = {"batch": 1, "height": 64, "width": 64}


def measured(python: Path, faults: str, **changes: Any) -> workers.WorkerAnswer:
    request = {
        "framework": "torch-opencl", "device": "ocl:0", "workload": "yolox_tiny", "task": "inference", "dtype": "float32", "options": SMALL,
        "verify": False, "duration": 0.3, "warm_up": 0.3, **changes,
    }  # fmt: skip
    variables = {"PYTHONPATH": str(FAULTY), "FAULTY_DEVICE": faults}
    return workers.ask(LocalHost(300), str(python), request, limit=240, variables=variables)


@pytest.mark.rotates("where a network is computed")
@pytest.mark.parametrize(("faults", "found"), [("loud-fallback", ["aten::sigmoid.out"]), ("", [])])
def test_operators_that_fall_back_in_a_network_are_named(environment: Callable[[str], Path], faults: str, found: list[str]) -> None:
    answer = measured(environment("torch-cpu") / "bin" / "python", faults)
    assert answer.status == OK, answer.reason
    assert answer.result["fallbacks"] == found and answer.result["computed_on"] == "ocl:0" and answer.result["python_debug"] is False


@pytest.mark.rotates("where a network is computed")
def test_the_processor_has_nothing_to_fall_back_to(environment: Callable[[str], Path]) -> None:
    python = environment("torch-cpu") / "bin" / "python"
    answer = measured(python, "", framework="torch", device="cpu", workload="alexnet", options={"batch": 1})
    assert answer.status == OK and "fallbacks" not in answer.result and answer.result["computed_on"] == "cpu"


@pytest.mark.rotates("environment", by="name")
@pytest.mark.parametrize(
    ("framework", "name", "device"),
    [
        ("onnxruntime", "onnxruntime", "ort:CPUExecutionProvider"),
        ("openvino", "openvino", "openvino:CPU"),
        ("torch-cpu", "torch-cpu", "cpu"),
    ],
)
def test_a_network_after_a_set_up_is_right(environment: Callable[[str], Path], framework: str, name: str, device: str) -> None:
    tried = try_network(framework, device, str(environment(name) / "bin" / "python"), limit=300)
    assert not tried.wrong and " right, within " in tried.text


@pytest.mark.rotates("where a network is computed")
def test_a_network_after_a_set_up_finds_a_wrong_kernel(environment: Callable[[str], Path]) -> None:
    variables = {"PYTHONPATH": str(FAULTY), "FAULTY_DEVICE": "conv-off"}
    python = str(environment("torch-cpu") / "bin" / "python")
    tried = try_network("torch-opencl", "ocl:0", python, variables=variables, limit=300)
    assert tried.wrong and tried.text.startswith("resnet18 training gives wrong results: ")
