"""The categories of model.change by the name of a fact: which change can break a GPU stack. The tables hold no knowledge of single
machines."""

from __future__ import annotations

import re

from gpudoctor.model.lazy_pattern import lazy

_BY_NAME = {
    "kernel": "kernel", "kernel.log": "noise", "os": "kernel", "platform": "kernel", "platform.complete": "noise", "secure_boot": "kernel",
    "wsl": "driver", "wsl.kernel": "kernel", "windows": "kernel", "windows.driver": "driver", "windows.adapters": "driver",
    "windows.disk_free_bytes": "noise", "macos": "device",
    "nvidia": "driver", "nvidia.devices": "device", "nvidia.devices.gsp": "firmware", "nvidia.nodes": "access", "nvidia.access": "access",
    "nvidia.nvcc": "runtime", "nvidia.toolkit": "runtime", "nvidia.container_toolkit": "runtime", "nvidia.loader_path": "runtime",
    "nvidia.devices.temperature": "noise", "nvidia.devices.pstate": "noise", "nvidia.devices.processes": "noise",
    "nvidia.devices.throttle_reasons": "noise", "nvidia.devices.link_generation": "noise",
    "amd": "driver", "amd.kfd": "access", "amd.kfd.nodes": "device", "amd.devices": "device", "amd.devices.vbios": "firmware",
    "amd.devices.driver_version": "driver", "intel": "runtime", "intel.dkms": "driver", "intel.force_probe": "driver",
    "intel.module_options": "driver", "intel.blacklisted": "driver", "intel.guc": "firmware", "intel.npu.node": "access",
    "xpu_smi": "runtime", "xpu_smi.devices": "device", "xpu_smi.devices.driver": "driver", "xpu_smi.devices.firmware": "firmware",
    "gpus": "device", "gpus.driver": "driver", "gpus.driver_version": "driver", "gpus.node": "access", "gpus.card_node": "access",
    "gpus.access": "access", "gpus.node_group": "access", "gpus.node_mode": "access", "gpus.link_speed": "noise", "gpu": "device",
    "bus": "device", "pci.devices": "noise", "pci.devices.driver": "noise", "container": "access", "container.shm_bytes": "machine",
    "user": "access", "user.name": "noise", "user.uid": "noise", "system.groups": "access", "rocm": "runtime", "sycl": "runtime",
    "level_zero": "runtime", "oneapi": "runtime",
    "opencl": "runtime", "libraries": "noise", "poplar": "runtime", "poplar.driver": "driver", "poplar.device_driver": "driver",
    "poplar.firmware": "firmware", "poplar.devices": "device", "poplar.nodes": "access", "poplar.processes": "noise",
    "python": "python", "python.frameworks": "framework", "python.distributions": "package", "python.conda_packages": "package",
    "python.packages": "package", "python.damaged": "framework", "python.why": "noise", "python.interpreters": "noise",
    "torch": "framework", "tools": "python", "env": "environment", "packages": "package", "cpu": "machine", "cpu.flags": "machine",
    "memory": "machine", "memory.available_bytes": "noise", "memory.swap_bytes": "noise", "disk": "noise", "mounts": "noise",
    "cwd": "noise", "dataset": "noise", "directml": "framework", "ipex": "framework", "tensorflow": "framework", "jax": "framework",
    "onnxruntime": "framework", "cuda": "runtime",
}  # fmt: skip
UNCOMPARED = ("setup", "measured", "measurements")
"""Facts that are not compared: the request of `setup`, and measurements, for which there is `validate --compare`."""
FOLLOWERS = {
    "kernel.version": "kernel.release", "torch.version_file": "python.distributions.torch", "python.packages": "python.distributions",
    "libraries.cached": "libraries", "libraries.all": "libraries", "gpu.count": "gpus", "gpu.vendors": "gpus", "pci.devices": "gpus",
    "python.prefix": "python.executable", "python.folders": "python.executable", "wsl.kernel": "kernel.release",
    "opencl.devices": "opencl.platforms", "nvidia.devices.driver_version": "nvidia.driver.version", "nvidia.devices.name": "gpus",
    "nvidia.devices.compute_capability": "gpus", "gpus.arch": "gpus.name", "gpus.generation": "gpus.name", "gpus.pci_id": "gpus.name",
    "gpus.compute_capability": "gpus.name", "gpus.gfx": "gpus.name", "os.codename": "os.version", "os.name": "os.version",
    "os.id_like": "os.id", "torch": "python.distributions.torch", "ipex": "python.distributions.intel-extension-for-pytorch",
    "nvidia.in_use": "nvidia.kernel_module.version", "nvidia.branch": "nvidia.kernel_module.version", "nvidia.cards": "gpus",
    "intel.gpus": "gpus", "amd.gpus": "gpus", "opencl.gpus": "gpus", "intel.runtime": "intel.compute_runtime.version",
}  # fmt: skip
"""Facts that repeat another fact. They are not listed where that fact has changed, and a check that reads them counts as reading that
fact."""

