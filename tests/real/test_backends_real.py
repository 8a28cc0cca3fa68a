"""Every backend of the workloads with its real library: it computes, is judged by the reference, and a slightly wrong one is found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from graphcore_stand_ins import POPART, POPTORCH

Environment = Callable[[str], Path]
Answer = dict[str, Any]

WORKLOADS = Path(__file__).resolve().parents[2] / "gpudoctor" / "target" / "workloads"
SMALL = {"batch": 2, "height": 64, "width": 64, "classes": 10}
QUICK = {"duration": 0.3, "warm_up": 0.3}
ON_CPU = [
    ("openvino", "openvino", "openvino:CPU"),
    ("onnxruntime", "onnxruntime", "ort:CPUExecutionProvider"),
    ("tensorflow", "tensorflow-cpu", "tf:CPU:0"),
    ("jax", "jax-cpu", "jax:cpu:0"),
]
START = """
import runpy, sys
sys.path[:0] = [{folder!r}, {folder!r} + "/backends"]
{code}
sys.argv = [{folder!r} + "/worker.py"]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def said(python: Path | str, code: str = "", more: dict[str, str] | None = None, **request: Any) -> list[Answer]:
    """All that the worker says; `code` runs before it, in its process."""
    argv = [str(python), "-B", "-c", START.format(folder=str(WORKLOADS), code=code)]
    ran = subprocess.run(
        argv, input=json.dumps({**QUICK, **request}), capture_output=True, text=True, timeout=300, env={**os.environ, **(more or {})}
    )
    lines = [json.loads(line.partition(" ")[2]) for line in ran.stdout.splitlines() if line.startswith("@gpudoctor ")]
    assert lines, ran.stderr[-2000:]
    return lines


def last(*words: Any, **request: Any) -> Answer:
    return said(*words, **request)[-1]


def result(*words: Any, **request: Any) -> Answer:
    answer = last(*words, **request)
    assert answer["stage"] == "result", answer
    return answer


def right(answer: Answer) -> bool:
    assert answer["outputs"], "nothing was compared"
    return all(row["passed"] for row in answer["outputs"])


def python_of(environment: Environment, name: str) -> Path:
    return environment(name) / "bin" / "python"


# the reference

PROOF = """
import json, sys
import correctness, network_ir, networks, numpy, reference_numpy, torch, torch_networks
found = {}
for name in networks.NETWORKS:
    network, classes = correctness.small({"workload": name})
    module = torch_networks.build(network, dtype=torch.float64, dropout=False, fused_attention=False).eval()
    given = [each.double() if each.is_floating_point() else each for each in torch_networks.inputs(network)]
    with torch.no_grad():
        right = module(*given)
        right = right if isinstance(right, tuple) else (right,)
        off = [numpy.linalg.norm(a - b.numpy()) / numpy.linalg.norm(b.numpy()) for a, b in zip(reference_numpy.evaluate(network), right)]
        if network_ir.has_labels(network, classes):
            loss = torch.nn.functional.cross_entropy(module.train()(*given), torch_networks.labels(2, classes))
            off.append(abs(reference_numpy.loss(network, classes) / float(loss) - 1))
    found[name] = float(max(off))
print(json.dumps(found))
"""


@pytest.mark.rotates("slow", member="network builders")
def test_the_reference_in_numpy_is_torch_in_float64(environment: Environment) -> None:
    argv = [str(python_of(environment, "torch-cpu")), "-B", "-c", f"import sys; sys.path.insert(0, {str(WORKLOADS)!r})\n{PROOF}"]
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # threads that wait for each other take minutes
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=600, env=alone)
    assert ran.returncode == 0, ran.stderr[-2000:]
    found = json.loads(ran.stdout)
    assert len(found) >= 12
    # torch computes the sines of the timestep in float32, whatever the rest is in
    assert {name: error for name, error in found.items() if not error < (1e-5 if name.startswith("unet") else 1e-12)} == {}


# it computes


@pytest.mark.rotates("environment", by="name")
@pytest.mark.parametrize(("framework", "name", "device"), ON_CPU)
def test_inference_computes_and_is_judged(environment: Environment, framework: str, name: str, device: str) -> None:
    told = said(
        python_of(environment, name), framework=framework, device=device, workload="resnet18", task="inference", options=SMALL, copies=True
    )
    assert [line["stage"] for line in told if line["stage"] not in ("progress", "device")] == [
        "import", "build", "correctness", "first", "measure", "result",
    ]  # fmt: skip
    answer = told[-1]
    assert right(answer) and answer["outputs"][0]["max_relative_error"] < 1e-5, answer
    assert answer["outputs"][0]["max_relative_error"] > 0.0, "float32 cannot be float64"
    assert answer["items_per_step"] == 2 and answer["unit"] == "images/s"
    assert answer["includes"] == ["host_to_device", "compute", "device_to_host"]
    assert answer["latency_ms"]["median"] > 0 and answer["iterations"] >= 2
    assert answer["framework_version"] and answer["device_name"]


