"""PyTorch's package indexes: that of each build, and the one of this machine with the command that installs from it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._indexes import ROOT, newest, of_local
from gpudoctor.facts.derive._pythons import pip_of
from gpudoctor.facts.derive._rocm_wheels import first_index, target
from gpudoctor.facts.derive._tables import table
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.rules.versions import compare_dotted, dotted

_HERE = {"index.cuda": "cuda.pick.index", "index.rocm": "torch.rocm_index"}
"""The facts with the index that fits this machine, for the builds that have such a fact."""
_XPU_INSIDE = ("Meteor Lake", "Arrow Lake", "Lunar Lake", "Panther Lake", "Wildcat Lake", "Nova Lake")
"""Generations of Intel's processors whose integrated GPU PyTorch's XPU build serves."""
_BUILDS = {"nvidia": "cuda", "amd": "rocm", "intel": "xpu"}


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    yield from _index_of_each_build(facts)
    yield "torch.local_index", _index_of_installed(facts)
    build = build_for(facts)
    yield "torch.index.build", build
    if not isinstance(build, Known):
        yield "torch.index", build
        yield "torch.index.command", build
        return
    index = _index(facts, build.value)
    yield "torch.index", index
    yield "torch.index.command", _command(facts, build.value, index)


def _index_of_each_build(facts: Facts) -> Iterator[tuple[str, Fact]]:
    """The facts index.*: the indexes that fit this machine; those of the newest release where nothing is known of it."""
    targets = facts.value("amd.gfx")
    for name, address in newest(str(targets[0]) if targets else None).items():
        here = facts.value(_HERE[name]) if name in _HERE else None
        if name == "index.cuda" and facts.known("jetson.module"):
            yield name, _of_a_jetson(facts, address)
            continue
        if name == "index.cuda" and _only_of_other_makers(facts):
            yield name, Unknown("the cards here are not NVIDIA's")
            continue
        yield name, Known(str(here or address))
        if name == "index.rocm":
            yield "index.rocm_newest", Known(address)


def _only_of_other_makers(facts: Facts) -> bool:
    """Whether AMD's or Intel's cards are here and none of NVIDIA's: a CUDA build computes on none of them. Graphics of a processor that no
    build of torch serves say nothing, since a card may be beside them that the text does not show."""
    gpus = facts.value("gpus")
    shown = [gpu for gpu in gpus if isinstance(gpu, dict)] if isinstance(gpus, list) else []
    if any(gpu.get("vendor") == "nvidia" for gpu in shown):
        return False
    return any(gpu.get("vendor") in ("amd", "intel") and (gpu.get("kind") == "discrete" or _able(gpu)) for gpu in shown)


def _index_of_installed(facts: Facts) -> Fact:
    """The index that the installed torch came from, by its local version."""
    local = facts.get("torch.local")
    if not isinstance(local, Known):
        return local
    index = of_local(str(local.value))
    return Known(index, local.source) if index else Absent("not a build of PyTorch's own")


def _of_a_jetson(facts: Facts, newest_index: str) -> Fact:
    """The index with wheels for a Jetson. Before JetPack 7 PyTorch's own wheels have no code for it: NVIDIA's community index holds those
    of JetPack 6."""
    major = str(facts.value("jetson.jetpack") or "").partition(".")[0]
    if major == "6":
        return Known("https://pypi.jetson-ai-lab.io/jp6/cu126", "jetson.jetpack")
    return Known(newest_index, "jetson.jetpack") if major == "7" else Unknown("no index for this JetPack")


def build_for(facts: Facts) -> Fact:
    """The build of torch that serves this machine: cuda, rocm, xpu, mps or cpu. With GPUs of several vendors it is that of the installed
    torch, or unknown."""
    if facts.value("platform.kind") == "macos":
        return Known("mps" if facts.value("platform.machine") in ("arm64", "aarch64") else "cpu", "platform.kind")
    gpus = facts.value("gpus")
    if not isinstance(gpus, list):
        return Unknown("not recorded")
    able = [gpu for gpu in gpus if isinstance(gpu, dict) and _able(gpu)]
    builds = list(dict.fromkeys(_BUILDS[gpu["vendor"]] for gpu in able))
    installed = facts.value("torch.build")
    if installed in builds:
        return Known(installed, "torch.build")
    discrete = list(dict.fromkeys(_BUILDS[gpu["vendor"]] for gpu in able if gpu.get("kind") != "integrated"))
    chosen = discrete or builds
    if len(chosen) > 1:
        return Unknown("conflicting")
    return Known(chosen[0] if chosen else "cpu", "gpus")


def _able(gpu: dict[str, Any]) -> bool:
    """Whether some build of PyTorch serves this GPU."""
    vendor, generation = gpu.get("vendor"), gpu.get("generation")
    if vendor == "amd":
        return _of_rocm(gpu)
    if vendor == "intel":
        return generation in _XPU_INSIDE if gpu.get("kind") == "integrated" else generation != "DG1"
    return vendor == "nvidia"


def _of_rocm(gpu: dict[str, Any]) -> bool:
    gfx = gpu.get("gfx")
    if not isinstance(gfx, str):
        return gpu.get("kind") != "integrated"
    override = target(gfx).get("override") if gpu.get("kind") != "integrated" else None
    return first_index(gfx) is not None or bool(override)


def _index(facts: Facts, build: str) -> Fact:
    windows = facts.value("platform.kind") == "windows"
    if build == "cuda":
        return facts.get("cuda.pick.index")
    if build == "rocm":
        return Absent("PyTorch has no ROCm wheels for Windows on its indices") if windows else facts.get("torch.rocm_index")
    if build == "mps":
        return Absent("PyPI")
    return Known(f"{ROOT}{build}", "download.pytorch.org")


def _command(facts: Facts, build: str, index: Fact) -> Fact:
    pip = pip_of(facts)
    if build == "cuda":
        return facts.get("cuda.pick.command")
    if build == "mps":
        return Known(f"{pip} install --upgrade torch torchvision", "PyPI")
    if not isinstance(index, Known):
        return index
    wanted = _requirement(facts, build, str(index.value))
    return Known(f"{pip} install --force-reinstall {wanted} torchvision --index-url {index.value}", index.source)


def _requirement(facts: Facts, build: str, index: str) -> str:
    """The requirement for pip: the installed release where the index holds it, else 'torch' for the newest that it has."""
    base = str(facts.value("torch.base_version") or "")
    if not re.fullmatch(r"\d+\.\d+(\.\d+)?", base):
        return "torch"
    minor = ".".join(base.split(".")[:2])
    if build == "xpu":
        first = next(row["torch"] for row in table("torch-xpu")["release"] if row["bundled"])
        return f"torch=={base}" if _at_least(minor, first) else "torch"
    if build == "rocm":
        lines = table("rocm-torch")["index"].get(minor, [])
        return f"torch=={base}" if any(index.endswith(f"rocm{line}") for line in lines) else "torch"
    return f"torch=={base}"


def _at_least(left: str, right: str) -> bool:
    ours, theirs = dotted(left), dotted(right)
    return ours is not None and theirs is not None and compare_dotted(ours, theirs) >= 0


DERIVATION = Derivation(
    name="torch_index",
    provides=(
        FactSpec("torch.index.build", "text", "the build of torch that serves the GPU of this machine: cuda, rocm, xpu, mps or cpu"),
        FactSpec("torch.index", "text", "address of the index with that build and torch release; absent where PyPI or no index has it"),
        FactSpec("torch.local_index", "text", "address of the index with the build of the installed torch; absent where PyTorch has none"),
        FactSpec("torch.index.command", "text", "the pip command that installs that build into the target environment"),
        FactSpec(
            "index.cuda",
            "text",
            "PyTorch's index of CUDA wheels that fit the card and driver; of the newest release where those are unknown",
        ),
        FactSpec(
            "index.rocm", "text", "PyTorch's index of ROCm wheels for the torch release here; of the newest release where that is unknown"
        ),
        FactSpec("index.rocm_newest", "text", "PyTorch's index of ROCm wheels for the newest torch release, whatever is installed"),
        FactSpec("index.xpu", "text", "PyTorch's index of wheels for Intel GPUs"),
        FactSpec("index.cpu", "text", "PyTorch's index of wheels for the processor"),
    ),
    derive=derive,
)
