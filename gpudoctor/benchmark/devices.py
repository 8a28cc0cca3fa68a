"""Targets of measurements: the frameworks and devices that `check` found usable, and the meaning of --device. Pure, on facts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from gpudoctor.benchmark.llama_devices import llama_targets
from gpudoctor.benchmark.measurement_target import MeasurementTarget as MeasurementTarget
from gpudoctor.facts.probes.frameworks import refused
from gpudoctor.knowledge.stack_names import device_of, suggestion
from gpudoctor.model.facts import Facts, Known, Unknown
from gpudoctor.system.framework_child import one_line

FORMS = (
    "cpu", "cuda:0", "xpu:0", "mps", "ocl:0", "dml:0", "ipu:0", "opencl:0.0", "openvino:GPU.0", "ort:CUDAExecutionProvider", "tf:GPU:0",
    "jax:gpu:0", "llama:0", "vulkan:0",
)  # fmt: skip
PREFIXES = tuple(form.partition(":")[0] for form in FORMS)
_SHAPES = {
    "cpu": r"cpu",
    "mps": r"mps",
    **{name: name + r"(:\d+)?" for name in ("cuda", "xpu", "ocl", "dml", "ipu", "vulkan")},
    "opencl": r"opencl(:\d+\.\d+)?",
    "openvino": r"openvino:[A-Z][A-Za-z]*(\.\d+)?",
    "ort": r"ort:[A-Za-z]+ExecutionProvider(:[A-Za-z0-9.]+)?",
    "tf": r"tf:[A-Z]+(:\d+)?",
    "jax": r"jax:[A-Za-z]+(:\d+)?",
    "llama": r"llama(:cpu|:\d+)?",
}
ORT_BACKENDS = {
    "CUDAExecutionProvider": "cuda",
    "TensorrtExecutionProvider": "cuda",
    "NvTensorRTRTXExecutionProvider": "cuda",
    "DmlExecutionProvider": "directml",
    "ROCMExecutionProvider": "rocm",
    "MIGraphXExecutionProvider": "rocm",
}
RAW = ("opencl", "wgpu")
"""Frameworks that are plain interfaces of drivers; measured on a processor only where --device names it."""
NO_DEVICE = ("CPUExecutionProvider", "AzureExecutionProvider")


class DeviceError(ValueError):
    """The devices named by --device cannot be used. The message is one line, with the devices that can."""


class BrokenFrameworkError(DeviceError):
    """The option is right, but the framework that has the device cannot be imported here."""


def canonical(text: str) -> str:
    """The device in full, 'xpu:0' for 'xpu'. Raises DeviceError."""
    asked = text.strip()
    given = asked.partition(":")[0].lower()
    head = device_of(given, _SHAPES)
    if head not in _SHAPES:
        raise DeviceError(f"--device {asked}: no such kind of device{suggestion(head, PREFIXES)}; one of {', '.join(FORMS)}")
    asked = head + asked[len(given) :]
    if not re.fullmatch(_SHAPES[head], asked):
        form = next(form for form in FORMS if form.partition(":")[0] == head)
        raise DeviceError(f"--device {asked}: expected such as {form}")
    if ":" not in asked and head not in ("cpu", "mps"):
        return f"{asked}:{'0.0' if head == 'opencl' else '0'}"
    return f"{asked}:0" if head in ("tf", "jax") and asked.count(":") == 1 else asked


def targets(facts: Facts, interpreter: str | None = None) -> list[MeasurementTarget]:
    """All targets that `check` found usable, accelerators first."""
    python = "" if refused(facts) else str(facts.value("python.executable") or "")
    found = [
        target
        for target in (
            *_torch(facts, python),
            *_others(facts, python),
            *_opencl(facts, python or interpreter or ""),
            *llama_targets(facts, python, interpreter or ""),
            *_vulkan(facts, python),
        )
        if target.python
    ]
    return sorted(found, key=lambda target: target.on_processor)


def choose(facts: Facts, asked: Sequence[str] = (), interpreter: str | None = None) -> list[MeasurementTarget]:
    """The targets that --device names; else all accelerators; else the processor of each framework. Raises DeviceError."""
    there = targets(facts, interpreter)
    if not asked:
        accelerators = [target for target in there if not target.on_processor]
        return accelerators or [target for target in there if target.framework not in RAW]
    chosen: list[MeasurementTarget] = []
    for text in asked:
        wanted = canonical(text)
        fitting = [target for target in there if _is(target, wanted)]
        if wanted.count(":") == 2 and wanted.startswith(
            "ort:"
        ):  # a provider may have a device option of its own: ort:OpenVINOExecutionProvider:GPU
            provider = wanted.rpartition(":")[0]
            fitting = [replace(target, device=wanted) for target in there if target.device == provider]
        if not fitting:
            at_fault = any(_error(facts, module) for module in _MODULES.get(wanted.partition(":")[0], ()))
            kind = BrokenFrameworkError if at_fault and not refused(facts) else DeviceError
            raise kind(f"--device {wanted}: {_why_not(facts, wanted, there)}")
        chosen += [target for target in fitting if target not in chosen]
    return chosen


def _is(target: MeasurementTarget, wanted: str) -> bool:
    return target.device == wanted or (wanted == "cpu" and target.backend == "cpu" and target.framework not in RAW)


def _why_not(facts: Facts, wanted: str, there: Sequence[MeasurementTarget]) -> str:
    not_run = facts.get("python.not_run")
    if refused(facts) and isinstance(not_run, Unknown):
        return not_run.reason.partition(": ")[2].replace("gpudoctor check", "gpudoctor validate")
    names = list(dict.fromkeys(target.device for target in there))
    listed = f"usable here: {', '.join(names)}" if names else "nothing is usable here"
    modules = _MODULES.get(wanted.partition(":")[0], ())
    broken = [_cannot(facts, module) for module in modules if _error(facts, module)]
    missing = [
        f"{module} is not in {facts.value('python.executable') or 'the environment'}"
        for module in modules[:1]
        if module not in _frameworks(facts)
    ]
    unasked = facts.get("opencl.devices") if wanted.partition(":")[0] in ("ocl", "opencl") else None
    silent = [f"OpenCL could not be asked: {unasked.reason}"] if isinstance(unasked, Unknown) else ["check did not find it"]
    return "; ".join([*(broken or missing or silent), listed]) + "; for the reason: gpudoctor check"


_MODULES: Mapping[str, tuple[str, ...]] = {
    "cuda": ("torch",), "xpu": ("torch", "intel_extension_for_pytorch"), "mps": ("torch",), "ocl": ("pytorch_ocl",), "cpu": ("torch",),
    "dml": ("torch_directml",), "ipu": ("poptorch",), "openvino": ("openvino",), "ort": ("onnxruntime",), "tf": ("tensorflow",),
    "jax": ("jax",),
}  # fmt: skip


def _torch(facts: Facts, python: str) -> Iterator[MeasurementTarget]:
    version = _version(facts, "torch")
    build = str(facts.value("torch.build") or "")
    if _works(facts, "torch"):
        for device in _listed(facts, "torch"):
            kind = str(device["id"]).partition(":")[0]
            backend = "rocm" if kind == "cuda" and build == "rocm" else kind
            yield MeasurementTarget(
                framework="torch", device=str(device["id"]), python=python, backend=backend, name=_name(device), version=version
            )
        if build == "directml":  # Microsoft's fork of torch 1.8 has the device built in
            yield MeasurementTarget(framework="torch", device="dml:0", python=python, backend="directml", version=version)
        yield MeasurementTarget(
            framework="torch", device="cpu", python=python, backend="cpu", name=str(facts.value("cpu.model") or ""), version=version
        )
    for module, framework, prefix, backend in (
        ("intel_extension_for_pytorch", "ipex", "xpu", "xpu"), ("torch_directml", "torch-directml", "dml", "directml"),
        ("poptorch", "poptorch", "ipu", "ipu"),
    ):  # fmt: skip
        for device in _listed(facts, module) if _works(facts, module) else ():
            if str(device["id"]).partition(":")[0] == prefix:
                yield MeasurementTarget(
                    framework=framework, device=str(device["id"]), python=python, backend=backend, name=_name(device), version=version
                )
    if _works(facts, "pytorch_ocl"):  # it numbers the devices of all OpenCL platforms, and lists none itself
        everything = [device for device in facts.value("opencl.devices") or [] if isinstance(device, Mapping)]
        for number, device in enumerate(everything):
            if device.get("type") == "gpu" or all(other.get("type") != "gpu" for other in everything):
                yield MeasurementTarget(
                    framework="torch-opencl", device=f"ocl:{number}", python=python, backend="ocl", name=_opencl_name(device),
                    version=version, host=device.get("type") == "cpu",
                )  # fmt: skip


def _others(facts: Facts, python: str) -> Iterator[MeasurementTarget]:
    processor = str(facts.value("cpu.model") or "")
    for module in ("openvino", "onnxruntime", "tensorflow", "jax"):
        if not _works(facts, module):
            continue
        version, seen = _version(facts, module), False
        for device in _listed(facts, module):
            identity = str(device["id"])
            backend = _backend(facts, identity)
            if identity.partition(":")[2] in NO_DEVICE or not backend:
                continue
            seen = seen or backend == "cpu"
            yield MeasurementTarget(framework=module, device=identity, python=python, backend=backend, name=_name(device), version=version)
        if not seen:
            device_id = {
                "openvino": "openvino:CPU",
                "onnxruntime": "ort:CPUExecutionProvider",
                "tensorflow": "tf:CPU:0",
                "jax": "jax:cpu:0",
            }[module]
            yield MeasurementTarget(framework=module, device=device_id, python=python, backend="cpu", name=processor, version=version)


def _backend(facts: Facts, identity: str) -> str:
    kind, _, rest = identity.partition(":")
    if kind == "openvino":
        return rest.partition(".")[0].lower()
    if kind == "ort":
        return ORT_BACKENDS.get(rest, rest.removesuffix("ExecutionProvider").lower())
    name = rest.partition(":")[0].lower()
    if name != "gpu":
        return {"dml": "directml"}.get(name, name)
    vendors = facts.value("gpu.vendors") or []
    return "rocm" if "amd" in vendors and "nvidia" not in vendors else "cuda"


def _opencl(facts: Facts, python: str) -> Iterator[MeasurementTarget]:
    """Targets of plain OpenCL, which needs no framework, only an interpreter."""
    for place, platform in enumerate(facts.value("opencl.platforms") or []):
        devices = platform.get("devices") if isinstance(platform, Mapping) else None
        for number, device in enumerate(devices if isinstance(devices, Sequence) else ()):
            if isinstance(device, Mapping):
                backend = "cpu" if device.get("type") == "cpu" else "opencl"
                said = str(device.get("driver_version") or "")
                yield MeasurementTarget(
                    framework="opencl", device=f"opencl:{place}.{number}", python=python, backend=backend, name=_name(device), version=said
                )


def _vulkan(facts: Facts, python: str) -> Iterator[MeasurementTarget]:
    """Targets of wgpu in the target environment: each device that vulkaninfo lists."""
    version = (facts.value("python.distributions") or {}).get("wgpu")
    if not isinstance(version, str):
        return
    for number, device in enumerate(facts.value("vulkan.devices") or []):
        yield MeasurementTarget(
            framework="wgpu", device=f"vulkan:{number}", python=python, backend="vulkan", name=_name(device), version=version,
            host=device.get("type") == "cpu",
        )  # fmt: skip


def _frameworks(facts: Facts) -> Mapping[str, Any]:
    found = facts.value("python.frameworks")
    return found if isinstance(found, Mapping) else {}


def _entry(facts: Facts, module: str) -> Mapping[str, Any]:
    found = _frameworks(facts).get(module)
    found = found.value if isinstance(found, Known) else found
    return found if isinstance(found, Mapping) else {}


def _works(facts: Facts, module: str) -> bool:
    """Whether the framework was imported without an error. One whose import was not tried ('device busy', 'out of time') counts as well."""
    if isinstance(_frameworks(facts).get(module), Unknown):
        return True
    entry = _entry(facts, module)
    return entry.get("imported") is True and not entry.get("error")


def broken(facts: Facts) -> list[str]:
    """One line for each framework that is installed and cannot be imported."""
    modules = ("torch", "openvino", "onnxruntime", "tensorflow", "jax")
    return [] if refused(facts) else [_cannot(facts, module) for module in modules if _error(facts, module)]


def _cannot(facts: Facts, module: str) -> str:
    error = _entry(facts, module).get("error")
    name, message = (one_line(error.get(key)) for key in ("name", "message")) if isinstance(error, Mapping) else ("", "")
    why = message if message.startswith(name) else ": ".join(filter(None, (name, message)))
    return f"{module} cannot be imported" + (f" ({why[:160]})" if why else "")


def _error(facts: Facts, module: str) -> bool:
    return module in _frameworks(facts) and not _works(facts, module)


def _listed(facts: Facts, module: str) -> Iterator[Mapping[str, Any]]:
    devices = _entry(facts, module).get("devices")
    for device in devices if isinstance(devices, Sequence) and not isinstance(devices, str) else ():
        if isinstance(device, Mapping) and isinstance(device.get("id"), str):
            yield device


def _version(facts: Facts, module: str) -> str:
    found = _entry(facts, module).get("version")
    return found if isinstance(found, str) else ""


def _name(device: Mapping[str, Any]) -> str:
    return str(device.get("name") or "")


def _opencl_name(device: Mapping[str, Any]) -> str:
    """The device's name with its platform, since several platforms may list the same processor."""
    return ", ".join(str(device[key]) for key in ("name", "platform") if device.get(key))
