"""llama.cpp: for each GPU whether the build and llama-cpp-python have a backend for it, and whether it is listed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._versions import older
from gpudoctor.facts.derive._visible_devices import beside_a_card, hiding_variable
from gpudoctor.facts.derive.cuda import floor_of
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown

_UNSAID = Unknown("not recorded")
_SERVE = {
    "nvidia": ("cuda", "vulkan"), "amd": ("hip", "vulkan"),
    "intel": ("sycl", "vulkan", "opencl", "openvino"), "apple": ("metal", "vulkan"),
}  # fmt: skip
"""The backends that take a vendor's GPUs. That of OpenCL takes those of Qualcomm and Intel, and drops all others
(ggml/src/ggml-opencl/ggml-opencl.cpp)."""
_WORDS = {
    "nvidia": ("nvidia", "geforce", "rtx", "tesla", "quadro"),
    "amd": ("amd", "radeon", "instinct"),
    "intel": ("intel",),
    "apple": ("apple",),
}
_OPTIONS = {"nvidia": "CUDA", "amd": "HIP", "intel": "SYCL", "apple": "METAL"}
_OWN = {"cuda": "nvidia", "hip": "amd", "sycl": "intel", "metal": "apple"}
_PROCESSOR = ("llvmpipe", "lavapipe", "swiftshader", "cpu")


def _serves(vendor: str, backends: list[str] | None) -> bool | Unknown:
    return _UNSAID if backends is None else any(backend in _SERVE[vendor] for backend in backends)


def _is_processor(device: Mapping[str, Any]) -> bool:
    return device["backend"] in ("vulkan", "opencl", "sycl") and any(word in str(device["name"]).lower() for word in _PROCESSOR)


def _hidden(vendor: str, facts: Facts, count: int, backends: list[str]) -> str | None:
    """The setting that hides every one of `count` GPUs of this vendor from these backends; None where there is none."""
    env = facts.value("env") or {}
    if "vulkan" in backends and env.get("GGML_VK_VISIBLE_DEVICES") != "-1":
        return None
    if vendor == "intel" and "sycl" in backends:
        known = facts.known("intel.selector.problem")
        return f"{facts.value('intel.selector.variable')}={facts.value('intel.selector.value')}" if known else None
    return hiding_variable(vendor, env, count)


def _listed(vendor: str, devices: list[dict[str, Any]]) -> bool:
    """Whether a GPU of this vendor is listed: by the backend where that serves one vendor alone, else by the device's name."""
    return any(
        _OWN.get(device["backend"]) == vendor or any(word in str(device["name"]).lower() for word in _WORDS[vendor])
        for device in devices
        if not _is_processor(device)
    )


def _gpus(facts: Facts) -> list[dict[str, Any]]:
    physical = [gpu for gpu in facts.value("gpus", []) if isinstance(gpu, dict) and gpu.get("vendor") in _SERVE]
    records = []
    for gpu in physical:
        vendor = str(gpu["vendor"])
        count = sum(other["vendor"] == vendor for other in physical)
        backends, own = facts.value("llama_cpp.backends"), facts.value("llama_cpp.python.backends")
        listed = _listed(vendor, facts.value("llama_cpp.devices") or [])
        # what the program lists proves a backend that its libraries do not name
        served = True if listed else _serves(vendor, backends)
        hidden = _hidden(vendor, facts, count, backends or own or [])
        records.append({
            "address": gpu.get("address"), "name": gpu.get("name"), "vendor": vendor, "kind": gpu.get("kind", _UNSAID),
            "driver": gpu.get("driver", _UNSAID), "access": gpu.get("access", _UNSAID), "group": gpu.get("node_group"),
            "main": not beside_a_card(gpu, physical), "served": served, "python_served": _serves(vendor, own),
            "listed": listed, "hidden": hidden if facts.known("env") else _UNSAID, "option": _OPTIONS[vendor],
        })  # fmt: skip
    return records


def _switched_off(facts: Facts) -> Fact:
    """The setting that keeps GPUs, or the layers of models, from every program of llama.cpp; absent where there is none."""
    if not facts.known("env"):
        return _UNSAID
    for name, values in (("LLAMA_ARG_DEVICE", ("none",)), ("LLAMA_ARG_N_GPU_LAYERS", ("0",))):
        value = str(facts.value(f"env.{name}") or "").strip().lower()
        if value in values:
            return Known(f"{name}={value}", name)
    return Absent("env")


