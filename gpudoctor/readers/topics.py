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
    "torch-directml": r"torch[-_]directml|privateuseone|directml|\bdml\b",
    "pytorch-directml": r"pytorch-directml|pytorch_directml|\bdml\b",
    "tensorflow-directml": r"tensorflow-directml|tfdml|tensorflow_directml|\bdml\b",
    "torch-opencl": r"pytorch_ocl|dlprimitives|pytorch_dlprim|\bocl:\d",
    "opencl": r"\bopencl\b|clinfo|clgetplatformids|\bpocl\b|rusticl|pyopencl|\.icd\b|"
              r"cl_[a-z_]+_(?:failure|error|found)|plaidml|clblast|clbuildprogram",
    "poplar": r"\bpoptorch|\bpopart|\bpoplar\b|\bipu\b|\bipus\b|graphcore|gc-info|popdist|\bipuof|\+gc\d",
    "openvino": r"openvino|\binference engine\b|\bov::",
    "onnxruntime": r"onnxruntime|onnx runtime|execution[-_ ]?provider|\bort\b",
    "tensorflow": r"\btensorflow\b|\btf\.|\bkeras\b",
    "jax": r"\bjax\b|\bjaxlib\b|\bxla\b|pjrt",
    "torch-mps": r"\bmps\b|apple silicon|\bmetal\b",
}  # fmt: skip
VENDORS: Mapping[str, str] = {
    "nvidia": r"nvidia(?!-smi)|\bgeforce|\brtx ?(?:pro )?a?\d{3}|\bgtx ?\d{3}|\bquadro|\btesla [a-z]\d|\bcudnn|\bcublas|\blibcuda"
              r"|\+cu1\d\d\b"
              r"|\bnvcc\b|\bnvlink|\bxid\b"
              r"|\b[ahb]100\b|\b[hb]200\b|\bl40s?\b|\bjetson\b|\bptxas\b",
    "amd": r"\bradeon|\brx ?[4-9]\d{2,3}|\binstinct\b|\bmi[123]\d\d[xa]?\b|\bgfx\d{3,4}|\brocm|\bhip(?:cc|blas\w*|error\w*|fft)?\b"
           r"|\bmiopen|\brocblas|\bamdgpu|/dev/kfd"
           r"|\bhsa_|\brccl\b|\brocminfo\b|\bnavi ?\d\d\b|\bamd-smi\b|\bzluda\b",
    "intel": r"\barc(?:\(tm\))? ?(?:pro )?[ab]\d{2,3}|\barc graphics|\biris\b|\buhd graphics|\bintel(?:\(r\))? (?:gpu|arc|data cent|hd "
             r"|uhd|iris|graphics)|\bxpu\b|\bipex\b"
             r"|\boneapi\b|\bsycl\b|\blevel[ _-]zero\b|\bi915\b|\boneccl\b|\bze_result|\bur_result|\bigc\b|\bcompute-runtime\b"
             r"|\bintel-opencl|\bxpu-smi\b|\bopenvino\b",
    "graphcore": r"\bipus?\b|\bpoplar\b|\bpopart\b|\bpoptorch\b|\bgraphcore\b",
    "apple": r"(?<!cuda )(?<!nvidia[- ])\bmps\b(?! (?:client|server|daemon|control|sharing|pipe))|\bapple (?:m\d|silicon)|\bmetal\b"
             r"|\bmacos\b|\bmac (?:studio|mini|book)|\bmacbook|\bmlx\b|\bdarwin\b",
}  # fmt: skip
"""Words of one vendor's cards and stacks alone. 'cuda' is none: torch for ROCm calls its devices so as well."""
LOOKED_AT = 100_000
_NONE_OF_IT = r"^[^\n]{0,80}[:=]\s*(?:n/a|none|no|could not collect|not found|false|0)\s*$"
"""A listing that says that something is not there: 'ROCM used to build PyTorch: N/A'."""


def vendors_of(lower: str, evidence: Evidence) -> list[str]:
    """Vendors whose cards or stacks the text shows; the maker of a processor is none."""
    text = re.sub(_NONE_OF_IT, "", lower[:LOOKED_AT], flags=re.MULTILINE)
    named = {maker.partition(":")[0] for maker, _ in evidence.gpus}
    by_id = {"10de": "nvidia", "1002": "amd", "8086": "intel", "1d95": "graphcore"}
    shown = {by_id.get(maker, maker) for maker in named} & set(VENDORS)
    spoken = {vendor for vendor, pattern in VENDORS.items() if re.search(pattern, text)}
    elsewhere = {"apple"} if evidence.platforms[:1] == ["linux"] else set()  # the Mac from which somebody logs in
    return sorted(shown | (spoken - elsewhere))


def stacks_of(lower: str, evidence: Evidence, facts: Facts) -> list[str]:
    """By how often their words occur; none for a text that speaks of none."""
    text = lower[:LOOKED_AT]
    counts = {stack: sum(1 for _ in re.finditer(pattern, text)) for stack, pattern in WORDS.items()}
    return sorted((stack for stack, count in counts.items() if count), key=lambda stack: -counts[stack])
