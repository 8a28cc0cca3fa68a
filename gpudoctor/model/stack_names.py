"""One table of what people call a stack: `check --stack`, `setup`, `audit --backend` and `validate --device` all read it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Named:
    """A stack, and its names elsewhere: the recipe of `setup`, the backend of `audit`, the kind of device of `validate`."""

    stack: str
    vendor: str
    setup: str
    backend: str
    device: str
    aliases: tuple[str, ...]


TABLE = (
    Named("torch-cuda", "nvidia", "cuda", "cuda", "cuda", ("cuda", "nvidia", "pytorch-cuda", "torch-nvidia")),
    Named("torch-rocm", "amd", "rocm", "rocm", "cuda", ("rocm", "amd", "hip", "radeon", "pytorch-rocm", "torch-amd")),
    Named("torch-xpu", "intel", "torch-xpu", "xpu", "xpu", ("xpu", "intel", "arc", "oneapi", "sycl", "pytorch-xpu", "torch-intel")),
    Named("ipex", "intel", "ipex", "xpu", "xpu", ("intel-extension-for-pytorch", "intel_extension_for_pytorch")),
    Named("torch-directml", "microsoft", "directml", "directml", "dml", ("directml", "dml", "torch_directml", "microsoft")),
    Named("pytorch-directml", "microsoft", "directml", "directml", "dml", ("pytorch_directml",)),
    Named("tensorflow-directml", "microsoft", "directml", "directml", "tf", ("tf-directml", "tensorflow_directml")),
    Named("opencl", "khronos", "opencl", "opencl", "opencl", ("cl",)),
    Named("torch-opencl", "khronos", "torch-opencl", "opencl", "ocl", ("ocl", "pytorch-ocl", "pytorch_ocl", "dlprimitives")),
    Named("poplar", "graphcore", "poplar", "ipu", "ipu", ("ipu", "graphcore", "poptorch", "popart")),
    Named("openvino", "openvino", "openvino", "openvino", "openvino", ("ov",)),
    Named("onnxruntime", "onnxruntime", "onnxruntime", "onnxruntime", "ort", ("ort", "onnx")),
    Named("tensorflow", "tensorflow", "tensorflow", "", "tf", ("tf",)),
    Named("jax", "jax", "jax", "", "jax", ()),
    Named("torch-mps", "apple", "mps", "mps", "mps", ("mps", "apple", "metal", "pytorch-mps")),
    Named("torch-cpu", "processor", "cpu", "cpu", "cpu", ("cpu", "processor", "pytorch-cpu")),
)
NEAR = 0.75


def named(word: str) -> Named | None:
    """The row that a name or alias stands for, in whatever case."""
    plain = word.strip().lower()
    exact = next((row for row in TABLE if row.stack == plain), None)
    return exact or next((row for row in TABLE if plain in row.aliases), None)


def stack_of(word: str) -> str:
    """The stack's id; a word that names none comes back as it is."""
    row = named(word)
    return row.stack if row else word


def setup_of(word: str, known: Iterable[str]) -> str:
    """The name of the recipe; names that setup itself knows stay."""
    row = named(word)
    return word if word in known or row is None else row.setup


def backend_of(word: str, known: Iterable[str]) -> str:
    """The backend of audit; a framework that runs on several is none, and comes back as it is."""
    row = named(word)
    return word if word in known or row is None or not row.backend else row.backend


def device_of(word: str, known: Iterable[str]) -> str:
    """The kind of device of validate."""
    row = named(word)
    return word if word in known or row is None else row.device


def suggestion(word: str, choices: Iterable[str]) -> str:
    """' (did you mean …?)' where all near names are of one vendor: 'gpu' is as near to ipu as to cpu, and neither may be meant."""
    near = difflib.get_close_matches(word.lower(), list(choices), n=3, cutoff=NEAR)
    vendors = {row.vendor if (row := named(name)) else name for name in near}
    return f" (did you mean '{near[0]}'?)" if len(vendors) == 1 and len(word) > 3 else ""


def every_name() -> list[str]:
    """Ids and aliases."""
    return [name for row in TABLE for name in (row.stack, *row.aliases)]
