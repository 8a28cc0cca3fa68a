"""What an export needs beyond the steps of its plan, since it runs without gpudoctor: programs of a bare system, and a verification."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from gpudoctor.model.plan import Command, Plan, PlannedStep
from gpudoctor.reporters.plan import plan_acts as acts

UV = "0.13.9"
"""The release of uv that an export installs where the system has no suitable Python."""
UV_FOLDER = "/opt/uv"
_APT_LIKE = ("ubuntu", "debian")


def uv_steps() -> tuple[Command, ...]:
    """Commands that install uv into an environment of its own and add it to the PATH."""
    return (
        Command(argv=("python3", "-m", "venv", UV_FOLDER), root=True),
        Command(argv=(f"{UV_FOLDER}/bin/pip", "install", "--no-cache-dir", f"uv=={UV}"), root=True),
        Command(argv=("ln", "-sf", f"{UV_FOLDER}/bin/uv", "/usr/local/bin/uv"), root=True),
    )


class Base(Struct, frozen=True):
    """`packages` are needed by the steps and installed by none of them; `install` is the system's command that installs them."""

    packages: tuple[str, ...] = ()
    install: tuple[str, ...] = ()
    uv: bool = False


def base(plan: Plan, carried: Callable[[PlannedStep], bool], portable: Callable[[Command], Command]) -> Base:
    """The base of a plan. `carried` says whether the export carries a step out; `portable` gives a command as the export writes it."""
    inside = [step for step in plan.steps if carried(step)]
    commands = [portable(command) for step in inside for command in acts.commands_of(step)]
    fetched = [file for step in inside for file in acts.files_of(step) if file.fetched_from]
    uv = any(command.argv[:1] == ("uv",) for command in commands)
    pythons = sorted({match[1] for command in commands for word in command.argv
                      if (match := re.fullmatch(r"(?:/usr/bin/)?(python3(?:\.\d+)?)", word))})  # fmt: skip
    if plan.os_id == "fedora":
        return Base(tuple(["python3"] if pythons or uv else []), ("dnf", "install", "-y"), uv)
    if plan.os_id == "arch":
        return Base(tuple(["python"] if pythons or uv else []), ("pacman", "-Sy", "--noconfirm", "--needed"), uv)
    if plan.os_id and plan.os_id not in _APT_LIKE:
        return Base(uv=uv)
    wanted = ["ca-certificates", "curl", "gnupg"] if fetched else []
    own = {name for command in commands if (known := acts.apt(command)) for name in known.packages}
    if "python3-venv" not in own or uv:
        wanted += [name for python in pythons for name in (python, f"{python}-venv")]
        wanted += ["ca-certificates", "python3", "python3-venv"] if uv else []
    return Base(tuple(dict.fromkeys(wanted)), ("apt-get", "install", "-y", "--no-install-recommends"), uv)


class _Code(Struct, frozen=True):
    """Python code for the new environment. `build` succeeds where the right build can be imported; `device` where it computes."""

    build: str
    device: str


def _torch(module: str, of_build: str, device: str, name: str) -> _Code:
    """The code for torch. `of_build`: an expression that is true for the right build, and the word for it."""
    what, _, word = of_build.partition(" ")
    sure = f"assert {what}, 'this build of torch has no {word}'; " if what else ""
    build = f"import {module}; {sure}print('torch', torch.__version__)"
    compute = f"x = torch.ones(64, 64, device={device}); assert (x @ x).sum().to('cpu').item() == 64**3; print('computed on', {name})"
    return _Code(build, f"import {module}; {compute}")


def _version(distribution: str) -> str:
    """The code for packages that cannot be imported without their device or SDK: it reads the version."""
    return f"from importlib.metadata import version; print('{distribution}', version('{distribution}'))"


def _onnxruntime(provider: str) -> _Code:
    listed = "import onnxruntime as ort; found = ort.get_available_providers()"
    both = f"{listed}; assert '{provider}' in found, found; print('onnxruntime', ort.__version__, *found)"
    return _Code(both, both)


