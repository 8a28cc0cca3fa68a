"""The contents of the folder of a Poplar SDK: wheels for this processor, the scripts that enable it, the Python that it serves."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._setup import between
from gpudoctor.facts.derive._tables import table
from gpudoctor.facts.derive._versions import numbers
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known
from gpudoctor.model.lazy_pattern import lazy

_PART = lazy(r"(?:^|/)(?:poplar_sdk|poplar|popart)-([a-z]+)_(\d+)_(\d+)-(\d+\.\d+(?:\.\d+)?)")
_WHEEL = lazy(r"(?:^|/)(poptorch|tensorflow|popart)-[^/]*-cp(\d)(\d+)-[^/]*\.whl$")


def scripts(names: list[str]) -> list[str]:
    """The enable.sh of Poplar and of PopART, in the order in which they must be sourced."""
    found = []
    for part in ("poplar", "popart"):
        found += [name for name in names if re.fullmatch(rf"(?:[^/]+/)?{part}-[^/]+/enable\.sh", name)][:1]
    return found


def wheels(names: list[str], processor: str) -> dict[str, str]:
    """The wheel of each package. TensorFlow has one wheel for AMD's processors and one for Intel's, and 2.x is preferred to 1.x."""
    mine = "amd_znver" if "amd" in processor.lower() or "epyc" in processor.lower() else "intel_skylake"
    chosen: dict[str, str] = {}
    for name in sorted(names, reverse=True):
        match = _WHEEL.search(name)
        if match and (match[1] != "tensorflow" or mine in name or "+" not in name):
            chosen.setdefault(match[1], name)
    return chosen


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    names, root = facts.value("setup.files"), facts.value("setup.files_at")
    if facts.value("setup.name") != "poplar":
        return
    yield "setup.poplar.hardware", Known(_hardware(facts), "pci.devices")
    if not isinstance(names, list) or not isinstance(root, str):
        yield "setup.poplar.sdk", Absent("--folder")
        return
    part = next((match for text in (*names, root.rpartition("/")[2]) if (match := _PART.search(text))), None)
    enabled = scripts(names)
    yield "setup.poplar.sdk", Known(part[4], root) if part and enabled else Absent(root)
    yield "setup.poplar.enable", Known([f"{root}/{name}" for name in enabled], root)
    if part:
        yield "setup.poplar.built_for", Known(f"{part[1]} {part[2]}.{part[3]}", root)
    found = wheels(names, str(facts.value("cpu.model", "")))
    for package in ("poptorch", "tensorflow"):
        yield f"setup.poplar.{package}", Known(f"{root}/{found[package]}", root) if package in found else Absent(root)
    python = _python(found, f"{part[1]} {part[2]}.{part[3]}" if part else "")
    if python:
        yield "setup.poplar.python", Known(between(python, python), root)
    torch = _torch(part[4]) if part else None
    yield "setup.poplar.torch", Known(torch, "poplar-poptorch") if torch else Absent("poplar-poptorch")


def _torch(sdk: str) -> str | None:
    return next((str(row["torch"]) for row in table("poplar-poptorch")["row"] if numbers(row["sdk"])[:2] == numbers(sdk)[:2]), None)


def _python(found: dict[str, str], system: str) -> str | None:
    for name in found.values():
        match = _WHEEL.search(name)
        if match:
            return f"{match[2]}.{match[3]}"
    return next((str(row["python"]) for row in table("poplar-systems")["row"] if row["system"] == system and "python" in row), None)


def _hardware(facts: Facts) -> str:
    """What programs will run on: pcie, fabric or model (see the fact setup.poplar.hardware)."""
    if facts.value("poplar.pcie") is True:
        return "pcie"
    return "fabric" if facts.value("poplar.partition.configured") is True or facts.value("poplar.fabric") is True else "model"


DERIVATION = Derivation(
    name="setup_poplar",
    provides=(
        FactSpec("setup.poplar.hardware", "text", "pcie: cards in this host; fabric: a partition server; model: no IPU, the IPU Model"),
        FactSpec("setup.poplar.sdk", "dotted", "version of the SDK in the folder; absent where the folder holds none"),
        FactSpec("setup.poplar.built_for", "text", "the distribution that it was built for"),
        FactSpec("setup.poplar.enable", "list", "its enable.sh scripts, Poplar's first", privacy="identifying"),
        FactSpec("setup.poplar.poptorch", "text", "its PopTorch wheel", privacy="identifying"),
        FactSpec("setup.poplar.tensorflow", "text", "its TensorFlow wheel for this processor", privacy="identifying"),
        FactSpec("setup.poplar.python", "text", "the one Python whose wheels it holds, as a specifier"),
        FactSpec("setup.poplar.torch", "dotted", "the one torch that its PopTorch accepts"),
    ),
    derive=derive,
)