def _driver_wanted(facts: Facts) -> Fact:
    major, driver = facts.value("llama_cpp.cuda_major"), facts.value("nvidia.in_use")
    if major is None or driver is None:
        return _UNSAID
    floor = floor_of(str(major), facts.value("platform.kind"))
    return Known(floor, "cuda-driver") if floor and older(driver, floor) else Absent("cuda-driver")


def _built_with(facts: Facts) -> Fact:
    """The backends of the program and of llama-cpp-python in one list."""
    own, of_python = facts.value("llama_cpp.backends"), facts.value("llama_cpp.python.backends")
    if own is None and of_python is None:
        return _UNSAID
    return Known(sorted({*(own or []), *(of_python or [])}) or ["the processor alone"], "the libraries of ggml")


def _releases(facts: Facts) -> Fact:
    named = (("build", "llama_cpp.version"), ("llama-cpp-python", "llama_cpp.python.version"))
    found = [f"{what} {facts.value(name)}" for what, name in named if facts.known(name)]
    return Known(found, "llama.cpp") if found else _UNSAID


def derive(facts: Facts) -> Iterable[tuple[str, Fact]]:
    if facts.value("llama_cpp.here") is not True:
        return
    yield "llama_cpp.gpus", Known(_gpus(facts), "gpus") if facts.known("gpus") else _UNSAID
    yield "llama_cpp.built_with", _built_with(facts)
    yield "llama_cpp.releases", _releases(facts)
    yield "llama_cpp.switched_off", _switched_off(facts)
    yield "llama_cpp.driver_wanted", _driver_wanted(facts)
    devices, reason = facts.value("llama_cpp.devices"), facts.get("llama_cpp.devices")
    if devices is None:
        unknown = reason if isinstance(reason, Unknown) else _UNSAID
        yield from ((name, unknown) for name in ("llama_cpp.names", "llama_cpp.gpu_seen", "llama_cpp.only_processor"))
        return
    names = [f"{device['name']} ({device['id']})" for device in devices]
    yield "llama_cpp.names", Known(names, "llama_cpp.devices")
    small = [device for device in devices if _is_processor(device)]
    yield "llama_cpp.gpu_seen", Known(len(small) < len(devices), "llama_cpp.devices")
    alone = small and len(small) == len(devices)
    yield "llama_cpp.only_processor", Known(str(small[0]["name"]), "llama_cpp.devices") if alone else Absent("llama_cpp.devices")


DERIVATION = Derivation(
    name="llama_cpp",
    provides=(
        FactSpec(
            "llama_cpp.gpus", "records", "GPUs and what llama.cpp can do with them", item="llama_gpu",
            fields={
                "address": "PCI address", "name": "name", "vendor": "maker", "kind": "discrete, integrated …", "driver": "kernel driver",
                "access": "this user may open its node", "group": "group of its node", "main": "not an integrated GPU beside a card",
                "served": "the program has a backend for it", "python_served": "llama-cpp-python has a backend for it",
                "listed": "the program lists it; false also where it was not asked", "hidden": "variable that hides it",
                "option": "the backend of its maker, as CMake has it: -DGGML_CUDA=ON",
            },
        ),
        FactSpec("llama_cpp.built_with", "list", "backends for GPUs of the program and of llama-cpp-python"),
        FactSpec("llama_cpp.releases", "list", "number of the build, version of llama-cpp-python"),
        FactSpec("llama_cpp.switched_off", "text", "the variable that keeps every model on the processor"),
        FactSpec("llama_cpp.driver_wanted", "dotted", "oldest driver for its CUDA runtime; absent where the driver reaches it"),
        FactSpec("llama_cpp.names", "list", "devices that it lists"),
        FactSpec("llama_cpp.gpu_seen", "bool", "it lists a GPU"),
        FactSpec("llama_cpp.only_processor", "text", "what it lists is the processor in the guise of a device"),
    ),
    derive=derive,
)  # fmt: skip