_TENSORFLOW = "import tensorflow as tf; print('tensorflow', tf.__version__)"
_TENSORFLOW_GPU = (
    "import tensorflow as tf; found = tf.config.list_physical_devices('GPU'); assert found, 'TensorFlow sees no GPU'; print(*found)"
)
_JAX = "import jax; print('jax', jax.__version__)"
_CODE: Mapping[str, _Code] = {
    "torch-cuda": _torch("torch", "torch.version.cuda CUDA", "'cuda'", "torch.cuda.get_device_name(0)"),
    "torch-rocm": _torch("torch", "torch.version.hip ROCm", "'cuda'", "torch.cuda.get_device_name(0)"),
    "torch-xpu": _torch("torch", "torch.xpu._is_compiled() XPU", "'xpu'", "torch.xpu.get_device_name(0)"),
    "ipex": _torch("torch, intel_extension_for_pytorch", "", "'xpu'", "torch.xpu.get_device_name(0)"),
    "torch-cpu": _torch("torch", "", "'cpu'", "'the processor'"),
    "torch-mps": _torch("torch", "torch.backends.mps.is_built() MPS", "'mps'", "'mps'"),
    "torch-directml": _Code(
        _version("torch-directml"), _torch("torch, torch_directml", "", "torch_directml.device()", "torch_directml.device_name(0)").device
    ),
    "pytorch-directml": _Code(_version("pytorch-directml"), _torch("torch", "", "'dml'", "'dml'").device),
    "torch-opencl": _torch("torch, pytorch_ocl", "", "'ocl:0'", "'ocl:0'"),
    "openvino": _Code(
        "import openvino; print('openvino', openvino.__version__)",
        "import openvino; found = openvino.Core().available_devices; assert found, 'OpenVINO sees no device'; print('devices:', *found)",
    ),
    "tensorflow": _Code(_TENSORFLOW, _TENSORFLOW_GPU),
    "tensorflow:CPU": _Code(
        _TENSORFLOW,
        "import tensorflow as tf; x = tf.ones((64, 64)); assert float(tf.reduce_sum(x @ x)) == 64**3; print('computed on the processor')",
    ),
    "tensorflow-directml": _Code(_version("tensorflow-directml-plugin"), _TENSORFLOW_GPU),
    "jax": _Code(_JAX, "import jax; assert jax.default_backend() != 'cpu', 'JAX sees no GPU'; print(*jax.devices())"),
    "jax:cpu": _Code(
        _JAX, "import jax.numpy as np; x = np.ones((64, 64)); assert float((x @ x).sum()) == 64**3; print('computed on the processor')"
    ),
    "onnxruntime": _onnxruntime("CPUExecutionProvider"),
    "llama-cpp": _Code(
        _version("llama-cpp-python"),
        "import llama_cpp; print('llama.cpp computes on', 'a GPU' if llama_cpp.llama_supports_gpu_offload() else 'the processor')",
    ),
    "poptorch": _Code(
        _version("poptorch"), "import poptorch; assert poptorch.ipuHardwareIsAvailable(), 'PopTorch sees no IPU'; print('IPU found')"
    ),
}  # fmt: skip


class Verification(Struct, frozen=True):
    """`build` verifies the installation without a device; `device` verifies that it computes on one."""

    build: Command
    device: Command


def verification(plan: Plan) -> Verification | None:
    """The verification of a plan; None where nothing in it can be tested."""
    framework, _, provider = plan.compute.partition(":")
    if framework == "opencl" or (not plan.compute and plan.stack == "opencl"):
        # clinfo exits with 0 where it finds nothing
        listed = Command(argv=("sh", "-c", 'clinfo -l | tee /dev/stderr | grep -q "Device #"'))
        return Verification(Command(argv=("clinfo", "--version")), listed)
    if plan.stack == "vulkan":
        listed = Command(argv=("sh", "-c", "vulkaninfo --summary | tee /dev/stderr | grep -q deviceName"))
        return Verification(Command(argv=("sh", "-c", "command -v vulkaninfo")), listed)
    code = _onnxruntime(provider) if framework == "onnxruntime" and provider else _CODE.get(plan.compute)
    if code is None or not plan.env:
        return None
    python, variables = f"{plan.env}/bin/python", dict(plan.variables)
    build, device = (Command(argv=(python, "-c", text.replace("'", '"')), env=variables) for text in (code.build, code.device))
    return Verification(build, device)
