"""The category of a fact by its name, and the unit in which it may be changed on a host.

Facts of one unit belong together: to change one alone leaves a host that does not work. The categories are those of the hashes in a row.
"""

from __future__ import annotations

_DRIVER = "driver package with its kernel module, and a reboot"
"""NVIDIA's user-mode driver demands a kernel module of its own version; amdgpu-dkms and i915-dkms are packages as well."""
_KERNEL = "kernel package with the driver modules built for it, and a reboot"
"""A module is built for one kernel: a kernel alone leaves a host without its driver."""
_LIBRARIES = "runtime packages of the system, from one release of the vendor"
_PYTHON = "Python environment, from its lock file"
"""A framework is built against one set of wheels."""
_IMAGE = "image of the host"
_FIRMWARE = "firmware of the card, by its vendor's tool while no job runs"
_HARDWARE = "hardware"
_SETTINGS = "configuration of the host"

_BY_NAME = {
    "cards": ("device", _HARDWARE), "clock": ("clock", "time service of the host"),
    "measured": ("measured", ""),
    "kernel": ("kernel", _KERNEL), "os": ("kernel", _IMAGE), "platform": ("kernel", _IMAGE), "secure_boot": ("kernel", _SETTINGS),
    "macos": ("device", _IMAGE), "windows": ("kernel", _IMAGE), "wsl": ("driver", _IMAGE),
    "nvidia": ("driver", _DRIVER), "nvidia.devices": ("device", _HARDWARE), "nvidia.devices.vbios": ("firmware", _FIRMWARE),
    "nvidia.devices.vbios_version": ("firmware", _FIRMWARE), "nvidia.devices.ecc": ("device", _SETTINGS),
    "nvidia.devices.mig": ("device", _SETTINGS), "nvidia.fabric_manager": ("driver", _DRIVER),
    "nvidia.nvcc": ("runtime", _LIBRARIES), "nvidia.toolkit": ("runtime", _LIBRARIES), "nvidia.loader_path": ("runtime", _LIBRARIES),
    "nvidia.container_toolkit": ("runtime", _LIBRARIES), "nvidia.nodes": ("access", _SETTINGS), "nvidia.access": ("access", _SETTINGS),
    "amd": ("driver", _DRIVER), "amd.devices": ("device", _HARDWARE), "amd.devices.vbios": ("firmware", _FIRMWARE),
    "amd.kfd": ("access", _SETTINGS), "amd.kfd.nodes": ("device", _HARDWARE),
    "intel": ("runtime", _LIBRARIES), "intel.dkms": ("driver", _DRIVER), "intel.guc": ("firmware", _FIRMWARE),
    "xpu_smi": ("runtime", _LIBRARIES), "xpu_smi.devices.firmware": ("firmware", _FIRMWARE),
    "gpus": ("device", _HARDWARE), "gpu": ("device", _HARDWARE), "gpus.driver": ("driver", _DRIVER),
    "gpus.driver_version": ("driver", _DRIVER),
    "rocm": ("runtime", _LIBRARIES), "cuda": ("runtime", _LIBRARIES), "level_zero": ("runtime", _LIBRARIES),
    "sycl": ("runtime", _LIBRARIES),
    "oneapi": ("runtime", _LIBRARIES), "opencl": ("runtime", _LIBRARIES), "libraries": ("runtime", _LIBRARIES),
    "poplar": ("runtime", _LIBRARIES), "poplar.driver": ("driver", _DRIVER), "poplar.firmware": ("firmware", _FIRMWARE),
    "container": ("access", "container image"), "user": ("access", _SETTINGS), "system": ("access", _SETTINGS),
    "bus": ("device", _HARDWARE), "cpu": ("machine", _HARDWARE), "memory": ("machine", _HARDWARE),
    "python": ("python", _PYTHON), "python.frameworks": ("framework", _PYTHON), "python.distributions": ("framework", _PYTHON),
    "python.distributions.transformers": ("package", _PYTHON), "torch": ("framework", _PYTHON), "tensorflow": ("framework", _PYTHON),
    "jax": ("framework", _PYTHON), "onnxruntime": ("framework", _PYTHON), "ipex": ("framework", _PYTHON),
    "packages": ("package", _IMAGE), "env": ("environment", "environment of the job"),
}  # fmt: skip
_BY_CATEGORY = {
    "kernel": _KERNEL, "driver": _DRIVER, "firmware": _FIRMWARE, "device": _HARDWARE, "access": _SETTINGS, "runtime": _LIBRARIES,
    "python": _PYTHON, "framework": _PYTHON, "package": _IMAGE, "environment": "environment of the job", "machine": _HARDWARE,
}  # fmt: skip
HASH = "group:"
"""Begins the name of a fact that stands for the hash of a category."""


def category(fact: str) -> str:
    """The category of a fact; empty where the table does not know it."""
    return fact.removeprefix(HASH) if fact.startswith(HASH) else _entry(fact)[0]


def unit(fact: str) -> str:
    """What is changed together with the fact; empty where that is not known."""
    return _BY_CATEGORY.get(fact.removeprefix(HASH), "") if fact.startswith(HASH) else _entry(fact)[1]


def _entry(fact: str) -> tuple[str, str]:
    name = fact.partition(":")[0]
    if name.startswith("python.distributions.nvidia-"):
        return "runtime", _PYTHON
    while name not in _BY_NAME and "." in name:
        name = name.rpartition(".")[0]
    return _BY_NAME.get(name, ("", ""))


def without_covered(facts: set[str]) -> set[str]:
    """The facts without the hashes of those categories of which a value is among them: the value says what the hash only hints at."""
    named = {category(fact) for fact in facts if not fact.startswith(HASH)}
    return {fact for fact in facts if not (fact.startswith(HASH) and category(fact) in named)}
