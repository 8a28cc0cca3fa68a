"""The first computation with real frameworks: it computes, a wrong kernel is seen, and the home folder stays as it was."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from environments import site_packages

from gpudoctor.facts.probes.frameworks import payload
from gpudoctor.setup.first_computation import compute, parse
from gpudoctor.system.host import Ran

Environment = Callable[[str], Path]

ON_CPU = [
    ("torch-cpu", "torch-cpu", "cpu"),
    ("onnxruntime", "onnxruntime", "ort:CPUExecutionProvider"),
    ("openvino", "openvino", "openvino:CPU"),
    ("jax", "jax-cpu", "jax:cpu:0"),
    ("tensorflow", "tensorflow-cpu", "tf:CPU:0"),
]

# Each spoils one operation of the framework a little, in float32 only, as a broken kernel does.
SPOILED = {
    "torch-cpu": """
import torch
good = torch.nn.functional.conv2d
torch.nn.functional.conv2d = lambda x, *rest: good(x, *rest) * (1.01 if x.dtype == torch.float32 else 1.0)
""",
    "jax": """
import jax
good = jax.lax.conv
jax.lax.conv = lambda x, *rest: good(x, *rest) * (1.01 if x.dtype == "float32" else 1.0)
""",
    "tensorflow": """
import tensorflow as tf
good = tf.nn.conv2d
tf.nn.conv2d = lambda x, *rest, **more: good(x, *rest, **more) * (1.01 if x.dtype == tf.float32 else 1.0)
""",
    "onnxruntime": """
import onnxruntime
good = onnxruntime.InferenceSession.run
def run(self, *rest):
    found = good(self, *rest)
    found[0][1, 3] += 0.25
    return found
onnxruntime.InferenceSession.run = run
""",
    "openvino": """
import openvino
good = openvino.CompiledModel.__call__
def call(self, *rest):
    found = good(self, *rest)
    found[self.output(0)][1, 3] += 0.25
    return found
openvino.CompiledModel.__call__ = call
""",
}
RUN = "\nimport runpy, sys\nrunpy.run_path(sys.argv[0], run_name='__main__')\n"


def spoiled(python: Path | str, framework: str, code: str) -> Ran:
    start = f"import sys; sys.argv = {[payload('first_computation.py'), framework]!r}\n"
    done = subprocess.run([str(python), "-c", start + code + RUN], capture_output=True, text=True, timeout=120)
    return Ran(("python",), rc=done.returncode, stdout=done.stdout, stderr=done.stderr)


@pytest.mark.rotates("environment", by="name")
@pytest.mark.parametrize(("framework", "name", "device"), ON_CPU)
def test_it_computes_and_leaves_nothing(
    environment: Environment, framework: str, name: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = environment(name)
    before = sorted(site_packages(target).rglob("*.pyc"))
    monkeypatch.setenv("HOME", str(tmp_path))
    result = compute(framework, str(target / "bin" / "python"))
    assert result.ok, result.text
    assert result.device == device
    assert result.text.endswith("equal to the CPU within 1e-3")
    assert result.max_relative_error is not None and result.max_relative_error < 1e-5
    assert sorted(tmp_path.rglob("*")) == []
    assert sorted(site_packages(target).rglob("*.pyc")) == before


@pytest.mark.rotates("environment", by="name")
@pytest.mark.parametrize(("framework", "name", "device"), ON_CPU)
def test_a_slightly_wrong_kernel_is_seen(environment: Environment, framework: str, name: str, device: str) -> None:
    result = parse(spoiled(environment(name) / "bin" / "python", framework, SPOILED[framework]), framework)
    assert not result.ok and not result.no_device
    assert result.error.startswith("wrong result: "), result.error
    assert result.max_relative_error is not None and result.max_relative_error > 1e-3
    assert result.device == device


def test_opencl_computes_on_the_cpu_device_of_pocl_and_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    result = compute("opencl")
    assert result.ok, result.text
    assert "Portable Computing Language" in result.text
    assert result.device.startswith("opencl:")
    assert sorted(tmp_path.rglob("*")) == []


@pytest.mark.rotates("a wrong OpenCL kernel")
@pytest.mark.parametrize(
    ("right", "wrong"),
    [("a * x[i] + y[i]", "a * x[i] - y[i]"), ("out[i] = a", "if (i < 500) out[i] = a"), ("k < side", "k < side - 1")],
)
def test_a_wrong_opencl_kernel_is_seen(right: str, wrong: str, tmp_path: Path) -> None:
    code = f"""
import importlib.util
good = importlib.util.module_from_spec
def made(spec):
    module = good(spec)
    load = spec.loader.exec_module
    def spoil(module):
        load(module)
        assert {right.encode()!r} in module.SOURCE
        module.SOURCE = module.SOURCE.replace({right.encode()!r}, {wrong.encode()!r})
    spec.loader.exec_module = spoil
    return module
importlib.util.module_from_spec = made
"""
    result = parse(spoiled(sys.executable, "opencl", code), "opencl")
    assert not result.ok
    assert result.error.startswith(("wrong result: ", "compare: no finite numbers")), result.error


def test_an_opencl_source_that_does_not_build_names_the_compiler_message() -> None:
    code = """
import ctypes
good = ctypes.c_char_p
ctypes.c_char_p = lambda text: good(text.replace(b"float sum", b"flaot sum") if isinstance(text, bytes) else text)
"""
    result = parse(spoiled(sys.executable, "opencl", code), "opencl")
    assert result.stage == "compute"
    assert "clBuildProgram" in result.error


@pytest.mark.rotates("environment", member="openvino")
def test_no_intel_gpu_for_openvino(environment: Environment) -> None:
    result = compute("openvino:GPU", str(environment("openvino") / "bin" / "python"))
    assert result.ok or result.no_device or "lists no device, though" in result.error
    if result.no_device:
        assert result.text == "installed, not verified: no Intel GPU here (OpenVINO lists none)"


@pytest.mark.rotates("environment", member="onnxruntime")
def test_a_provider_that_is_not_in_this_onnxruntime(environment: Environment) -> None:
    result = compute("onnxruntime:CUDAExecutionProvider", str(environment("onnxruntime") / "bin" / "python"))
    assert "this onnxruntime has no CUDAExecutionProvider: it has CPUExecutionProvider" in result.error


@pytest.mark.rotates("environment", member="ipex-beside-torch")
def test_ipex_beside_the_wrong_torch_fails_at_import_with_its_own_words(environment: Environment) -> None:
    result = compute("ipex", str(environment("ipex-beside-torch") / "bin" / "python"))
    assert (result.ok, result.no_device, result.stage) == (False, False, "import")
    assert "needs to work with PyTorch 2.8" in result.error
