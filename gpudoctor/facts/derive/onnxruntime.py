"""ONNX Runtime: its installed wheels, the devices and libraries that they were built for, and the execution providers that it lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._versions import distribution, numbers
from gpudoctor.facts.derive.graphcore import minor, release
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown

WHEELS = (
    "onnxruntime", "onnxruntime-gpu", "onnxruntime-directml", "onnxruntime-openvino", "onnxruntime-rocm", "onnxruntime-migraphx",
    "onnxruntime-training", "onnxruntime-windowsml", "onnxruntime-qnn", "onnxruntime-silicon", "onnxruntime-vitisai", "ort-nightly",
    "ort-nightly-gpu", "ort-nightly-directml",
)  # fmt: skip
"""Distributions that all unpack into the folder `onnxruntime`, so that the last one installed overwrites the others."""
_PROVIDER = {
    "onnxruntime-gpu": "CUDAExecutionProvider", "ort-nightly-gpu": "CUDAExecutionProvider",
    "onnxruntime-directml": "DmlExecutionProvider", "ort-nightly-directml": "DmlExecutionProvider",
    "onnxruntime-openvino": "OpenVINOExecutionProvider", "onnxruntime-rocm": "ROCMExecutionProvider",
    "onnxruntime-migraphx": "MIGraphXExecutionProvider", "onnxruntime-silicon": "CoreMLExecutionProvider",
    "onnxruntime-vitisai": "VitisAIExecutionProvider",
}  # fmt: skip
_TAKES = {
    "onnxruntime-gpu": "nvidia", "ort-nightly-gpu": "nvidia", "onnxruntime-openvino": "intel", "onnxruntime-rocm": "amd",
    "onnxruntime-migraphx": "amd",
}  # fmt: skip
_FITTING = {"nvidia": "onnxruntime-gpu", "amd": "onnxruntime-migraphx", "intel": "onnxruntime-openvino"}
_CUDA_LIBRARIES = {"cublasLt": "cublas", "cudart": "cuda-runtime", "cufft": "cufft", "cudnn": "cudnn"}
_SONAME = {"10": {"cufft": "10"}, "11": {"cufft": "10"}, "12": {"cufft": "11"}, "13": {"cufft": "12"}}


def installed(facts: Facts) -> list[str] | None:
    """The installed distributions of ONNX Runtime; None where the distributions are unknown."""
    listing = facts.value("python.distributions")
    if isinstance(listing, dict):
        return [name for name in WHEELS if listing.get(name) is not None]
    found = [name for name in WHEELS if facts.known(f"python.distributions.{name}")]
    return found or None


def built_for(version: str) -> dict[str, Any] | None:
    """The row of onnxruntime-gpu.toml for this version; None for one that is newer than the table."""
    from gpudoctor.facts.derive._tables import table

    tree = table("onnxruntime-gpu")
    if numbers(version)[:2] > numbers(tree["newest"]):
        return None
    rows = [row for row in tree["row"] if numbers(row["since"]) <= numbers(version)[:2]]
    return rows[-1] if rows else None


def soname(library: str, cuda: str, cudnn: str) -> str:
    """The file name under which a CUDA library is loaded: 'libcufft.so.11' for cufft of CUDA 12."""
    major = cudnn if library == "cudnn" else _SONAME.get(cuda, {}).get(library, cuda)
    if library == "cudart" and cuda == "11":
        major = "11.0"
    return f"lib{library}.so.{major}"


def missing_libraries(facts: Facts, cuda: str, cudnn: str) -> list[str] | None:
    """The CUDA libraries that are neither in the loader's cache, nor in LD_LIBRARY_PATH, nor in the environment; None where one of these
    places is unknown. `cuda` and `cudnn`: the major versions that the wheel was built for."""
    libraries, listing = facts.value("libraries"), facts.value("python.distributions")
    if not isinstance(libraries, dict) or not isinstance(listing, dict) or facts.value("python.kind") == "conda":
        return None
    on_path = {str(path).rpartition("/")[2] for path in facts.value("nvidia.loader_path.libraries") or ()}
    missing = []
    for library, package in _CUDA_LIBRARIES.items():
        wheels = (f"nvidia-{package}-cu{cuda}", f"nvidia-{package}") if cuda == "13" else (f"nvidia-{package}-cu{cuda}",)
        name = soname(library, cuda, cudnn)
        if name in libraries or name in on_path:
            continue
        if library == "cudnn":
            held = next((str(v) for w in wheels if isinstance(v := listing.get(w), str)), None)
            if held is None or not held.startswith(f"{cudnn}."):
                missing.append(name)
        elif not any(wheel in listing for wheel in wheels):
            missing.append(name)
    torch = distribution(facts, "torch") or ""
    bundled = re.search(r"\+cu(\d\d)", torch)
    if bundled and bundled.group(1) == cuda and str(facts.value("platform.kind")) == "windows":
        return []
    return missing


def providers(facts: Facts) -> Fact:
    """The execution providers that the installed ONNX Runtime lists, as a fact."""
    devices = facts.get("python.frameworks.onnxruntime.devices")
    if not isinstance(devices, Known):
        return devices
    found: list[str] = []
    for device in devices.value or []:
        text = " ".join(str(device.get(key) or "") for key in ("id", "name")) if isinstance(device, dict) else str(device)
        found += [name for name in re.findall(r"\b\w{1,60}ExecutionProvider", text) if name not in found]
    capabilities = [str(c) for d in devices.value or [] if isinstance(d, dict) for c in _listed(d.get("capabilities"))]
    found += [name for text in capabilities for name in re.findall(r"\b\w{1,60}ExecutionProvider", text) if name not in found]
    return Known(found, "onnxruntime.get_available_providers()")


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value] if value is not None else []


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    wheels = installed(facts)
    if wheels is None:
        yield "onnxruntime.packages", Unknown("not probed")
        return
    yield "onnxruntime.packages", Known(wheels, "python.distributions")
    if not wheels:
        return
    clashing = [name for name in wheels if name != "onnxruntime-training"]
    yield "onnxruntime.clash", Known(clashing if len(clashing) > 1 else [], "python.distributions")
    chosen = next((name for name in wheels if name in _PROVIDER), wheels[0])
    version = distribution(facts, chosen)
    yield "onnxruntime.package", Known(chosen, "python.distributions")
    if version:
        yield "onnxruntime.version", Known(release(version), "python.distributions")
    yield "onnxruntime.provider", Known(_PROVIDER[chosen], chosen) if chosen in _PROVIDER else Absent(chosen)
    offered = providers(facts)
    yield "onnxruntime.providers", offered
    wanted = _PROVIDER.get(chosen)
    if wanted and isinstance(offered, Known):
        yield "onnxruntime.provider_offered", Known(wanted in offered.value, offered.source)
    yield from _hardware(facts, chosen)
    if version and chosen == "onnxruntime-gpu":
        yield from _cuda(facts, version)
    if version and chosen == "onnxruntime-openvino":
        yield from _openvino(facts, version)


def _hardware(facts: Facts, chosen: str) -> Iterator[tuple[str, Fact]]:
    """Whether the wheel serves a GPU that is here, and the wheel that would."""
    gpus = facts.value("gpus")
    if gpus is None:
        return
    vendors = [str(gpu.get("vendor")) for gpu in gpus]
    wanted = _TAKES.get(chosen)
    if wanted:
        yield "onnxruntime.card_here", Known(wanted in vendors, "gpus")
    better = next((_FITTING[vendor] for vendor in ("nvidia", "amd", "intel") if vendor in vendors), None)
    if facts.value("platform.kind") == "windows" and better not in (None, "onnxruntime-gpu"):
        better = "onnxruntime-directml"
    yield "onnxruntime.fitting", Known(better, "gpus") if better else Absent("gpus")


def _cuda(facts: Facts, version: str) -> Iterator[tuple[str, Fact]]:
    row = built_for(version)
    if row is None:
        for name in ("cuda", "cudnn", "missing"):
            yield f"onnxruntime.{name}", Unknown("newer than this table (2026-11)")
        return
    cuda, cudnn = str(row["cuda"]).split(".")[0], str(row["cudnn"])
    yield "onnxruntime.cuda", Known(cuda, row["source"])
    yield "onnxruntime.cudnn", Known(cudnn, row["source"])
    # What it lists overrides the table: a wheel from another index may be built for another CUDA.
    offered = providers(facts)
    lacking = missing_libraries(facts, cuda, cudnn)
    yield "onnxruntime.missing", Unknown("not probed") if lacking is None else Known(lacking, "libraries, python.distributions")
    torch_cuda = facts.value("torch.cuda")
    if isinstance(torch_cuda, str):
        yield "onnxruntime.torch_cuda_ok", Known(torch_cuda.split(".")[0] == cuda, "torch.cuda")
    if isinstance(offered, Known) and "TensorrtExecutionProvider" in offered.value:
        listing, libraries = facts.value("python.distributions"), facts.value("libraries")
        if isinstance(listing, dict) and isinstance(libraries, dict):
            there = any(name.startswith("tensorrt") for name in listing) or any(name.startswith("libnvinfer.so") for name in libraries)
            yield "onnxruntime.tensorrt", Known(there, "libraries, python.distributions")


def _openvino(facts: Facts, version: str) -> Iterator[tuple[str, Fact]]:
    from gpudoctor.facts.derive._tables import table

    row = next((r for r in table("onnxruntime-openvino")["row"] if r["version"] == minor(version)), None)
    yield "onnxruntime.openvino", Known(row["openvino"], row["source"]) if row else Unknown("newer than this table (2026-11)")
    beside = distribution(facts, "openvino")
    if row and beside:
        yield "onnxruntime.openvino_same", Known(minor(beside) == row["openvino"], row["source"])


DERIVATION = Derivation(
    name="onnxruntime",
    provides=(
        FactSpec("onnxruntime.packages", "list", "installed wheels that fill the folder onnxruntime"),
        FactSpec("onnxruntime.clash", "list", "more than one of them: they overwrite each other"),
        FactSpec("onnxruntime.package", "text", "the wheel that counts (one with an accelerator first)"),
        FactSpec("onnxruntime.version", "version", "version of the ONNX Runtime that counts"),
        FactSpec("onnxruntime.provider", "text", "the execution provider that it is installed for"),
        FactSpec("onnxruntime.providers", "list", "execution providers that it really lists"),
        FactSpec("onnxruntime.provider_offered", "bool", "the provider it is installed for is among them"),
        FactSpec("onnxruntime.card_here", "bool", "a card of the vendor that this wheel serves is here"),
        FactSpec("onnxruntime.fitting", "text", "the wheel that would use the card that is here"),
        FactSpec("onnxruntime.cuda", "text", "CUDA major version that onnxruntime-gpu was built for"),
        FactSpec("onnxruntime.cudnn", "text", "cuDNN major version that onnxruntime-gpu was built for"),
        FactSpec("onnxruntime.missing", "list", "CUDA libraries that onnxruntime-gpu needs and that were found nowhere"),
        FactSpec("onnxruntime.torch_cuda_ok", "bool", "torch in the same environment is of the same CUDA major version"),
        FactSpec("onnxruntime.tensorrt", "bool", "TensorRT's libraries are here"),
        FactSpec("onnxruntime.openvino", "dotted", "OpenVINO inside onnxruntime-openvino"),
        FactSpec("onnxruntime.openvino_same", "bool", "the distribution openvino beside it is of the release inside onnxruntime-openvino"),
    ),
    derive=derive,
)
