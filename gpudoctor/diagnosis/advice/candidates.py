"""The stacks that could serve the devices of this machine, with a rank and reasons, and those that cannot: by vendor and platform, from
facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from gpudoctor.model.facts import Facts

ANY, TRAINING, INFERENCE, TENSORFLOW, ONNX = "", "training", "inference", "tensorflow", "onnxruntime"
"""The purposes. ANY: the person named none, so that a device which only runs inference is better than none."""
_TORCH = (ANY, TRAINING, INFERENCE)
_ON_THE_PROCESSOR = 28
"""The rank of a stack that runs models on the processor only."""


class Idea(Struct, frozen=True, kw_only=True):
    """One stack, by the name of its recipe. The highest `rank` is recommended; `second` says why the stack is not the first choice."""

    name: str
    rank: int
    reasons: tuple[str, ...]
    device: str = ""
    second: str = ""


class Against(Struct, frozen=True):
    """A stack that a person might expect, and the reason against it."""

    name: str
    why: str


Thought = Idea | Against


def ideas(facts: Facts, purpose: str) -> Iterator[Thought]:
    """The candidates for a purpose: ANY, TRAINING, INFERENCE, TENSORFLOW or ONNX."""
    kind = str(facts.value("platform.kind", ""))
    if kind == "wsl1":
        yield Against("any GPU", "WSL 1 has none; in Windows: wsl --set-version NAME 2, then gpudoctor setup again")
        yield from _processor(facts, purpose, kind)
        return
    cards = [gpu for gpu in facts.value("gpus") or [] if isinstance(gpu, Mapping)]
    for vendor, serve in (("nvidia", _nvidia), ("amd", _amd), ("intel", _intel), ("apple", _apple)):
        mine = [gpu for gpu in cards if gpu.get("vendor") == vendor]
        if mine:
            yield from serve(facts, purpose, kind, _strongest(mine))
    if kind == "macos" and facts.value("macos.apple_silicon") is False:
        yield Against("mps", "this Mac has an Intel processor, and PyTorch has no wheels for those since 2.3")
    if facts.value("poplar.present") is True:
        yield from _graphcore(facts, purpose)
    yield from _tensorflow(facts, purpose, kind, cards)
    yield from _processor(facts, purpose, kind)


def _strongest(cards: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return next((card for card in cards if card.get("kind") == "discrete"), cards[0])


def _text(card: Mapping[str, Any], key: str) -> str:
    value = card.get(key)
    return value if isinstance(value, str) else ""


def _named(card: Mapping[str, Any]) -> str:
    return _text(card, "name") or _text(card, "pci_id") or f"a GPU of {_text(card, 'vendor')}"


def _closed(facts: Facts, vendor: str, how: str) -> Iterator[str]:
    if vendor in (facts.value("container.closed_vendors") or ()):
        yield f"this container was given no device of it yet: {how}"


# NVIDIA


def _nvidia(facts: Facts, purpose: str, kind: str, card: Mapping[str, Any]) -> Iterator[Thought]:
    name, generation, capability = _named(card), _text(card, "generation"), _text(card, "compute_capability")
    is_a = ", ".join(filter(None, (generation, f"compute capability {capability}" if capability else "")))
    shown = f"{name} ({is_a})" if is_a else name
    problem = facts.value("setup.cuda.problem")
    if problem:
        yield Against("cuda", str(problem))
        if kind in ("linux", "container"):
            yield _opencl_torch(name, 55, f"{shown} is too old for the CUDA builds of torch, and NVIDIA's OpenCL driver serves it")
    else:
        release = facts.value("setup.cuda.release")
        served = f"{shown} is served by the CUDA build of torch" + (f" {release}" if release else "")
        reasons = (served, *_nvidia_driver(facts, kind), *_closed(facts, "nvidia", "start it with --gpus all"))
        yield Idea(
            name="cuda",
            rank=100,
            device=name,
            reasons=reasons,
            second="it brings a whole training framework, where running models is enough",
        )
    if facts.value("setup.onnxruntime.provider") == "cuda" and facts.value("setup.onnxruntime.cuda") != "0":
        yield _onnxruntime(purpose, 105, name, f"ONNX Runtime's CUDA provider serves {name}, without a training framework")
    if kind in ("windows", "wsl2"):
        yield Against("directml", "CUDA serves this card better; DirectML gets no new features since July 2025")


def _nvidia_driver(facts: Facts, kind: str) -> Iterator[str]:
    driver, floor = facts.value("nvidia.in_use"), facts.value("setup.cuda.driver_floor")
    of_windows = " of Windows" if kind in ("windows", "wsl2") else ""
    if driver and facts.value("setup.cuda.driver_ok") is False:
        yield f"driver {driver}{of_windows} is older than {floor}, which it needs: a newer one comes first"
    elif driver:
        yield f"driver {driver}{of_windows} is in use and new enough" if floor else f"driver {driver}{of_windows} is in use"
    elif kind == "linux":
        yield "no NVIDIA driver is at work yet: the plan begins with it"


# AMD


def _amd(facts: Facts, purpose: str, kind: str, card: Mapping[str, Any]) -> Iterator[Thought]:
    name = _named(card)
    known = next((one for one in facts.value("amd.gpus") or [] if one.get("address") == card.get("address")), card)
    gfx = str(facts.value("setup.rocm.gfx") or _text(known, "gfx") or "its target")
    problem, risky = facts.value("setup.rocm.problem"), facts.value("setup.rocm.risky") is True
    state = _text(known, "state")
    if not problem and state in ("never", "dropped"):
        problem = f"ROCm has never served {gfx}" if state == "never" else f"ROCm does not serve {gfx} any more"
    if problem or risky:
        why = (
            str(problem)
            if problem
            else f"its wheels run on {gfx} only as another target with other instructions, which may compute wrongly"
        )
        yield Against("rocm", why)
        if kind in ("linux", "container"):
            yield _opencl_torch(name, 55, f"ROCm does not serve {name} ({gfx}), and OpenCL does")
    else:
        yield Idea(
            name="rocm", rank=90, device=name, reasons=tuple(_rocm_reasons(facts, kind, known, name, gfx)),
            second="ROCm is the smaller world beside CUDA, and a larger download than OpenCL",
        )  # fmt: skip
        if kind in ("linux", "container"):
            yield _opencl_torch(name, 40, f"OpenCL serves {name} too, without ROCm")
    provider = facts.value("setup.onnxruntime.provider")
    if provider == "migraphx" and facts.known("rocm.version"):
        yield _onnxruntime(purpose, 95, name, f"ROCm is here, and ONNX Runtime's MIGraphX provider computes with it on {name}")
    elif provider == "directml":
        yield _onnxruntime(purpose, 96, name, f"ONNX Runtime's DirectML provider runs models on {name} in Windows")
    if kind in ("windows", "wsl2"):
        yield from _directml(facts, kind, name, "rocm" if not problem and not risky else "")


def _rocm_reasons(facts: Facts, kind: str, card: Mapping[str, Any], name: str, gfx: str) -> Iterator[str]:
    route = "AMD's wheels for this device" if facts.value("setup.rocm.route") == "amd" else "PyTorch's ROCm wheels"
    yield f"{name} ({gfx}) is served by {route}"
    override = facts.value("setup.rocm.override")
    if override:
        yield f"they need HSA_OVERRIDE_GFX_VERSION={override} for it, which the plan sets"
    if facts.value("setup.amd.kernel_ok") is False:
        yield f"kernel {facts.value('kernel.release')} is too old for it: {facts.value('setup.amd.kernel_min')} or newer comes first"
    elif kind == "linux" and _text(card, "driver") == "amdgpu":
        yield f"its kernel driver amdgpu is at work (kernel {facts.value('kernel.release')})"
    yield from _closed(facts, "amd", "start it with --device /dev/kfd --device /dev/dri")


# Intel


def _intel(facts: Facts, purpose: str, kind: str, card: Mapping[str, Any]) -> Iterator[Thought]:
    name, generation = _named(card), _text(card, "generation")
    discrete = card.get("kind") == "discrete"
    shown = f"{name} ({generation})" if generation and generation not in name else name
    served = facts.value("setup.intel.served_by_torch")
    no_driver = facts.value("setup.intel.level_zero_offered") is False and kind not in ("windows",)
    too_old = facts.value("setup.intel.kernel_ok") is False and facts.value("setup.intel.kernel_reachable") is False and kind == "linux"
    if served is False:
        yield Against("torch-xpu", f"PyTorch's XPU build was never meant for {shown}")
    elif no_driver:
        yield Against("torch-xpu", f"{facts.value('os.name', 'this system')} offers no Level Zero driver, and PyTorch needs it")
    elif too_old:
        yield Against(
            "torch-xpu",
            f"{shown} needs Linux {facts.value('setup.intel.kernel_wanted')}, and this distribution goes to "
            f"{facts.value('setup.intel.kernel_offered')} only: upgrade the distribution first",
        )
    else:
        yield Idea(
            name="torch-xpu", rank=85 if discrete else 50, device=name, reasons=tuple(_xpu_reasons(facts, kind, shown)),
            second="OpenVINO is made for running models" if purpose == INFERENCE else "the other device is the stronger one",
        )  # fmt: skip
    yield from _ipex(facts, name, shown, served is not False)
    yield Idea(
        name="openvino", rank={INFERENCE: 98, ANY: 25}.get(purpose, 5), device=name,
        reasons=(f"OpenVINO runs models on {shown} and on the processor, with Intel's OpenCL driver alone",),
        second="it runs models, and trains none",
    )  # fmt: skip
    if facts.value("setup.onnxruntime.provider") == "openvino":
        yield _onnxruntime(purpose, 88, name, f"ONNX Runtime's OpenVINO provider serves {name}")
    if kind in ("windows", "wsl2"):
        yield from _directml(facts, kind, name, "torch-xpu" if served is not False else "")


def _ipex(facts: Facts, name: str, shown: str, replaced: bool) -> Iterator[Thought]:
    archived = "Intel archived it on 2026-03-30 with known security issues"
    if replaced or facts.value("setup.ipex.serves") is not True:
        yield Against("ipex", f"{archived}; PyTorch's own XPU build (torch-xpu) replaces it" if replaced else archived)
    else:
        reasons = (f"IPEX {facts.value('setup.ipex.release', '')} trains on {shown}, and nothing newer does", archived)
        yield Idea(name="ipex", rank=22, device=name, reasons=reasons, second="it is archived")


def _xpu_reasons(facts: Facts, kind: str, shown: str) -> Iterator[str]:
    yield f"{shown} is served by PyTorch's own XPU build, which brings its oneAPI along"
    kernel, wanted = facts.value("kernel.release"), facts.value("setup.intel.kernel_wanted")
    if kind == "linux" and facts.value("setup.intel.kernel_ok") is False:
        package = facts.value("setup.intel.kernel_package")
        yield f"kernel {kernel} is older than {wanted}, which drives it: the plan begins with {package or 'a newer kernel'}"
    elif kind == "linux" and facts.value("setup.intel.kernel_ok") is True:
        yield f"kernel {kernel} drives it" + (f" ({wanted} or newer does)" if wanted else "")
    elif kind in ("wsl2", "windows"):
        driver = facts.value("windows.driver.intel")
        yield f"the driver of Windows{f' ({driver})' if driver else ''} serves it{' in WSL2 too' if kind == 'wsl2' else ''}"
    if facts.value("setup.intel.small_bar") is True:
        yield "Resizable BAR is off: switch it on in the BIOS, the card is slow or fails without it"
    yield from _closed(facts, "intel", "start it with --device /dev/dri")


# Others


def _apple(facts: Facts, purpose: str, kind: str, card: Mapping[str, Any]) -> Iterator[Thought]:
    name = _named(card)
    version = str(facts.value("os.version") or "")
    if _older(version, (12, 3)):
        yield Against("mps", f"macOS {version} is too old for PyTorch on Apple's GPU: it needs 12.3")
        return
    reasons = [f"{name} is served by the ordinary macOS wheels of torch (mps); nothing else is needed"]
    if facts.value("macos.rosetta") is True or facts.value("python.rosetta") is True:
        reasons.append("before that: a Python for Apple silicon (from python.org, Homebrew in /opt/homebrew, or uv)")
        yield Against("the Python here", "it is one for Intel processors, translated by Rosetta: the GPU cannot be reached from it")
    yield Idea(name="mps", rank=95, device=name, reasons=tuple(reasons), second="it trains, where running models is enough")


def _older(version: str, than: tuple[int, int]) -> bool:
    parts = version.split(".")
    return len(parts) > 1 and all(part.isdigit() for part in parts[:2]) and (int(parts[0]), int(parts[1])) < than


def _graphcore(facts: Facts, purpose: str) -> Iterator[Thought]:
    if purpose not in _TORCH:
        return
    sdk = facts.value("poplar.sdk.version")
    reasons = ["IPUs are here" + (f", and the Poplar SDK {sdk}" if sdk else "; the Poplar SDK must be in your hands, no index has it")]
    reasons.append("Poplar is a frozen stack: it brings the torch that its SDK was built for")
    yield Idea(name="poplar", rank=93, device="Graphcore IPU", reasons=tuple(reasons), second="the GPU beside it has the living stack")


def _directml(facts: Facts, kind: str, name: str, better: str) -> Iterator[Thought]:
    if kind == "wsl2" and facts.value("wsl.conf.gpu") is False:
        yield Against("directml", "/etc/wsl.conf switches the GPU off")
        return
    state = "torch-directml stands still: torch 2.4.1, Python 3.12 at most, no new features since July 2025"
    if better:
        yield Against("directml", f"{state}; {better} serves this card")
    reasons = (f"DirectML serves {name} through the driver of Windows", f"but {state}")
    yield Idea(name="directml", rank=35, device=name, reasons=reasons, second="it is in maintenance only")


def _opencl_torch(name: str, rank: int, reason: str) -> Idea:
    return Idea(
        name="torch-opencl", rank=rank, device=name, reasons=(reason, "pytorch_ocl covers the common convolutional networks"),
        second="it knows fewer operators, and is slower",
    )  # fmt: skip


def _onnxruntime(purpose: str, rank: int, device: str, reason: str) -> Idea:
    wanted = purpose in (INFERENCE, ONNX)
    otherwise = 20 if purpose == ANY and rank > _ON_THE_PROCESSOR else 4
    return Idea(
        name="onnxruntime", rank=rank if wanted else otherwise, device=device, reasons=(reason,), second="it runs models, and trains none"
    )


def _tensorflow(facts: Facts, purpose: str, kind: str, cards: list[Mapping[str, Any]]) -> Iterator[Thought]:
    if purpose != TENSORFLOW:
        return
    of_nvidia = [card for card in cards if card.get("vendor") == "nvidia"]
    nvidia = _strongest(of_nvidia) if of_nvidia else None
    if nvidia is not None and kind in ("linux", "wsl2", "container"):
        reasons = (f"TensorFlow's wheels bring their CUDA along and serve {_named(nvidia)}", *_nvidia_driver(facts, kind))
        yield Idea(name="tensorflow", rank=100, device=_named(nvidia), reasons=reasons)
        return
    if nvidia is not None and kind == "windows":
        yield Against("TensorFlow on the GPU in Windows", "there are no such wheels since 2.11; in WSL2 there are")
    if kind in ("windows", "wsl2"):
        yield Against("directml", "Microsoft discontinued TensorFlow's DirectML plug-in; it takes TensorFlow 2.10 on Python 3.10 at most")
    yield Idea(name="tensorflow", rank=50, device="processor", reasons=("TensorFlow on the processor",))


def _processor(facts: Facts, purpose: str, kind: str) -> Iterator[Thought]:
    model = str(facts.value("cpu.model") or "the processor")
    seen = facts.value("gpu.vendors")
    none = "no GPU is on the bus" if seen == [] else "whether there is a GPU could not be seen" if seen is None else f"it runs on {model}"
    if kind != "wsl1" and purpose in _TORCH:
        yield Idea(
            name="openvino", rank=30 if purpose == INFERENCE else 5, device=model,
            reasons=(none, f"OpenVINO runs models on {model} without any driver"), second="it runs models, and trains none",
        )  # fmt: skip
    yield _onnxruntime(purpose, _ON_THE_PROCESSOR, model, f"ONNX Runtime runs models on {model}")
    if purpose in _TORCH:
        reasons = (none, "PyTorch's CPU build is a small download and needs no driver")
        yield Idea(name="cpu", rank=10, device=model, reasons=reasons, second="it needs no device, and is many times slower than one")