@pytest.mark.rotates("environment", by="name")
@pytest.mark.parametrize(("framework", "name", "device"), ON_CPU[2:])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_training_has_right_losses_and_gradients(environment: Environment, framework: str, name: str, device: str, optimizer: str) -> None:
    answer = result(
        python_of(environment, name), framework=framework, device=device, workload="resnet18", task="training", options=SMALL,
        optimizer=optimizer,
    )  # fmt: skip
    assert right(answer), answer
    assert [row["name"] for row in answer["outputs"]] == ["first loss", "losses", "size of gradients", "gradients"]
    assert all(row["max_relative_error"] < 1e-3 for row in answer["outputs"]), answer
    assert answer["latency_ms"]["median"] > 0


@pytest.mark.rotates("environment", by="name")
@pytest.mark.parametrize(("framework", "name", "device"), ON_CPU)
def test_a_network_of_other_layers(environment: Environment, framework: str, name: str, device: str) -> None:
    """Attention, its mask, a cache, embeddings, layer norm: nothing of it is in resnet18."""
    answer = result(
        python_of(environment, name), framework=framework, device=device, workload="gpt2_decode", task="inference",
        options={"batch": 1, "past": 16}, job="verify",
    )  # fmt: skip
    assert right(answer) and all("float64" in row["note"] for row in answer["outputs"] if row["name"].startswith("output")), answer


@pytest.mark.rotates("environment", by="name")
@pytest.mark.parametrize(("framework", "name", "device"), ON_CPU)
@pytest.mark.parametrize(("workload", "unit"), [("matmul", "FLOP/s"), ("bandwidth", "B/s"), ("launch", "launches/s")])
def test_small_measurements(environment: Environment, framework: str, name: str, device: str, workload: str, unit: str) -> None:
    options = {"matmul": {"side": 256}, "bandwidth": {"bytes": 1 << 20}, "launch": {}}[workload]
    answer = result(python_of(environment, name), framework=framework, device=device, workload=workload, task="micro", options=options)
    assert right(answer), answer
    assert answer["unit"] == unit
    assert answer["items_per_step"] == {"matmul": 2 * 256**3, "bandwidth": 3 << 20, "launch": 1}[workload]


@pytest.mark.rotates("opencl on pocl")
@pytest.mark.parametrize("workload", ["matmul", "bandwidth", "launch", "host_to_device", "device_to_host"])
def test_opencl_on_pocl_without_numpy(workload: str) -> None:
    options = {"side": 128, "bytes": 1 << 20}
    answer = result(sys.executable, framework="opencl", device="", workload=workload, task="micro", options=options)
    assert right(answer), answer
    assert "Portable Computing Language" in answer["device_name"]
    assert answer["device"].replace(".", "").isdigit()


def test_opencl_in_float64() -> None:
    answer = result(sys.executable, framework="opencl", workload="matmul", task="micro", dtype="float64", options={"side": 64})
    assert right(answer) and answer["outputs"][0]["max_relative_error"] < 1e-12, answer


@pytest.mark.rotates("environment", member="openvino")
def test_the_throughput_hint_keeps_all_requests_busy(environment: Environment) -> None:
    request = {"framework": "openvino", "device": "CPU", "workload": "resnet18", "task": "inference", "options": SMALL}
    answer = result(python_of(environment, "openvino"), **request, settings={"hint": "throughput"})
    assert right(answer), answer
    assert answer["items_per_step"] == 2 * answer["requests"]
    assert answer["request_latency_ms"] > 0 and answer["compile_ms"] > 0


@pytest.mark.rotates("environment", member="openvino")
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_precision_is_computed_in_or_said_to_be_lacking(environment: Environment, dtype: str) -> None:
    """Processors without it take another one, and OpenVINO says so only when asked."""
    answer = last(
        python_of(environment, "openvino"), framework="openvino", device="CPU", workload="resnet18", task="inference", options=SMALL,
        dtype=dtype,
    )  # fmt: skip
    if answer["stage"] == "skipped":
        assert "where " in answer["reason"] or "computes nothing in" in answer["reason"]
    else:
        assert right(answer) and answer["outputs"][0]["max_relative_error"] > 1e-4, "this is float32"


@pytest.mark.rotates("environment", member="onnxruntime")
def test_half_precision_on_onnxruntime(environment: Environment) -> None:
    answer = result(
        python_of(environment, "onnxruntime"),
        framework="onnxruntime",
        workload="resnet18",
        task="inference",
        options=SMALL,
        dtype="float16",
    )
    assert right(answer) and answer["outputs"][0]["max_relative_error"] > 1e-5, answer


