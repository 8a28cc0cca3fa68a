"""ComfyUI: whether the torch of its interpreter serves the card, the options of its start scripts, and the demands of custom nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._pythons import in_range
from gpudoctor.facts.derive._visible_devices import is_card
from gpudoctor.facts.derive.python_mix import demand_fails, mismatches
from gpudoctor.facts.derive.torch_build import base_version, classify, one_version
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.rules.versions import compare_dotted, dotted

_UNSAID = Unknown("not recorded")
_BUILDS = {"nvidia": "cuda", "amd": "rocm", "intel": "xpu"}
_TORCH = ("torch", "torchvision", "torchaudio")
_ONE_ONLY = (
    ("--gpu-only", "--highvram", "--normalvram", "--lowvram", "--novram", "--cpu"),
    ("--cuda-malloc", "--disable-cuda-malloc"),
    ("--force-fp32", "--force-fp16"),
    ("--fp16-vae", "--fp32-vae", "--bf16-vae"),
    ("--use-split-cross-attention", "--use-quad-cross-attention", "--use-pytorch-cross-attention", "--use-sage-attention",
     "--use-flash-attention"),
)  # fmt: skip
"""Groups of options of which main.py accepts one: comfy/cli_args.py of https://github.com/comfyanonymous/ComfyUI."""
_BUNDLED = "run_cpu.bat"
"""The script of the portable package that starts ComfyUI on the processor; it lies beside those for GPUs."""
_LARGE = 16 * 10**9
"""Bytes of memory from which on a card needs none of the options that save memory."""


def _starts(facts: Facts) -> list[Mapping[str, Any]]:
    """The start scripts that count: _BUNDLED does only where there is no other."""
    records = [each for each in facts.value("comfyui.starts", []) if isinstance(each, Mapping)]
    return [each for each in records if each.get("name") != _BUNDLED] or records


def contradiction(flags: Iterable[str]) -> str:
    """'--lowvram and --cpu' for two options that main.py does not accept together; '' where there are none."""
    given = set(flags)
    for group in _ONE_ONLY:
        both = [flag for flag in group if flag in given]
        if len(both) > 1:
            return " and ".join(both[:2])
    return ""


def _driven(gpu: Mapping[str, Any]) -> bool:
    """Whether the GPU has a driver that can compute. Windows gives no name of the driver but its version."""
    driver = gpu.get("driver")
    return not re.match(r"vfio|pci-stub|nouveau", driver) if isinstance(driver, str) else isinstance(gpu.get("driver_version"), str)


def _card(facts: Facts) -> Mapping[str, Any]:
    """The card that ComfyUI would compute on: one with memory of its own and a driver, NVIDIA's before AMD's and Intel's; empty for
    none."""
    cards = [
        gpu for gpu in facts.value("gpus", [])
        if is_card(gpu) and gpu.get("vendor") in _BUILDS
        and _driven(gpu)
    ]  # fmt: skip
    return min(cards, key=lambda gpu: list(_BUILDS).index(str(gpu["vendor"])), default={})


def _card_facts(facts: Facts) -> Iterable[tuple[str, Fact]]:
    card = _card(facts)
    for name, field in (("comfyui.card", "name"), ("comfyui.card_vendor", "vendor")):
        if card:
            yield name, Known(str(card.get(field)), "gpus")
        else:
            yield name, _UNSAID if isinstance(facts.get("gpus"), Unknown) else Absent("gpus")


def _torch(facts: Facts, names: dict[str, Any]) -> Iterable[tuple[str, Fact]]:
    torch = one_version(names.get("torch"))
    if not torch:
        yield "comfyui.torch.version", Absent("comfyui.distributions")
        yield "comfyui.torch.serves_card", _UNSAID
        return
    platform, machine = str(facts.value("platform.kind") or ""), str(facts.value("platform.machine") or "")
    said = facts.value("comfyui.torch_file")
    build = classify(torch, names, said if isinstance(said, dict) else None, platform, machine)[0]
    yield "comfyui.torch.version", Known(torch, "comfyui.distributions")
    yield "comfyui.torch.build", Known(build, "comfyui.distributions") if build else _UNSAID
    card = _card(facts)
    wanted = _BUILDS.get(str(card.get("vendor")), "")
    comparable = bool(wanted) and build in ("cpu", *_BUILDS.values())
    yield "comfyui.torch.serves_card", Known(build == wanted, "gpus") if comparable else _UNSAID
    wrong = mismatches(names, (), torch, "")
    partner = f"{wrong[0]['package']} {wrong[0]['version']}" if wrong else ""
    yield "comfyui.partner_wrong", Known(partner, "python-partners") if partner else Absent("python-partners")
    numbers = dotted(torch)
    yield "comfyui.torch.old", Known(compare_dotted(numbers, (2, 4)) < 0, "README") if numbers else _UNSAID


def _nodes(facts: Facts, torch: str) -> Iterable[tuple[str, Fact]]:
    records = facts.value("comfyui.nodes")
    if records is None:
        return
    naming = sorted({str(each["node"]) for each in records if each["package"] in _TORCH})
    yield "comfyui.nodes_with_torch", Known(naming, "comfyui.nodes") if naming else Absent("comfyui.nodes")
    base = base_version(torch)
    pins = [
        {"node": each["node"], "demand": f"torch{each['demand']}", "other": other} for each in records
        if each["package"] == "torch" and (other := demand_fails(str(each["demand"] or ""), base)) is not None
    ]  # fmt: skip
    yield "comfyui.torch_pins", Known(pins, "comfyui.nodes")


