"""Which stacks a text is about; this decides between checks that share a message."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.knowledge.stack_names import all_names
from gpudoctor.model.facts import Facts
from gpudoctor.model.lazy_pattern import lazy


def _any(*words: str) -> str:
    return "|".join(words)


_APPLES_MPS = r"(?<!cuda )(?<!nvidia[- ])(?<!cuda[-_])\bmps\b(?![ -](?:client|server|daemon|control|sharing|pipe))"
"""Metal Performance Shaders, not NVIDIA's Multi-Process Service."""
_XLA = r"\bxla\b"
"""The compiler of JAX, TensorFlow and torch_xla: of JAX where no other of them is named."""
VENDORS: Mapping[str, str] = {
    "nvidia": _any(
        "nvidia(?!-smi)", r"\bgeforce", r"\brtx ?(?:pro )?a?\d{3}", r"\bgtx ?\d{3}", r"\bquadro", r"\btesla [a-z]\d", r"\bcudnn",
        r"\bcublas",
        r"\blibcuda", r"\+cu1\d\d\b", r"\bnvcc\b", r"\bnvlink", r"\bxid\b", r"\b[ahb]100\b", r"\b[hb]200\b", r"\bl40s?\b", r"\bjetson\b",
        r"\bptxas\b", "multi-process service", "cuda[-_]mps", r"\bmig (?:device|mode|instance|slice)",
    ),
    "amd": _any(
        r"\bradeon", r"\brx ?[4-9]\d{2,3}", r"\binstinct\b", r"\bmi[123]\d\d[xa]?\b", r"\bgfx\d{3,4}", r"\brocm",
        r"\bhip(?:cc|blas\w*|error\w*|fft)?\b", r"\bmiopen", r"\brocblas", r"\bamdgpu", "/dev/kfd", r"\bhsa_", r"\brccl\b", r"\brocminfo\b",
        r"\bnavi ?\d\d\b", r"\bamd-smi\b", r"\bzluda\b", r"\bamdxdna", r"\bxdna\b", r"\bxrt-smi\b",
    ),
    "intel": _any(
        r"\barc(?:\(tm\))? ?(?:pro )?[ab]\d{2,3}", r"\barc graphics", r"\biris\b", r"\buhd graphics",
        r"\bintel(?:\(r\))? (?:gpu|arc|data cent|hd |uhd|iris|graphics)", r"\bxpu\b", r"\bipex\b", r"\boneapi\b", r"\bsycl\b",
        r"\blevel[ _-]zero\b",
        r"\bi915\b", r"\boneccl\b", r"\bze_result", r"\bur_result", r"\bigc\b", r"\bcompute-runtime\b", r"\bintel-opencl", r"\bxpu-smi\b",
        r"\bopenvino\b",
    ),
    "graphcore": _any(r"\bipus?\b", r"\bpoplar\b", r"\bpopart\b", r"\bpoptorch\b", r"\bgraphcore\b"),
    "apple": _any(
        _APPLES_MPS, r"\bapple (?:m\d|silicon)", r"\bmetal\b", r"\bmacos\b", r"\bmac (?:studio|mini|book)", r"\bmacbook", r"\bmlx\b",
        r"\bdarwin\b",
    ),
}  # fmt: skip
"""Words that only one vendor's cards and stacks have. 'cuda' is not among them, since torch for ROCm uses it for its devices as well."""
OTHER_ACCELERATORS = (
    "torch_npu", "torch-npu", "ascend", "davinci*", "torch_musa", "torch-musa", "mthreads*", "torch_mlu", "cambricon", "habana*", "gaudi*",
    "hl-smi", "qaic*", "cloud ai 100", "tpudevice*", "tpu v*", "tpu vm", "cloud tpu", "tpu pod", "torch_gcu", "enflame", "torch_neuronx",
    "inferentia",
    "trainium", "furiosa*", "tenstorrent", "tt-smi", "hailo*", "cerebras",
)  # fmt: skip
"""Accelerators, and plug-ins for them, that no stack of the catalogue serves. Their programs write the messages of frameworks too."""
_MULTI_PROCESS_SERVICE = lazy(r"cuda[-_]mps|nvidia[- ]mps|\bmps[- ](?:control|daemon|server|sharing)|multi-process service")
_MPS_ALONE = lazy(r"\bmps\b")
_AMDS_IPU = lazy(r"\bamdxdna|\bxdna\b|\bxrt-smi\b|\bryzen\b|\bamd ipu\b")
_GRAPHCORES = lazy(r"\bpoplar\b|\bpop(?:art|torch|dist)|graphcore|\bgc-(?:info|monitor|inventory)\b|\bipuof")
_IPU = lazy(r"\bipus?\b")
LOOKED_AT = 100_000
_NONE_OF_IT = r"^[^\n]{0,80}[:=]\s*(?:n/a|none|no|could not collect|not found|false|0)\s*$"
"""A row that states an absence: 'ROCM used to build PyTorch: N/A'."""

_PLATFORM_LEFT_OUT = r"^[^\n]{0,80}\b(?:checking if \w+ platform is available|\w+ platform is not available because:)[^\n]*$"
"""vLLM tries each platform in turn and names, for each one that is not there, the package that it misses."""


def vendors_of(lower: str, evidence: Evidence) -> list[str]:
    """Vendors whose cards or stacks the text shows. The vendor of a processor does not count."""
    text = re.sub(_NONE_OF_IT, "", _unambiguous(lower[:LOOKED_AT]), flags=re.MULTILINE)
    named = {maker.partition(":")[0] for maker, _ in evidence.gpus}
    by_id = {"10de": "nvidia", "1002": "amd", "8086": "intel", "1d95": "graphcore"}
    shown = {by_id.get(maker, maker) for maker in named} & set(VENDORS)
    spoken = {vendor for vendor, pattern in VENDORS.items() if re.search(pattern, text)}
    elsewhere = {"apple"} if evidence.platforms[:1] == ["linux"] else set()  # the Mac from which somebody logs in
    return sorted(shown | (spoken - elsewhere))


def stacks_of(lower: str, evidence: Evidence, facts: Facts) -> list[str]:
    """Stacks that the text mentions, the most frequent first."""
    text = _unambiguous(lower[:LOOKED_AT])
    counts = {stack: sum(1 for _ in re.finditer(_any(*names.words), text)) for stack, names in all_names().items() if names.words}
    if not counts["tensorflow"] and "torch_xla" not in text:
        counts["jax"] += len(re.findall(_XLA, text))
    return sorted((stack for stack, count in counts.items() if count), key=lambda stack: -counts[stack])


def _unambiguous(text: str) -> str:
    """The text without 'MPS' where that means NVIDIA's Multi-Process Service and not Apple's Metal backend, without 'IPU' where that is
    the NPU of a Ryzen, which AMD called so at first, and not Graphcore's processor, and without the platforms that vLLM left out."""
    if _MULTI_PROCESS_SERVICE.search(text):
        text = _MPS_ALONE.sub("", text)
    if _AMDS_IPU.search(text) and not _GRAPHCORES.search(text):
        text = _IPU.sub("", text)
    return re.sub(_PLATFORM_LEFT_OUT, "", text, flags=re.MULTILINE)