# a slightly wrong one is found

SPOILED = {
    "openvino": "import onnx_networks\n"
    "good = onnx_networks._pieces\n"
    "onnx_networks._pieces = lambda parameter, *rest: good(\n"
    "    parameter._replace(spread=parameter.spread * 1.01) if len(parameter.shape) == 4 else parameter, *rest)",
    "tensorflow": "import tensorflow as tf\n"
    "good = tf.nn.conv2d\n"
    "tf.nn.conv2d = lambda x, w, *rest: good(x, w * (1.01 if x.dtype == tf.float32 else 1.0), *rest)",
    "jax": "import jax\n"
    "good = jax.lax.conv_general_dilated\n"
    "jax.lax.conv_general_dilated = lambda x, w, *rest, **more: good(x, w * (1.01 if x.dtype == 'float32' else 1.0), *rest, **more)",
}
SPOILED["onnxruntime"] = SPOILED["openvino"]
ZERO_GRADIENT = {
    "tensorflow": "import tensorflow as tf\n"
    "good = tf.GradientTape.gradient\n"
    "def spoil(self, loss, given):\n"
    "    return [each * (0.0 if each.dtype == tf.float32 else 1.0) for each in good(self, loss, given)]\n"
    "tf.GradientTape.gradient = spoil",
    "jax": "import jax\n"
    "good = jax.value_and_grad\n"
    "def spoil(function):\n"
    "    def call(*given):\n"
    "        value, gradients = good(function)(*given)\n"
    "        return value, {k: g * (0.0 if g.dtype == 'float32' else 1.0) for k, g in gradients.items()}\n"
    "    return call\n"
    "jax.value_and_grad = spoil",
}


@pytest.mark.rotates("environment", by="name")
@pytest.mark.parametrize(("framework", "name", "device"), ON_CPU)
def test_convolutions_that_are_off_by_one_percent_are_found(environment: Environment, framework: str, name: str, device: str) -> None:
    answer = result(
        python_of(environment, name), SPOILED[framework], framework=framework, device=device, workload="resnet18", task="inference",
        options=SMALL, job="verify",
    )  # fmt: skip
    assert not right(answer)
    assert answer["outputs"][0]["max_relative_error"] > answer["outputs"][0]["tolerance"]


@pytest.mark.rotates("environment", by="name")
@pytest.mark.parametrize(("framework", "name", "device"), ON_CPU[2:])
@pytest.mark.parametrize(("spoiled", "told"), [(SPOILED, ""), (ZERO_GRADIENT, "all gradients are zero")])
def test_a_wrong_training_is_found(
    environment: Environment, framework: str, name: str, device: str, spoiled: dict[str, str], told: str
) -> None:
    """Without batch norm, which would take a factor of a convolution away again."""
    answer = result(
        python_of(environment, name), spoiled[framework], framework=framework, device=device, workload="alexnet", task="training",
        options={**SMALL, "height": 96, "width": 96}, job="verify",
    )  # fmt: skip
    rows = {row["name"].partition(":")[0]: row for row in answer["outputs"]}
    assert not rows["gradients"]["passed"], rows
    assert told in rows["gradients"]["note"]


def test_a_wrong_opencl_kernel_is_found() -> None:
    code = (
        "import ctypes\ngood = ctypes.c_char_p\n"
        "ctypes.c_char_p = lambda text: good(text.replace(b'm < GROUP', b'm < GROUP - 1') if isinstance(text, bytes) else text)"
    )
    answer = result(sys.executable, code, framework="opencl", workload="matmul", task="micro", options={"side": 64}, job="verify")
    assert not right(answer)


def test_an_opencl_kernel_that_writes_nothing_is_found() -> None:
    code = (
        "import ctypes\ngood = ctypes.c_char_p\n"
        "ctypes.c_char_p = lambda text: good(text.replace(b'c[i] =', b'T d =') if isinstance(text, bytes) else text)"
    )
    answer = result(sys.executable, code, framework="opencl", workload="bandwidth", task="micro", options={"bytes": 4096}, job="verify")
    assert "wrong sum" in answer["outputs"][0]["note"] and not right(answer)


# nobody falls back in silence

OFFERED = "import onnxruntime\nonnxruntime.get_available_providers = lambda: ['CUDAExecutionProvider', 'CPUExecutionProvider']"
NETWORK = {"workload": "resnet18", "task": "inference", "options": SMALL}


@pytest.mark.rotates("environment", member="onnxruntime")
def test_onnxruntime_that_takes_the_cpu_instead_fails(environment: Environment) -> None:
    answer = last(python_of(environment, "onnxruntime"), OFFERED, framework="onnxruntime", device="CUDAExecutionProvider", **NETWORK)
    assert answer["stage"] == "failed", answer
    assert "CPUExecutionProvider instead" in answer["error"] or "fallback to CPU EP has been explicitly disabled" in answer["error"]


