"""A whole network after a set-up: ResNet-18 on the device, at batch 2 and reduced resolution, against float64 on the processor.

It follows the first computation (setup/first_computation.py), which computes a few numbers with nothing but the framework: that
one needs no NumPy, runs on whatever a recipe installs (OpenCL alone, TensorFlow 1.15, the IPU Model), names the stage of a hang, and so
decides whether an installation works. This one tells what that cannot: whether the operators of a real network are there and right.
Nothing is timed; where the environment lacks what it needs, it says so and blames nobody.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from gpudoctor.benchmark import workers
from gpudoctor.benchmark.job_plan import ABILITIES
from gpudoctor.benchmark.results import judged
from gpudoctor.benchmark.workload_list import BY_ID
from gpudoctor.model.measurement import FAILED, OK
from gpudoctor.system.framework_child import Caches
from gpudoctor.system.local_host import LocalHost

LIMIT = 60.0
"""The limit in seconds. A driver that compiles its kernels for longer is not at fault."""
NETWORK = BY_ID["resnet18"]
FRAMEWORKS = {
    "torch-cpu": "torch", "torch-cuda": "torch", "torch-rocm": "torch", "torch-xpu": "torch", "torch-mps": "torch",
    "pytorch-directml": "torch", "ipex": "ipex", "torch-directml": "torch-directml", "torch-opencl": "torch-opencl", "openvino": "openvino",
    "onnxruntime": "onnxruntime", "tensorflow": "tensorflow", "jax": "jax",
}  # fmt: skip
"""Names of frameworks in the first computation and in a worker. OpenCL alone has no networks; PopTorch's compiler takes minutes."""


class NetworkTrial(Struct, frozen=True):
    """wrong: results differ, or it crashed, and `text` says how; else `text` is what was found right, why nothing was tried, or ''."""

    text: str = ""
    wrong: bool = False


def try_network(
    framework: str, device: str, python: str, *, variables: Mapping[str, str] | None = None, limit: float = LIMIT
) -> NetworkTrial:
    """`framework` and `device` as the first computation named them ('torch-xpu', 'xpu:0'); `python`: of the target environment."""
    worker = FRAMEWORKS.get(framework.partition(":")[0])
    if worker is None or not device or not python:
        return NetworkTrial()
    task = "training" if "training" in ABILITIES.get(worker, ("training",)) else "inference"
    request = {
        "framework": worker, "device": device, "workload": NETWORK.name, "task": task, "dtype": "float32",
        "options": {**NETWORK.options, "batch": 2}, "optimizer": "sgd", "compile": "none", "verify": True, "job": "verify",
    }  # fmt: skip
    with Caches() as caches:
        answer = workers.ask(LocalHost(budget=limit + 5), python, request, limit=limit, caches=caches, variables=variables)
    return _told(answer, f"{NETWORK.id} {task}")


def _told(answer: workers.WorkerAnswer, what: str) -> NetworkTrial:
    if answer.status == OK:
        correctness, wrong = judged(answer.result.get("outputs"))
        if wrong:
            return NetworkTrial(f"{what} gives wrong results: {wrong}", wrong=True)
        if correctness is None or correctness.tolerance is None:
            return NetworkTrial()
        return NetworkTrial(f"{what} right, within {correctness.tolerance:g} of float64")
    crashed = answer.status == FAILED and not answer.late and not answer.out_of_memory and answer.stage not in ("", "import")
    if crashed:
        return NetworkTrial(f"{what} fails: {answer.reason}", wrong=True)
    return NetworkTrial(f"{what} not tried: {'no end within a minute' if answer.late else answer.reason}")
