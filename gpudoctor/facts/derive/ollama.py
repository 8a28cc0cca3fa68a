"""Ollama: for each GPU which of its libraries serves it, whether the service reaches it, and whether its log lists it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpudoctor.facts.derive import _ollama_gpus as rules
from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._ollama_gpus import UNSAID
from gpudoctor.facts.derive._versions import older
from gpudoctor.facts.derive._visible_devices import beside_a_card, hiding_variable
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Incomplete, Known, Unknown

_MAKERS = ("nvidia", "amd", "intel", "apple")
_UNUSED = ("OLLAMA_NUM_GPU", "OLLAMA_INTEL_GPU")
"""Variables that people set although no version since 0.12.11 reads them."""
_BIG_IGPU = ("gfx1151",)
"""Targets of integrated GPUs that Ollama uses all the same."""
_OF_SHELL = ("HSA_OVERRIDE_GFX_VERSION", "OLLAMA_VULKAN", "OLLAMA_IGPU_ENABLE", "OLLAMA_LLM_LIBRARY")


def _listed(gpu: Mapping[str, Any], devices: list[dict[str, Any]] | None, alone: bool) -> bool:
    """Whether the log lists this GPU: by its PCI address, else by its vendor where that has a single GPU here."""
    address = str(gpu.get("address")).lower()
    if any(str(device.get("address") or "").lower() == address for device in devices or []):
        return True
    nameless = [device for device in devices or [] if not device.get("address")]
    return alone and any(device.get("vendor") in (gpu.get("vendor"), "other") for device in nameless)


def _runner(gpu: Mapping[str, Any], facts: Facts, env: Mapping[str, str], vulkan: bool | Unknown) -> dict[str, Any]:
    runners, vendor = facts.value("ollama.runners"), str(gpu["vendor"])
    own = rules.OWN.get(vendor, "")
    folders = [str(runner["folder"] or runner["backend"]) for runner in runners or [] if runner["backend"] == own]
    found: dict[str, Any] = {"library": UNSAID if runners is None else bool(folders), "driver_wanted": None, "card_too_old": False}
    rocm = rules.rocm_targets(gpu, facts, env) if vendor == "amd" else {}
    if vendor == "nvidia" and folders:
        found |= rules.cuda_folder(gpu, folders, facts)
    elif vendor == "amd" and folders:
        found["runner"] = folders[-1] if rocm["served"] is True else None if rocm["served"] is False else UNSAID
    else:
        found["runner"] = "metal" if vendor == "apple" else UNSAID if runners is None else None
    if found["runner"] is None and vulkan is not False:
        found["runner"] = "vulkan" if vulkan is True else UNSAID
    return {**found, **rocm}


def _integrated_out(gpu: Mapping[str, Any], facts: Facts, env: Mapping[str, str]) -> bool | Unknown:
    """Whether Ollama leaves this GPU out since it is integrated: 0.30 and later do, except for NVIDIA's and for _BIG_IGPU."""
    version = facts.value("ollama.version")
    if gpu.get("kind") != "integrated" or gpu.get("vendor") in ("nvidia", "apple") or gpu.get("gfx") in _BIG_IGPU:
        return False
    return UNSAID if version is None else not older(version, rules.VULKAN_BY_DEFAULT) and "OLLAMA_IGPU_ENABLE" not in env


def _gpus(facts: Facts, env: Mapping[str, str], whole: bool) -> list[dict[str, Any]]:
    physical = [gpu for gpu in facts.value("gpus", []) if isinstance(gpu, dict) and gpu.get("vendor") in _MAKERS]
    unit = {name: facts.value(f"ollama.service.{name}") for name in ("private_devices", "device_policy", "devices_allowed")}
    vulkan = rules.vulkan_open(facts, env)
    records = []
    for gpu in physical:
        vendor = str(gpu["vendor"])
        count = sum(other["vendor"] == vendor for other in physical)
        runner = _runner(gpu, facts, env, vulkan)
        hidden = hiding_variable(vendor, env, count if vendor in rules.OWN else 10**6)
        closed = rules.closed_by(unit, vendor)
        rocm = vendor == "amd" and runner["library"] is True
        group = rules.missing_group(gpu, facts, rocm) if facts.known("ollama.service") else None
        records.append({
            "address": gpu.get("address"), "name": gpu.get("name"), "vendor": vendor, "kind": gpu.get("kind", UNSAID),
            "driver": gpu.get("driver", UNSAID), "gfx": gpu.get("gfx"), "capability": gpu.get("compute_capability"),
            "node": gpu.get("node"), "main": not beside_a_card(gpu, physical), "vulkan": vulkan, "closed": closed,
            "group": group, "hidden": hidden if whole or hidden else UNSAID, "integrated_out": _integrated_out(gpu, facts, env),
            "listed": _listed(gpu, facts.value("ollama.devices"), count == 1), "open": _opens(gpu, facts, closed, group),
            "native": None, "served": None, "pretends": None, "override": None, "override_helps": False, "override_wrong": False, **runner,
        })  # fmt: skip
    return records