@pytest.mark.rotates("environment", member="onnxruntime-twice")
def test_a_provider_without_its_device_fails(environment: Environment) -> None:
    """The OpenVINO provider is really there, the Intel GPU is not."""
    python = python_of(environment, "onnxruntime-twice")
    answer = last(python, framework="onnxruntime", device="OpenVINOExecutionProvider:GPU", **NETWORK)
    assert answer["stage"] == "failed", answer
    answer = result(python, framework="onnxruntime", device="OpenVINOExecutionProvider:CPU", **NETWORK)
    assert right(answer) and answer["device_name"] == "OpenVINO CPU"


@pytest.mark.rotates("environment", by="name")
@pytest.mark.parametrize(
    ("framework", "name", "device", "reason"),
    [
        ("openvino", "openvino", "NPU", "OpenVINO lists no NPU, but CPU"),
        ("onnxruntime", "onnxruntime", "CUDAExecutionProvider", "this onnxruntime has no CUDAExecutionProvider"),
        ("tensorflow", "tensorflow-cpu", "GPU:0", "TensorFlow lists no GPU:0, but CPU:0"),
        ("jax", "jax-cpu", "gpu:0", "JAX lists no gpu:0, but cpu:0"),
        ("opencl", "bare", "9.9", "the OpenCL loader lists no 9.9, but opencl:"),
    ],
)
def test_a_device_that_is_not_there_is_skipped(environment: Environment, framework: str, name: str, device: str, reason: str) -> None:
    answer = last(python_of(environment, name), framework=framework, device=device, **NETWORK)
    assert answer["stage"] == "skipped" and reason in answer["reason"], answer


@pytest.mark.rotates("environment", by="name")
@pytest.mark.parametrize(
    ("framework", "name", "request_", "reason"),
    [
        ("openvino", "openvino", {**NETWORK, "task": "training"}, "it does not train"),
        ("onnxruntime", "onnxruntime", {**NETWORK, "dtype": "bfloat16"}, "not in bfloat16"),
        ("jax", "jax-cpu", {**NETWORK, "compile": "max-autotune"}, "no compile mode"),
        ("tensorflow", "tensorflow-cpu", {"workload": "files", "task": "micro"}, "no micro workload 'files'"),
        ("tensorflow", "tensorflow-cpu", {**NETWORK, "workload": "resnext101_32x4d", "task": "training"}, "no gradient of grouped"),
        ("jax", "jax-cpu", {"workload": "host_to_device", "task": "micro"}, "no host to copy from"),
        ("opencl", "bare", NETWORK, "raw OpenCL has no networks"),
    ],
)
def test_what_a_backend_lacks_is_skipped(
    environment: Environment, framework: str, name: str, request_: dict[str, Any], reason: str
) -> None:
    answer = last(python_of(environment, name), framework=framework, **request_)
    assert answer["stage"] == "skipped" and reason in answer["reason"], answer


# Graphcore's: stand-ins with the names of its interface, which compute with torch and with ONNX Runtime


@pytest.mark.rotates("a stand-in of Graphcore")
@pytest.mark.parametrize("task", ["inference", "training"])
@pytest.mark.parametrize(("spoil", "passes"), [("1.0", True), ("0.9", False)])
def test_poptorch_with_a_stand_in(environment: Environment, tmp_path: Path, task: str, spoil: str, passes: bool) -> None:
    (tmp_path / "poptorch.py").write_text(POPTORCH.replace("SPOIL", spoil))
    more = {"PYTHONPATH": str(tmp_path)}
    request = {**NETWORK, "task": task, "framework": "poptorch"}
    answer = result(python_of(environment, "torch-cpu"), "", more, device="model", **request)
    assert right(answer) is (passes or task == "inference"), answer
    assert answer["device_name"].startswith("IPU Model")
    answer = last(python_of(environment, "torch-cpu"), "", more, device="ipu:0", **request)
    assert answer == {"stage": "skipped", "reason": "poptorch finds no IPU; the device 'model' is the simulation"}


@pytest.mark.rotates("environment", member="onnxruntime")
def test_popart_with_a_stand_in(environment: Environment, tmp_path: Path) -> None:
    (tmp_path / "popart.py").write_text(POPART)
    python, more = python_of(environment, "onnxruntime"), {"PYTHONPATH": str(tmp_path)}
    answer = result(python, "", more, framework="popart", device="model", **NETWORK)
    assert right(answer) and answer["compile_ms"] > 0, answer
    answer = last(python, "", more, framework="popart", device="ipu:0", **NETWORK)
    assert answer["stage"] == "failed" and "could acquire no IPU" in answer["error"]
