"""What a setup of Vulkan, llama.cpp and Ollama takes: whose driver, and which build of llama-cpp-python serves this machine."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known

_MAKERS = ("intel", "nvidia", "amd")
_CUDA_WHEELS = ((13, "cu132", 7.5), (12, "cu125", 6.0))
"""Major of the CUDA libraries that are installed, the newest wheels for it, the lowest compute capability that they have code for."""
_ROCM_LIBRARY = "libamdhip64.so.7"
"""What the wheels for ROCm 7.2 load; of ROCm 6 it is libamdhip64.so.6."""
_TITLES = {"cuda": "CUDA", "rocm": "ROCm 7.2", "vulkan": "Vulkan", "metal": "Metal", "cpu": "the processor"}


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    if facts.value("setup.name") not in ("vulkan", "llama-cpp", "ollama"):
        return
    vendors = _vendors(facts)
    yield "setup.vulkan.vendors", Known(vendors, "gpu.vendors")
    yield "setup.vulkan.cpu", Known(not vendors, "gpu.vendors")
    backend, folder, instead = _llama(facts, vendors)
    yield "setup.llama.backend", Known(backend, "llama-cpp-python")
    yield "setup.llama.title", Known(_TITLES[backend], "llama-cpp-python")
    yield "setup.llama.folder", Known(folder, "llama-cpp-python")
    yield "setup.llama.wheel", Known(_has_wheel(facts), "llama-cpp-python")
    yield "setup.llama.instead", Known(instead, "llama-cpp-python") if instead else Absent("llama-cpp-python")


def _has_wheel(facts: Facts) -> bool:
    """Whether the index has a wheel for this system and processor; else pip builds llama.cpp from its source."""
    machine = str(facts.value("platform.machine") or "x86_64").lower()
    return machine in ("arm64", "aarch64") if facts.value("platform.kind") == "macos" else machine in ("x86_64", "amd64")


def _vendors(facts: Facts) -> list[str]:
    """Makers of GPUs that Vulkan can have here: not those whose nodes a container was not given. WSL has no Vulkan driver of a maker."""
    if facts.value("platform.kind") == "wsl2":
        return []
    closed = facts.value("container.closed_vendors") or []
    return [vendor for vendor in facts.value("setup.gpu_vendors") or [] if vendor in _MAKERS and vendor not in closed]


def _llama(facts: Facts, vendors: list[str]) -> tuple[str, str, str]:
    """(backend, folder of the index, why it is not the maker's own). The wheels bring no libraries of CUDA or ROCm: they load what is
    installed. Those for Vulkan need nothing but the driver."""
    if not _has_wheel(facts):
        return "cpu", "cpu", ""
    if facts.value("platform.kind") == "macos":
        return "metal", "metal", ""
    if "nvidia" in (facts.value("setup.gpu_vendors") or []) and "nvidia" not in (facts.value("container.closed_vendors") or []):
        wheels = _cuda_wheels(facts)
        if wheels:
            return "cuda", wheels, ""
        if "nvidia" not in vendors:
            return "cpu", "cpu", "no libraries of CUDA 12 or 13 that serve this card are installed, and WSL has no Vulkan driver of NVIDIA"
        return "vulkan", "vulkan", "no libraries of CUDA 12 or 13 that serve this card are installed"
    if "amd" in vendors and facts.value("platform.kind") != "windows":
        if _ROCM_LIBRARY in (facts.value("libraries") or {}):
            return "rocm", "rocm72", ""
        return "vulkan", "vulkan", "ROCm 7 is not installed"
    if vendors:
        return "vulkan", "vulkan", "for Intel's GPUs there are no wheels with SYCL" if vendors == ["intel"] else ""
    return "cpu", "cpu", ""


def _cuda_wheels(facts: Facts) -> str:
    """The folder of the wheels whose CUDA libraries are here, in the loader's cache; '' where there are none that serve each card."""
    held = facts.value("libraries") or {}
    cards = [card["cc"] for card in facts.value("nvidia.cards") or [] if isinstance(card, dict) and isinstance(card.get("cc"), float)]
    for major, folder, lowest in _CUDA_WHEELS:
        if f"libcudart.so.{major}" in held and f"libcublas.so.{major}" in held and all(cc >= lowest for cc in cards):
            return folder
    return ""


DERIVATION = Derivation(
    name="setup_models",
    provides=(
        FactSpec("setup.vulkan.vendors", "list", "makers of GPUs for which a Vulkan driver is set up"),
        FactSpec("setup.vulkan.cpu", "bool", "there is none: Vulkan computes on the processor"),
        FactSpec("setup.llama.backend", "text", "which build of llama-cpp-python serves here: cuda, rocm, vulkan, metal or cpu"),
        FactSpec("setup.llama.wheel", "bool", "a wheel of it exists for this system and processor"),
        FactSpec("setup.llama.title", "text", "that in words"),
        FactSpec("setup.llama.folder", "text", "the folder of its index: cu125, vulkan, cpu"),
        FactSpec("setup.llama.instead", "text", "why the build of the card's maker is not taken; absent where it is"),
    ),
    derive=derive,
)
