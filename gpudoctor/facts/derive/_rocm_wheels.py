"""Answers of the ROCm tables: which targets a wheel serves, which target an override pretends, which index holds a torch release."""

from __future__ import annotations

import re
from typing import Any

from gpudoctor.facts.derive._tables import table
from gpudoctor.facts.derive._versions import older
from gpudoctor.model.facts import Unknown


def target(gfx: str) -> dict[str, Any]:
    """The row of rocm-gfx.toml for a target; empty for a target that the table does not hold."""
    for row in table("rocm-gfx")["target"]:
        if gfx in row["gfx"]:
            return dict(row)
    return {}


def pretended(override: str) -> str | None:
    """The target that a value of HSA_OVERRIDE_GFX_VERSION names, gfx1030 for 10.3.0; None for a value of another form."""
    match = re.fullmatch(r"(\d{1,2})\.(\d{1,2})\.(\d{1,2})", override.strip())
    return f"gfx{match[1]}{int(match[2]):x}{int(match[3]):x}" if match else None


def line(version: str) -> str:
    """The line that a ROCm release belongs to: '6.2' of '6.2.4'."""
    return ".".join(version.split(".")[:2])


def covers(rocm: str, gfx: str, device_packages: list[str]) -> bool | Unknown:
    """Whether the torch wheel that was built for this ROCm holds kernels for this target. `device_packages`: installed distributions with
    kernels for single targets, as AMD splits them since 7.0; any of them decides alone."""
    data = table("rocm-torch")
    if device_packages:
        return any(gfx in name or name.endswith("-all") for name in device_packages) or Unknown("not recorded")
    if not older(rocm, data["per_device_from"]):
        return Unknown("not recorded")
    for row in data["wheel"]:
        if line(rocm) in row["rocm"]:
            if gfx in row.get("unsure", ()):
                return Unknown("conflicting")
            return gfx in row["gfx"]
    return Unknown("not recorded")


def index_for(torch_base: str | None, gfx: str | None) -> str:
    """The address of the newest ROCm index of PyTorch that holds this torch release, preferring one whose wheels serve the target."""
    data = table("rocm-torch")
    lines: list[str] = data["index"].get(line(torch_base or ""), [])
    serving = [rocm for rocm in lines if gfx and covers(rocm, gfx, []) is True]
    chosen = (serving or lines or [data["newest"]])[0]
    return f"https://download.pytorch.org/whl/rocm{chosen}"


def first_index(gfx: str) -> tuple[str, str] | None:
    """(torch, ROCm) of the oldest PyTorch release whose own wheels serve the target; None where there is none."""
    for torch, lines in table("rocm-torch")["index"].items():
        for rocm in lines:
            if covers(rocm, gfx, []) is True:
                return torch, rocm
    return None
