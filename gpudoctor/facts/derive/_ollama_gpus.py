"""What Ollama can do with each GPU: which of its libraries serves it, and what keeps the service from the card.

The rules are those of discover/runner.go, discover/cuda_compat.go and discover/amd.go of https://github.com/ollama/ollama.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpudoctor.facts.derive import _rocm_wheels as wheels
from gpudoctor.facts.derive._versions import older
from gpudoctor.facts.derive.cuda import floor_of
from gpudoctor.model.facts import Facts, Unknown

UNSAID = Unknown("not recorded")
VULKAN_BY_DEFAULT = "0.30.0"
"""The first version that asks Vulkan without being asked to, and that leaves integrated GPUs out."""
DRIVER_550 = "0.30.11"
"""The first version that demands driver 550 for cuda_v12, and 570 for cards before Volta."""
_FALSE = ("0", "f", "false")
OWN = {"nvidia": "cuda", "amd": "rocm"}
"""The backend that is a vendor's own. The GPUs of all other vendors are reached through Vulkan."""


def vulkan_open(facts: Facts, env: Mapping[str, str]) -> bool | Unknown:
    """Whether Ollama asks Vulkan for devices: its library is there, and no variable
    excludes it. Before 0.30 a variable had to ask for it."""
    runners, version = facts.value("ollama.runners"), facts.value("ollama.version")
    if runners is None:
        return UNSAID
    if not any(runner["backend"] == "vulkan" for runner in runners):
        return False
    said = env.get("OLLAMA_VULKAN", "").lower()
    if said in _FALSE or env.get("GGML_VK_VISIBLE_DEVICES", "").strip() == "-1":
        return False
    if version is None:
        return UNSAID
    return bool(said) or not older(version, VULKAN_BY_DEFAULT)


def closed_by(unit: Mapping[str, Any], vendor: str) -> str | None:
    """The setting of the systemd unit that keeps device nodes of this vendor from the service; None where none does."""
    if unit.get("private_devices"):
        return "PrivateDevices=yes"
    allowed = " ".join(unit.get("devices_allowed") or [])
    words = ("nvidia",) if vendor == "nvidia" else ("drm", "dri", "kfd")
    if unit.get("device_policy") in ("closed", "strict") and not any(word in allowed for word in words):
        return f"DevicePolicy={unit['device_policy']}"
    return None


def _open_to_all(mode: Any) -> bool:
    return isinstance(mode, str) and mode[7:9] == "rw"


def missing_group(gpu: Mapping[str, Any], facts: Facts, rocm: bool) -> str | Unknown | None:
    """The group that owns a node of the card and of which the service is no member; None where the service may open the nodes."""
    groups, user = facts.value("ollama.service.groups"), facts.value("ollama.service.user")
    if user == "root" or gpu.get("vendor") == "nvidia":  # NVIDIA's nodes are open to everybody
        return None
    if groups is None:
        return UNSAID
    nodes = [(gpu.get("node_group"), gpu.get("node_mode"))]
    if rocm:
        nodes.append((facts.value("amd.kfd.group"), facts.value("amd.kfd.mode")))
    if not any(isinstance(group, str) for group, _ in nodes):
        return UNSAID
    return next((group for group, mode in nodes if isinstance(group, str) and not _open_to_all(mode) and group not in groups), None)


def _floor(major: int, capability: str, facts: Facts) -> str:
    """The oldest NVIDIA driver that Ollama accepts for its folder cuda_v<major>."""
    if major == 12 and facts.known("ollama.version") and not older(facts.value("ollama.version"), DRIVER_550):
        return "570" if older(capability, "7.0") else "550"
    return floor_of(str(major), facts.value("platform.kind")) or "0"


def cuda_folder(gpu: Mapping[str, Any], folders: list[str], facts: Facts) -> dict[str, Any]:
    """The CUDA folder that serves the card (`runner`); where none does, the driver that would (`driver_wanted`) or that the card is too
    old (`card_too_old`)."""
    capability, driver = gpu.get("compute_capability"), facts.value("nvidia.in_use")
    plain = [folder for folder in folders if "jetpack" not in folder]
    numbered = sorted((int(match[1]), folder) for folder in plain if (match := re.search(r"cuda_v(\d+)", folder)))
    if not numbered:  # a distribution's own build, or a Jetson: no table says what it was built for
        return {"runner": folders[0] if folders else None, "driver_wanted": None, "card_too_old": False}
    if not isinstance(capability, str):
        return {"runner": UNSAID, "driver_wanted": UNSAID, "card_too_old": UNSAID}
    fitting = [(major, folder) for major, folder in numbered if major < 13 or not older(capability, "7.5")]
    if not fitting or len(plain) > len(numbered):
        return {"runner": None if not fitting else UNSAID, "driver_wanted": None, "card_too_old": not fitting}
    if driver is None:
        return {"runner": UNSAID, "driver_wanted": UNSAID, "card_too_old": False}
    reached = [folder for major, folder in fitting if not older(str(driver), _floor(major, capability, facts))]
    wanted = None if reached else min((_floor(major, capability, facts) for major, _ in fitting), key=lambda text: int(text.split(".")[0]))
    return {"runner": reached[-1] if reached else None, "driver_wanted": wanted, "card_too_old": False}


def rocm_targets(gpu: Mapping[str, Any], facts: Facts, env: Mapping[str, str]) -> dict[str, Any]:
    """Whether the kernels of Ollama's rocBLAS serve the card, by its own target and under an override (fields of ollama.gpus)."""
    targets, gfx = facts.value("ollama.rocm_targets"), gpu.get("gfx")
    override = env.get("HSA_OVERRIDE_GFX_VERSION", "").strip()
    pretends = wheels.pretended(override) if override else None
    wanted = wheels.target(gfx).get("override") if isinstance(gfx, str) else None
    shown = pretends or gfx
    return {
        "native": gfx in targets if targets and isinstance(gfx, str) else UNSAID,
        "served": shown in targets if targets and isinstance(shown, str) else UNSAID,
        "pretends": pretends, "override": wanted or None,
        "override_helps": wheels.pretended(wanted) in targets if wanted and targets else False,
        "override_wrong": pretends[:-2] != gfx[:-2] if pretends and isinstance(gfx, str) else (False if not pretends else UNSAID),
    }  # fmt: skip
