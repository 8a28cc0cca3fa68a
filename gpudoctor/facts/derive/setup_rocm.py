"""The ROCm build of torch that a setup installs: AMD's wheels per device, or PyTorch's own, if need be under an override."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpudoctor.facts.derive import _rocm_wheels as wheels
from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._setup import asked_torch, between, release_of, specifier
from gpudoctor.facts.derive._tables import table
from gpudoctor.facts.derive._versions import numbers, older
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known

_SYSTEMS = {"windows": ("windows", "unsure_windows"), "wsl2": ("wsl",)}


def amd_serves(gfx: str, platform: Any) -> bool:
    data = table("setup-rocm")
    return any(gfx in data[name] for name in _SYSTEMS.get(platform, ("linux",)))


def _amd_has(asked: str | None) -> bool:
    return asked is None or any(numbers(row["torch"]) == numbers(asked)[:2] for row in table("setup-rocm")["release"])


def _own(gfx: str, asked: str | None) -> tuple[str, str, str | None] | None:
    """(torch, ROCm, override) of PyTorch's own wheels: the override is None where they hold the target itself. None where no wheel
    serves."""
    indices: dict[str, list[str]] = table("rocm-torch")["index"]
    releases = [".".join(map(str, numbers(asked)[:2]))] if asked else list(reversed(indices))
    override, last = wheels.target(gfx).get("override"), wheels.target(gfx).get("last")
    shown = wheels.pretended(str(override)) if override else None
    for wanted, pretence in ((gfx, None), (shown, override)):
        for release in releases if wanted else ():
            for rocm in indices.get(release, []):
                if wheels.covers(rocm, str(wanted), []) is True and not (last and older(last, rocm)):
                    return release, rocm, pretence
    return None


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    if not facts.known("setup.name"):
        return
    platform, asked = facts.value("platform.kind"), asked_torch(facts)
    targets: list[str] = [str(one) for one in facts.value("amd.gfx") or []]
    yield "setup.rocm.gfx", Known(", ".join(targets), "amd.gfx") if targets else Absent("amd.gfx")
    yield "setup.rocm.served", Known(", ".join(targets) or "every AMD GPU", "amd.gfx")
    by_amd = _amd_has(asked) and all(amd_serves(gfx, platform) for gfx in targets)
    yield from _kernel(facts, by_amd and facts.value("setup.name") == "rocm")
    if by_amd:
        extras = ",".join(f"device-{gfx}" for gfx in targets) or "device-all"
        pin = facts.value("setup.torch_pin", "") if asked else ""
        data = table("setup-rocm")
        chosen: dict[str, Any] = {
            "route": "amd", "index": "amd-rocm", "packages": [f"torch[{extras}]{pin}", f"torchvision[{extras}]"],
            "release": release_of(asked) if asked else release_of(data["release"][-1]["torch"]),
            "python": between(data["python_first"], data["python_last"]), "override": None,
        }  # fmt: skip
    elif platform in ("windows", "wsl2"):
        yield "setup.rocm.problem", Known(_nothing(facts, targets, asked), "setup-rocm")
        return
    else:
        found = [_own(gfx, asked) for gfx in targets] or [_own("gfx1100", asked)]
        if None in found or len(set(found)) > 1:
            yield "setup.rocm.problem", Known(_nothing(facts, targets, asked), "rocm-torch")
            return
        release, rocm, override = found[0] or ("", "", None)
        chosen = {
            "route": "pytorch", "index": f"pytorch/rocm{rocm}", "release": release_of(release), "override": override,
            "packages": [f"torch{facts.value('setup.torch_pin', '')}" if asked else "torch", "torchvision"],
            "python": specifier(release_of(release)),
        }  # fmt: skip
    yield "setup.rocm.problem", Absent("setup-rocm")
    for name in ("route", "index", "packages", "release", "python", "override"):
        value = chosen[name]
        yield f"setup.rocm.{name}", Known(value, "setup-rocm") if value is not None else Absent("setup-rocm")
    yield "setup.rocm.risky", Known(bool(chosen["override"]) and any(wheels.target(gfx).get("risky") for gfx in targets), "rocm-gfx")


def _nothing(facts: Facts, targets: list[str], asked: str | None) -> str:
    what = ", ".join(targets) or "this GPU"
    where = {"windows": " on Windows", "wsl2": " in WSL"}.get(str(facts.value("platform.kind")), "")
    return f"torch {asked} for ROCm has no wheel that serves {what}{where}" if asked else f"no ROCm wheel of torch serves {what}{where}"


def _kernel(facts: Facts, rocm_10: bool) -> Iterator[tuple[str, Fact]]:
    """The oldest kernel whose own amdgpu serves the targets and, where `rocm_10`, ROCm 10; and whether the running one does. With amdgpu
    from DKMS any kernel does."""
    wanted = [str(table("setup-rocm")["kernel"])] if rocm_10 else []
    wanted += [str(row["min_kernel"]) for row in facts.value("amd.gpus") or [] if isinstance(row.get("min_kernel"), str)]
    lowest = max(wanted, key=numbers, default="0")
    here = facts.value("kernel.version")
    yield "setup.amd.kernel_min", Known(lowest, "rocm-gfx") if wanted else Absent("rocm-gfx")
    if isinstance(here, str):
        yield "setup.amd.kernel_ok", Known(facts.value("amd.driver.dkms") is True or not older(here, lowest), "kernel.version")


DERIVATION = Derivation(
    name="setup_rocm",
    provides=(
        FactSpec("setup.rocm.gfx", "text", "the targets of the AMD GPUs that a setup is for"),
        FactSpec("setup.rocm.served", "text", "the targets in words: 'gfx1032', or 'every AMD GPU' where none is here"),
        FactSpec("setup.rocm.problem", "text", "why no ROCm build of torch serves; absent where one does"),
        FactSpec("setup.rocm.route", "text", "amd: AMD's wheels per device; pytorch: PyTorch's own wheels"),
        FactSpec("setup.rocm.index", "text", "the index, as recipes write it"),
        FactSpec("setup.rocm.packages", "list", "what pip installs"),
        FactSpec("setup.rocm.release", "dotted", "the torch release"),
        FactSpec("setup.rocm.python", "text", "the Pythons with a wheel of it"),
        FactSpec("setup.rocm.override", "text", "the HSA_OVERRIDE_GFX_VERSION that these wheels need here"),
        FactSpec("setup.rocm.risky", "bool", "that override pretends a target with other instructions"),
        FactSpec("setup.amd.kernel_min", "dotted", "oldest kernel whose own amdgpu serves what is set up"),
        FactSpec("setup.amd.kernel_ok", "bool", "the running kernel is that new, or amdgpu comes from DKMS"),
    ),
    derive=derive,
)