def _start_facts(facts: Facts, names: Mapping[str, Any] | None) -> Iterable[tuple[str, Fact]]:
    starts = _starts(facts)
    every = [list(each.get("flags") or ()) for each in starts]
    yield "comfyui.starts_on_cpu", Known(bool(every) and all("--cpu" in flags for flags in every), "comfyui.starts")
    clash = next((f"{each.get('name')}: {both}" for each in starts if (both := contradiction(each.get("flags") or ()))), "")
    yield "comfyui.start_contradiction", Known(clash, "comfyui.starts") if clash else Absent("comfyui.starts")
    directml = next((str(each.get("name")) for each in starts if "--directml" in (each.get("flags") or ())), "")
    yield "comfyui.directml_start", Known(directml, "comfyui.starts") if directml else Absent("comfyui.starts")
    missing = bool(directml) and "torch-directml" not in (names or {})
    yield "comfyui.directml_missing", Known(missing, "comfyui.starts") if names is not None else _UNSAID
    saving = next((flag for flag in ("--novram", "--lowvram") if every and all(flag in flags for flags in every)), "")
    yield "comfyui.saves_memory", Known(saving, "comfyui.starts") if saving else Absent("comfyui.starts")


def _large_card(facts: Facts) -> Fact:
    address, records = _card(facts).get("address"), facts.value("gpu_memory", [])
    sizes = [each.get("usable_bytes") for each in records if isinstance(each, Mapping) and each.get("address") == address]
    return Known(sizes[0] >= _LARGE, "gpu_memory") if sizes and isinstance(sizes[0], int) else _UNSAID


def _frontend(facts: Facts, names: Mapping[str, Any] | None) -> Iterable[tuple[str, Fact]]:
    wanted = facts.value("comfyui.frontend_wanted")
    if names is None or not isinstance(wanted, str):
        yield "comfyui.frontend", _UNSAID
        yield "comfyui.frontend_old", _UNSAID
        return
    here = one_version(names.get("comfyui-frontend-package"))
    mine, its = dotted(here), dotted(wanted)
    yield "comfyui.frontend", Known(here, "comfyui.distributions") if here else Absent("comfyui.distributions")
    yield "comfyui.frontend_old", Known(compare_dotted(mine, its) < 0, "requirements.txt") if mine and its else _UNSAID


def derive(facts: Facts) -> Iterable[tuple[str, Fact]]:
    if not facts.value("comfyui.folder"):
        return
    names = facts.value("comfyui.distributions" if facts.known("comfyui.prefix") else "python.distributions")
    own, shell = facts.value("comfyui.prefix"), facts.value("python.prefix")
    yield "comfyui.shell_is_other", Known(own != shell, "comfyui.prefix") if own and shell else _UNSAID
    yield "comfyui.python_fits", in_range(facts, "comfyui.python_version", "comfyui.requires_python", "pyproject.toml")
    yield from _card_facts(facts)
    if isinstance(names, dict):
        yield from _torch(facts, names)
        clash = [name for name in ("onnxruntime", "onnxruntime-gpu", "onnxruntime-directml") if name in names]
        yield "comfyui.onnxruntimes", Known(clash, "comfyui.distributions")
        yield from _nodes(facts, one_version(names.get("torch")))
    yield from _start_facts(facts, names if isinstance(names, dict) else None)
    yield from _frontend(facts, names if isinstance(names, dict) else None)
    yield "comfyui.large_card", _large_card(facts)


DERIVATION = Derivation(
    "comfyui",
    (
        FactSpec("comfyui.shell_is_other", "bool", "this shell's Python is another than the one that starts ComfyUI"),
        FactSpec("comfyui.python_fits", "bool", "its interpreter is among the Pythons that its pyproject.toml names"),
        FactSpec("comfyui.torch.version", "version", "torch in the interpreter that starts ComfyUI"),
        FactSpec("comfyui.torch.build", "text", "cpu, cuda, rocm, xpu or directml"),
        FactSpec("comfyui.torch.serves_card", "bool", "that torch is built for the card here"),
        FactSpec("comfyui.torch.old", "bool", "it is older than the oldest that ComfyUI supports"),
        FactSpec("comfyui.card", "text", "the card that ComfyUI could use"),
        FactSpec("comfyui.card_vendor", "text", "its vendor"),
        FactSpec("comfyui.partner_wrong", "text", "torchvision, torchaudio or xformers that belongs to another torch"),
        FactSpec("comfyui.onnxruntimes", "list", "onnxruntime wheels in that interpreter: they fill one folder"),
        FactSpec("comfyui.nodes_with_torch", "list", "custom nodes whose requirements name torch"),
        FactSpec("comfyui.torch_pins", "records", "custom nodes that pin a torch", item="comfy_pin", fields={
            "node": "folder of the custom node", "demand": "what it demands", "other": "another torch than the one here",
        }),
        FactSpec("comfyui.starts_on_cpu", "bool", "every start script gives --cpu"),
        FactSpec("comfyui.start_contradiction", "text", "a start script and two options that exclude each other"),
        FactSpec("comfyui.directml_start", "text", "a start script that gives --directml"),
        FactSpec("comfyui.directml_missing", "bool", "torch-directml is not installed although a script asks for it"),
        FactSpec("comfyui.saves_memory", "text", "--lowvram or --novram, where every start script gives it"),
        FactSpec("comfyui.large_card", "bool", "the card has 16 GB or more"),
        FactSpec("comfyui.frontend", "dotted", "comfyui-frontend-package in that interpreter"),
        FactSpec("comfyui.frontend_old", "bool", "it is older than what requirements.txt pins"),
    ),
    derive,
)  # fmt: skip
