"""The environment in the form that PyTorch's maintainers know: the lines of its collect_env, in its order, filled from facts.

What was not examined reads 'not collected', which is different from 'No'.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpudoctor.model.report import Report
from gpudoctor.reporters.shared.escape import visible

UNKNOWN = "not collected"
RELEVANT = tuple(
    """
    torch triton numpy nvidia intel oneapi onnx openvino tensorflow jax keras mkl dpcpp rocm pyopencl popart poptorch flake8 mypy
    optree ipex directml pocl dpctl numba cuda cupy xformers flash bitsandbytes accelerate transformers diffusers vllm
    """.split()
)
"""Substrings of the names of relevant distributions."""


def block(report: Report, packages: int = 200) -> str:
    """Plain text of some forty lines, with at most `packages` libraries."""
    facts = report.facts
    sections = (_torch(facts), _system(facts, report.headline), _python(facts), _processor(facts), _libraries(facts, packages))
    return "\n\n".join("\n".join(visible(line) for line in section) for section in sections)


def at(facts: Mapping[str, Any], name: str) -> Any:
    """The value of a fact by its dotted name; None where it is absent or unknown."""
    place: Any = facts
    for part in name.split("."):
        place = place.get(part) if isinstance(place, Mapping) else None
    return place


def _said(value: Any, otherwise: str = UNKNOWN) -> str:
    return otherwise if value is None or value == "" else str(value)


def _has(facts: Mapping[str, Any], name: str) -> bool:
    parent, _, last = name.rpartition(".")
    place = at(facts, parent) if parent else facts
    return isinstance(place, Mapping) and last in place


def _or_none(facts: Mapping[str, Any], name: str, none: str) -> str:
    """The value; `none` for a known absence, and 'not collected' for an unknown fact."""
    return _said(at(facts, name), none if _has(facts, name) else UNKNOWN)


def _torch(facts: Mapping[str, Any]) -> Iterator[str]:
    debug = at(facts, "torch.version_file.debug")
    installed = at(facts, "torch.version") is not None
    yield f"PyTorch version: {_or_none(facts, 'torch.version', 'not installed')}"
    yield f"Is debug build: {_said(debug, UNKNOWN if installed else 'N/A')}"
    yield f"CUDA used to build PyTorch: {_or_none(facts, 'torch.cuda', 'None') if installed else 'N/A'}"
    yield f"ROCM used to build PyTorch: {_or_none(facts, 'torch.hip', 'None') if installed else 'N/A'}"
    xpu = at(facts, "torch.version_file.xpu")
    if xpu:
        yield f"XPU used to build PyTorch: {xpu}"


def _system(facts: Mapping[str, Any], headline: Mapping[str, str]) -> Iterator[str]:
    machine = at(facts, "platform.machine")
    kind = at(facts, "platform.kind")
    yield f"OS: {_said(headline.get('os'))}" + (f" ({machine})" if machine else "") + (f", {kind}" if kind not in (None, "linux") else "")
    yield f"GCC version: {UNKNOWN}"
    yield f"Clang version: {UNKNOWN}"
    yield f"CMake version: {UNKNOWN}"
    yield f"Libc version: {_said(at(facts, 'python.libc'))}"
    yield f"Kernel: {_said(at(facts, 'kernel.release'))}"


def _python(facts: Mapping[str, Any]) -> Iterator[str]:
    torch = at(facts, "python.frameworks.torch")
    devices = torch.get("devices") if isinstance(torch, Mapping) else None
    ids = [str(each.get("id")) for each in devices if isinstance(each, Mapping)] if isinstance(devices, list) else None
    hip = at(facts, "torch.hip")
    yield f"Python version: {_said(at(facts, 'python.version'))} ({_said(at(facts, 'python.kind'), 'environment')})"
    yield f"Python platform: {_said(at(facts, 'platform.machine'))}-{_said(at(facts, 'kernel.release'))}"
    installed = at(facts, "torch.version") is not None or not _has(facts, "torch.version")
    yield f"Is CUDA available: {_available(ids, 'cuda') if installed else 'N/A'}"
    yield f"CUDA runtime version: {_or_none(facts, 'nvidia.nvcc.version', 'No CUDA') if not hip else 'N/A'}"
    yield f"CUDA_MODULE_LOADING set to: {_said(at(facts, 'env.CUDA_MODULE_LOADING'), 'N/A')}"
    yield from _gpus(facts)
    yield f"Nvidia driver version: {_or_none(facts, 'nvidia.in_use', 'No NVIDIA driver')}"
    yield f"cuDNN version: {_or_none(facts, 'cuda.wheels.cudnn', 'no wheel of it')}"
    yield f"Is XPU available: {_available(ids, 'xpu') if installed else 'N/A'}"
    if _has(facts, "intel.compute_runtime.version"):
        yield f"Intel compute runtime: {_or_none(facts, 'intel.compute_runtime.version', 'not installed')}"
        yield f"Level Zero GPU driver: {_or_none(facts, 'intel.level_zero.version', 'not installed')}"
    yield f"HIP runtime version: {_said(hip, 'N/A')}"
    yield f"ROCm version: {_or_none(facts, 'rocm.version', 'N/A')}"
    if isinstance(torch, Mapping) and isinstance(torch.get("error"), Mapping):
        error = torch["error"]
        yield f"import torch: failed, {error.get('name')}: {str(error.get('message') or '')[:300]}"


def _available(ids: list[str] | None, kind: str) -> str:
    """Whether a kind of device is available, by the devices that torch listed when it was imported."""
    return UNKNOWN if ids is None else str(any(each.startswith(kind) for each in ids))


def _gpus(facts: Mapping[str, Any]) -> Iterator[str]:
    gpus = facts.get("gpus")
    if not isinstance(gpus, list) or not gpus:
        yield f"GPU models and configuration: {'No GPU found' if gpus == [] else UNKNOWN}"
        return
    yield "GPU models and configuration:"
    for number, gpu in enumerate(gpus[:32]):
        if isinstance(gpu, Mapping):
            driver = f"driver {gpu.get('driver') or 'none'}" if "driver" in gpu else ""
            access = {"True": "may be opened", "False": "may not be opened"}.get(str(gpu.get("access")), "")
            known = [gpu.get("pci_id"), gpu.get("address"), driver, gpu.get("node"), access]
            yield f"GPU {number}: {_said(gpu.get('name'), 'unnamed')} (" + ", ".join(str(each) for each in known if each) + ")"


def _processor(facts: Mapping[str, Any]) -> Iterator[str]:
    yield "CPU:"
    yield f"Model name: {_said(at(facts, 'cpu.model'))}"
    yield f"CPU(s): {_said(at(facts, 'cpu.cores'))}"
    memory = at(facts, "memory.total_bytes")
    yield f"Memory: {memory / (1 << 30):.1f} GiB" if isinstance(memory, int) else f"Memory: {UNKNOWN}"
    yield f"Virtualization: {_or_none(facts, 'platform.virtualisation', 'none')}"


def _libraries(facts: Mapping[str, Any], most: int) -> Iterator[str]:
    yield "Versions of relevant libraries:"
    installed = at(facts, "python.distributions")
    if not isinstance(installed, Mapping):
        yield UNKNOWN
        return
    conda = at(facts, "python.conda_packages")
    rows = [f"[pip3] {name}=={version(entry)}" for name, entry in sorted(installed.items()) if _matters(name)]
    rows += [f"[conda] {name} {build}" for name, build in sorted(conda.items()) if _matters(name)] if isinstance(conda, Mapping) else []
    yield from rows[:most]
    if len(rows) > most:
        yield f"and {len(rows) - most} more"
    if not rows:
        yield f"none of {len(installed)} installed distributions"


def _matters(name: str) -> bool:
    return any(word in name.lower() for word in RELEVANT)


def version(entry: Any) -> str:
    """The version of a distribution, which is a version, a table with it, or a list where it is installed twice."""
    if isinstance(entry, list):
        return " and ".join(version(each) for each in entry)
    return str(entry.get("version") if isinstance(entry, Mapping) else entry)
