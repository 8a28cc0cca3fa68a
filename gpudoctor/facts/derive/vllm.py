"""vLLM: the device that it was built for, the platform that it chooses, and whether torch and its kernel packages are those it needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._pythons import in_range
from gpudoctor.facts.derive._versions import distribution
from gpudoctor.facts.derive.python_mix import demand_fails
from gpudoctor.facts.derive.torch_build import base_version
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown

_UNSAID = Unknown("not recorded")
_VENDORS = {"cuda": "nvidia", "rocm": "amd", "xpu": "intel"}
_SHARE = 0.9
"""The share of a GPU's memory that vLLM asks for without --gpu-memory-utilization; newer releases ask for 0.92."""
_OWN = 0.02
"""The share of a GPU's memory that vLLM's own process occupies before it measures what is free."""
_LEAST = 0.3
"""The smallest share of free memory with which starting vLLM makes sense; below it memory must be freed."""
_FLASHINFER = ("flashinfer-cubin", "flashinfer-jit-cache")


def build_of(version: str, platform: str) -> str:
    """The device that vLLM was built for, by the local part of its version: cuda, rocm, xpu, cpu, tpu, neuron or empty. Its wheels for CUDA
    on PyPI have no local part."""
    return _named_device(version) or ("cpu" if platform == "macos" else "cuda")


def _named_device(version: str) -> str:
    for part in re.split(r"[.+-]", version.partition("+")[2].lower()):
        match = re.match(r"^(cpu|rocm|xpu|tpu|empty|neuron|cu)(?=\d|$)", part)
        if match:
            return {"cu": "cuda"}.get(match[1], match[1])
    return ""


def _build(facts: Facts, version: str) -> str:
    """The device that vLLM was built for; '' where its version names none and torch is of another one. `vllm.__version__`, which programs
    print, lacks the device that the metadata of the package have, so that only a text with neither leaves it open."""
    build = build_of(version, str(facts.value("platform.kind")))
    if _named_device(version) or facts.known("vllm.requires_python") or facts.known("vllm.demands"):
        return build
    return build if facts.value("torch.build") in (None, build) else ""


def _amdsmi(facts: Facts) -> bool:
    """Whether `import amdsmi` finds a module: a distribution, or the folder that ROCm brings on PYTHONPATH."""
    return distribution(facts, "amdsmi") is not None or "amd_smi" in str(facts.value("env.PYTHONPATH") or "")


def _cards(facts: Facts, vendor: str) -> list[dict[str, Any]]:
    return [gpu for gpu in facts.value("gpus", []) if isinstance(gpu, dict) and gpu.get("vendor") == vendor]


def _platform(facts: Facts, build: str, plugins: list[str]) -> str:
    """The platform that vLLM chooses: that of a plugin before its own ones; '' where it finds none, 'several' where it refuses two
    plugins."""
    if plugins:
        return plugins[0] if len(plugins) == 1 else "several"
    if build == "cpu" or facts.value("platform.kind") == "macos":
        return "cpu"
    if facts.value("nvidia.cards") and facts.value("nvidia.in_use"):
        return "cuda"
    if _cards(facts, "amd") and _amdsmi(facts):
        return "rocm"
    return "xpu" if _cards(facts, "intel") and facts.value("torch.build") == "xpu" else ""


def _active(facts: Facts) -> list[str] | None:
    """The names of the platform plugins that vLLM loads, among which VLLM_PLUGINS chooses; None where they are unknown."""
    records = facts.value("vllm.plugins")
    if records is None:
        return None
    chosen = facts.value("env.VLLM_PLUGINS")
    wanted = None if chosen is None else {name.strip() for name in str(chosen).split(",")}
    return [str(each["name"]) for each in records if wanted is None or each["name"] in wanted]


def _torch(facts: Facts, build: str) -> Iterable[tuple[str, Fact]]:
    demand, torch = facts.value("vllm.demands.torch"), facts.value("torch.version")
    exact = re.match(r"^==\s*([\w.+]+)", str(demand or ""))
    yield "vllm.torch_wanted", Known(exact[1], "vllm.demands") if exact else _UNSAID
    wrong = demand_fails(str(demand), base_version(str(torch))) if exact and torch else None
    yield "vllm.torch_fits", _UNSAID if wrong is None else Known(not wrong, "vllm.demands")
    torch_build = facts.value("torch.build")
    comparable = build in _VENDORS and torch_build in ("cpu", *_VENDORS)
    yield "vllm.torch_of_its_device", Known(build == torch_build, "torch.build") if comparable else _UNSAID


def _flashinfer(facts: Facts) -> Fact:
    """'flashinfer-cubin 0.5.0' for a part of FlashInfer of another release than flashinfer-python; absent where all agree."""
    main = distribution(facts, "flashinfer-python")
    if main is None:
        return Absent("python.distributions")
    for name in _FLASHINFER:
        other = distribution(facts, name)
        if other is not None and other.partition("+")[0] != main.partition("+")[0]:
            return Known(f"{name} {other.partition('+')[0]}", "python.distributions")
    return Absent("python.distributions")