_NO_MATTER = lazy(r"(PWD|OLDPWD|HOME|LANG|LANGUAGE|LC_.*|SHELL|TERM|USER|LOGNAME|SSH_.*|SHLVL|HOSTNAME|TMPDIR)$")
_FRAMEWORK = lazy(
    r"(torch|pytorch|tensorflow|jax|onnxruntime|openvino|poptorch|popart|triton|xformers|flash[-_]attn|bitsandbytes"
    r"|intel[-_]extension|oneccl|pyopencl|keras|cupy|vllm|deepspeed)"
)
_GPU_WHEEL = lazy(r"(nvidia-|cuda-|intel-|dpcpp|mkl|onemkl|tbb|rocm|hip|level[-_]zero)")
_GPU_LIBRARY = lazy(r"lib(cuda|nv|OpenCL|ze_|igc|igd|amd|hip|hsa|roc|sycl|poplar|cudnn|cublas)")
_GPU_MODULE = lazy(r"(nvidia|nouveau|nova|amdgpu|amdkfd|radeon|i915|xe$|ipu_driver|vfio|intel_vpu|ivpu)")
_SYSTEM_PACKAGES = (
    ("kernel", re.compile(r"(linux-(image|headers|modules|generic)|kernel(-|$)|linux$)")),
    ("firmware", re.compile(r"(linux-firmware|.*microcode|firmware-)")),
    ("driver", re.compile(r"(nvidia-(driver|dkms|kernel|open)|nvidia$|libnvidia-|a?kmod-nvidia|amdgpu|intel-i915-dkms)")),
    ("runtime", re.compile(
        r"(cuda|nvidia|rocm|hip|hsa|libze|level-zero|intel-(opencl|level|igc|media|oneapi|gsc)|libigc|libigdgmm|mesa|ocl-icd|pocl|.*opencl|oneapi)"
    )),
)  # fmt: skip


def category(path: str, key: str = "") -> str:
    """The category of a fact. `path` is its name without brackets (gpus.driver), `key` the name within a map or list (a package, module
    or library)."""
    if path in ("python.distributions", "python.conda_packages"):
        return "framework" if _FRAMEWORK.match(key) else "runtime" if _GPU_WHEEL.match(key) else "package"
    if path == "packages":
        return next((name for name, pattern in _SYSTEM_PACKAGES if pattern.match(key)), "package")
    if path == "env":
        return "noise" if _NO_MATTER.match(key) else "environment"
    if path == "kernel.modules":
        return "driver" if _GPU_MODULE.match(key) else "noise"
    if path == "libraries":
        return "runtime" if _GPU_LIBRARY.match(key) else "noise"
    while path not in _BY_NAME and "." in path:
        path = path.rpartition(".")[0]
    return _BY_NAME.get(path, "machine")


def leader(fact: str) -> str | None:
    """The fact that one of FOLLOWERS repeats; None for other facts."""
    while fact:
        if fact in FOLLOWERS:
            return FOLLOWERS[fact]
        fact = fact.rpartition(".")[0]
    return None
