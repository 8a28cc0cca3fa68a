"""Replaces requirements that leave the choice to pip by exact releases, so that an export always installs what its plan names."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from gpudoctor.facts.derive._setup import asked_torch, release_of, specifier
from gpudoctor.facts.derive._tables import table
from gpudoctor.facts.derive._versions import numbers
from gpudoctor.model.facts import Facts

_TORCH_OF = (
    ("pytorch/cu", "setup.cuda.release"), ("pytorch/rocm", "setup.rocm.release"), ("amd-rocm", "setup.rocm.release"),
    ("", "setup.torch_release"),
)  # fmt: skip
"""(beginning of the name of an index, fact with the torch release that a plan installs from there)."""
_PARTNERS = {"torchvision": "vision", "torchaudio": "audio"}


class Pinned(Struct, frozen=True):
    """Requirements with exact releases."""

    packages: tuple[str, ...]
    python: str
    """The Pythons that these releases have wheels for, as a specifier."""


def pinned(texts: Sequence[str], index: str, facts: Facts) -> Pinned:
    """The packages of one pip step (`texts`) with exact releases. A requirement that no table knows is left as it is."""
    asked = {str(canonicalize_name(one.name)): one for text in texts if (one := _read(text))}
    torch = _torch(asked["torch"], index, facts) if "torch" in asked else ""
    found = [_pinned(text, torch) for text in texts]
    limits = [specifier(torch)] if torch else []
    return Pinned(tuple(text for text, _ in found), ",".join([*limits, *(python for _, python in found if python)]))


def _read(text: str) -> Requirement | None:
    """The requirement in a text; None for an address, a file and any other text."""
    try:
        read = Requirement(text)
    except InvalidRequirement:
        return None
    return None if read.url else read


def _exact(asked: Requirement) -> str:
    """The release that a requirement demands, '2.8.0' of '==2.8.0'; '' for a range."""
    return next((one.version for one in asked.specifier if one.operator == "==" and not one.version.endswith(".*")), "")


def _torch(asked: Requirement, index: str, facts: Facts) -> str:
    """The release of torch that is meant; '' where no table holds it."""
    exact = _exact(asked).partition("+")[0]
    begun = next((one.version.removesuffix(".*") for one in asked.specifier if one.operator == "=="), "")
    if exact or begun:
        release = exact or release_of(begun)
    elif index.startswith("pytorch/xpu"):
        release = release_of(asked_torch(facts) or str(table("torch-xpu")["newest"]))
    else:
        fact = next(fact for begins, fact in _TORCH_OF if index.startswith(begins))
        release = str(facts.value(fact) or "")
    known = {row["version"] for row in table("python-partners")["torch"]}
    return release if release in known else ""


def _pinned(text: str, torch: str) -> tuple[str, str]:
    asked = _read(text)
    if asked is None or _exact(asked):
        return text, ""
    name = str(canonicalize_name(asked.name))
    version, python = torch, ""
    if name in _PARTNERS:
        fitting = [row.get(_PARTNERS[name], ()) for row in table("python-partners")["torch"] if row["version"] == torch]
        version = str(fitting[0][-1]) if fitting and fitting[0] else ""
    elif name != "torch":
        rows = [row for row in table("setup-pins")["package"] if row["name"] == name and asked.specifier.contains(row["version"])]
        best = max(rows, key=lambda row: numbers(row["version"]), default=None)
        version, python = (best["version"], best["python"]) if best else ("", "")
    if not version:
        return text, ""
    asked.specifier = SpecifierSet(f"=={version}")
    return str(asked), python
