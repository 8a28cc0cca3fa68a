"""Which stacks a text speaks of: it decides between checks that share a message."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpudoctor.model.facts import Facts
from gpudoctor.readers.evidence import Evidence

WORDS: Mapping[str, str] = {
    "torch-xpu": r"\bxpu\b|\+xpu\b|libsycl|intel-sycl-rt|torch-xpu-ops|pytorch-triton-xpu|native api failed",
    "ipex": r"\bipex\b|intel_extension_for_pytorch|intel-extension-for-pytorch|intel-ext-pt|ipex-llm|ipex_llm|bigdl|oneccl|torch[-_]ccl",
    "torch-cuda": r"\bcuda\b|\+cu1\d\d|nvidia|nvcc|\bsm_\d\d|cublas|cudnn|\bnccl|\bgeforce|\brtx\b|\bgtx\b|bitsandbytes|flash_attn|"
                  r"xformers",
    "torch-rocm": r"\brocm|\bhip\b|amdgpu|\bgfx\d{3,4}|\bhsa_|hipblas|miopen|rocblas|/dev/kfd|\bkfd\b|\bradeon\b|\binstinct\b",
    "torch-directml": r"torch[-_]directml|privateuseone|directml",
    "pytorch-directml": r"pytorch-directml|pytorch_directml|\bdml\b",
    "tensorflow-directml": r"tensorflow-directml|tfdml|tensorflow_directml",
    "torch-opencl": r"pytorch_ocl|dlprimitives|pytorch_dlprim|\bocl:\d",
    "opencl": r"\bopencl\b|clinfo|clgetplatformids|\bpocl\b|rusticl|pyopencl|\.icd\b|"
              r"cl_[a-z_]+_(?:failure|error|found)|plaidml|clblast|clbuildprogram",
    "poplar": r"\bpoptorch|\bpopart|\bpoplar\b|\bipu\b|\bipus\b|graphcore|gc-info|popdist|\bipuof",
    "openvino": r"openvino|\binference engine\b|\bov::",
    "onnxruntime": r"onnxruntime|onnx runtime|executionprovider|\bort\b",
    "tensorflow": r"\btensorflow\b|\btf\.|\bkeras\b",
    "jax": r"\bjax\b|\bjaxlib\b|\bxla\b|pjrt",
    "torch-mps": r"\bmps\b|apple silicon|\bmetal\b",
}  # fmt: skip
_COMPILED = {stack: re.compile(pattern) for stack, pattern in WORDS.items()}
LOOKED_AT = 100_000


def stacks_of(lower: str, evidence: Evidence, facts: Facts) -> list[str]:
    """By how often their words occur; none for a text that speaks of none."""
    text = lower[:LOOKED_AT]
    counts = {stack: sum(1 for _ in pattern.finditer(text)) for stack, pattern in _COMPILED.items()}
    return sorted((stack for stack, count in counts.items() if count), key=lambda stack: -counts[stack])