def _memory(facts: Facts, build: str) -> Iterable[tuple[str, Fact]]:
    """Whether each card that vLLM may use has less memory free than it asks for. One card with enough memory suffices, since a person can
    choose it."""
    names = ("vllm.memory_short", "vllm.memory_card", "vllm.memory_share", "vllm.memory_users")
    records = [each for each in facts.value("gpu_memory", []) if isinstance(each, Mapping) and each.get("vendor") == _VENDORS.get(build)]
    known = [each for each in records if isinstance(each.get("used_share"), float) and not each.get("unified")]
    if not known or len(known) != len(records):
        yield from ((name, _UNSAID) for name in names)
        return
    best = min(known, key=lambda each: float(each["used_share"]))
    free = 1.0 - float(best["used_share"])
    fitting = int((free - _OWN) * 100) / 100
    yield "vllm.memory_short", Known(free < _SHARE, "gpu_memory")
    yield "vllm.memory_card", Known(str(best.get("name")), "gpu_memory")
    yield "vllm.memory_share", Known(f"{fitting:.2f}", "gpu_memory") if fitting >= _LEAST else Absent("gpu_memory")
    users = [str(name) for name in best.get("users") or ()][:3]
    yield "vllm.memory_users", Known(users, "gpu_memory") if users else Absent("gpu_memory")


def _kv_space(facts: Facts) -> Fact:
    asked, main = str(facts.value("env.VLLM_CPU_KVCACHE_SPACE") or ""), facts.value("memory.total_bytes")
    if not re.fullmatch(r"\d{1,6}", asked) or not isinstance(main, int):
        return _UNSAID
    return Known(int(asked) * 2**30 >= main, "env.VLLM_CPU_KVCACHE_SPACE")


def _newest_capability(facts: Facts) -> Fact:
    said = [card.get("cc") for card in facts.value("nvidia.cards", []) if isinstance(card, dict)]
    known = [float(each) for each in said if isinstance(each, (int, float))]
    return Known(max(known), "nvidia.cards") if known and len(known) == len(said) else _UNSAID


def derive(facts: Facts) -> Iterable[tuple[str, Fact]]:
    if not facts.known("python.distributions"):
        return
    version = distribution(facts, "vllm")
    if version is None:
        yield "vllm.version", Absent("python.distributions")
        return
    build = _build(facts, version)
    yield "vllm.version", Known(version, "python.distributions")
    yield "vllm.build", Known(build, "python.distributions") if build else _UNSAID
    plugins = _active(facts)
    yield "vllm.plugins_active", _UNSAID if plugins is None else Known(plugins, "vllm.plugins")
    platform = _platform(facts, build, plugins or [])
    looked = not isinstance(facts.get("gpus"), Unknown)
    yield "vllm.platform", Known(platform, "vllm") if platform else Absent("vllm") if looked else _UNSAID
    yield "vllm.card_of_its_device", _card_here(facts, build)
    yield "vllm.amdsmi", Known(_amdsmi(facts), "python.distributions")
    yield from _torch(facts, build)
    yield "vllm.flashinfer_other", _flashinfer(facts)
    yield from _memory(facts, build)
    yield "vllm.kv_space_too_large", _kv_space(facts)
    yield "vllm.capability", _newest_capability(facts)
    yield "vllm.python_fits", in_range(facts, "python.version", "vllm.requires_python", "vllm.requires_python")


def _card_here(facts: Facts, build: str) -> Fact:
    if build not in _VENDORS or isinstance(facts.get("gpus"), Unknown):
        return _UNSAID
    return Known(bool(_cards(facts, _VENDORS[build]) or (build == "cuda" and facts.value("nvidia.cards"))), "gpus")


DERIVATION = Derivation(
    "vllm",
    (
        FactSpec("vllm.version", "version", "vLLM in the target environment"),
        FactSpec("vllm.build", "text", "the device that it was built for: cuda, rocm, xpu, cpu, tpu, empty"),
        FactSpec("vllm.platform", "text", "the platform that it takes: a plugin's name, cuda, rocm, xpu, cpu; several: it stops"),
        FactSpec("vllm.plugins_active", "list", "platform plugins that it loads"),
        FactSpec("vllm.card_of_its_device", "bool", "a card of the vendor that it was built for is here"),
        FactSpec("vllm.amdsmi", "bool", "the module amdsmi, by which it knows AMD GPUs, can be imported"),
        FactSpec("vllm.torch_wanted", "version", "the torch that it was compiled with"),
        FactSpec("vllm.torch_fits", "bool", "the torch that it was compiled with is installed"),
        FactSpec("vllm.torch_of_its_device", "bool", "torch is built for the same kind of device"),
        FactSpec("vllm.flashinfer_other", "text", "the part of FlashInfer of another release than flashinfer-python"),
        FactSpec("vllm.memory_short", "bool", "every card of its vendor has less memory free than it asks for by default"),
        FactSpec("vllm.memory_card", "text", "the card with the most memory free"),
        FactSpec(
            "vllm.memory_share", "text", "the --gpu-memory-utilization that fits on that card; absent where too little memory is free"
        ),
        FactSpec("vllm.memory_users", "list", "programs that hold its memory"),
        FactSpec("vllm.kv_space_too_large", "bool", "VLLM_CPU_KVCACHE_SPACE asks for all of main memory or more"),
        FactSpec("vllm.python_fits", "bool", "this Python is among those that vLLM's metadata names"),
        FactSpec("vllm.capability", "float", "the highest compute capability of the NVIDIA cards here"),
    ),
    derive,
)