def _opens(gpu: Mapping[str, Any], facts: Facts, closed: str | None, group: Any) -> Any:
    """Whether the service, or this user where there is no service, may open the nodes of the card."""
    if closed or isinstance(group, str):
        return False
    if facts.value("platform.kind") in ("windows", "macos"):
        return True
    if gpu.get("vendor") in (facts.value("container.closed_vendors") or ()):
        return False
    return (True if group is None else group) if facts.known("ollama.service") else gpu.get("access", UNSAID)


def _only_in_shell(facts: Facts, env: Mapping[str, str], whole: bool) -> Fact:
    """The first variable of _OF_SHELL that this shell sets and the service does not have."""
    if not facts.known("ollama.service") or not facts.known("env") or not whole:
        return UNSAID
    found = [name for name in _OF_SHELL if facts.known(f"env.{name}") and name not in env]
    return Known(found[0], "env") if found else Absent("env")


def _requested(facts: Facts, env: Mapping[str, str]) -> Fact:
    """The library that OLLAMA_LLM_LIBRARY names although there is no such folder: Ollama then takes no GPU library at all."""
    name, runners = env.get("OLLAMA_LLM_LIBRARY", "").strip("\"' "), facts.value("ollama.runners")
    if not name or name.startswith("mlx_"):
        return Absent("ollama.env")
    if not runners or not any(runner["folder"] for runner in runners):
        return UNSAID
    return Absent("ollama.runners") if any(runner["folder"] == name for runner in runners) else Known(name, "OLLAMA_LLM_LIBRARY")


def derive(facts: Facts) -> Iterable[tuple[str, Fact]]:
    if facts.value("ollama.here") is not True:
        return
    env = facts.value("ollama.env") or {}
    whole = facts.known("ollama.env") and not isinstance(env, Incomplete)
    yield "ollama.gpus", Known(_gpus(facts, env, whole), "gpus") if facts.known("gpus") else UNSAID
    yield "ollama.only_in_shell", _only_in_shell(facts, env, whole)
    yield "ollama.library_requested", _requested(facts, env)
    unused = [name for name in _UNUSED if name in env]
    yield "ollama.variable_unused", Known(unused[0], "ollama.env") if unused else (Absent("ollama.env") if whole else UNSAID)
    runners = facts.value("ollama.runners")
    folders = sorted({str(runner["folder"] or runner["backend"]) for runner in runners or []})
    yield "ollama.backends", UNSAID if runners is None else Known(folders, "ollama.runners")
    devices = facts.value("ollama.devices")
    reason = facts.get("ollama.devices")
    unknown = reason if isinstance(reason, Unknown) else UNSAID
    names = [f"{device['name']} ({device['folder'] or device['library']})" for device in devices or []]
    yield "ollama.names", unknown if devices is None else Known(names, "ollama.devices")


DERIVATION = Derivation(
    name="ollama",
    provides=(
        FactSpec(
            "ollama.gpus", "records", "GPUs and what ollama can do with them", item="ollama_gpu",
            fields={
                "address": "PCI address", "name": "name", "vendor": "maker", "kind": "discrete, integrated …", "driver": "kernel driver",
                "gfx": "AMD target", "capability": "compute capability", "node": "render node",
                "main": "not an integrated GPU beside a card",
                "library": "the libraries of its maker's own backend are there", "runner": "the folder that serves it; absent: none",
                "vulkan": "ollama asks Vulkan", "driver_wanted": "oldest driver for its CUDA libraries; absent where the driver reaches it",
                "card_too_old": "the CUDA libraries that are there are for newer cards", "group": "group that the service lacks",
                "closed": "setting of the unit that hides the node", "open": "the service may open the node",
                "hidden": "variable of the service that hides it", "integrated_out": "left out as it is integrated",
                "listed": "its log lists it; false also where that was not read", "native": "ROCm libraries hold kernels for the target",
                "served": "and for the target that is shown, override included", "pretends": "target that the override shows",
                "override": "the known override", "override_helps": "kernels for what it shows are there",
                "override_wrong": "the set override shows another generation",
            },
        ),
        FactSpec("ollama.only_in_shell", "text", "a variable that this shell has and the service has not"),
        FactSpec("ollama.library_requested", "text", "the library that OLLAMA_LLM_LIBRARY asks for and that is not there"),
        FactSpec("ollama.variable_unused", "text", "a variable of the service that ollama does not read"),
        FactSpec("ollama.backends", "list", "folders of its GPU libraries"),
        FactSpec("ollama.names", "list", "devices that it lists, with the library"),
    ),
    derive=derive,
)  # fmt: skip
