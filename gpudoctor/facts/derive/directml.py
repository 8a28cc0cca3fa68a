"""The torch and the Pythons that the installed torch-directml was built for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._tables import table
from gpudoctor.facts.derive._versions import distribution
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.rules.versions import compare_dotted, dotted

DIRECTML = "torch-directml"


def release_of(version: str) -> dict[str, Any] | None:
    """The row of directml.toml for a version of torch-directml: the one with the longest prefix; None for an unknown release."""
    rows = [row for row in table("directml")["release"] if version.startswith(row["prefix"])]
    return max(rows, key=lambda row: len(row["prefix"])) if rows else None


def _outside(python: str, low: str, high: str) -> bool | None:
    version, least, most = dotted(python), dotted(low), dotted(high)
    if version is None or least is None or most is None:
        return None
    return compare_dotted(version[:2], least) < 0 or compare_dotted(version[:2], most) > 0


def derive(facts: Facts) -> Iterable[tuple[str, Fact]]:
    if not isinstance(facts.get("python.distributions"), Known):
        return
    version = distribution(facts, DIRECTML)
    if version is None:
        yield "directml.version", Absent("python.distributions")
        return
    yield "directml.version", Known(version, "python.distributions")
    row = release_of(version)
    names = ("directml.torch_wanted", "directml.torchvision_wanted", "directml.python_min", "directml.python_max")
    if row is None:
        for name in names:
            yield name, Unknown("newer than this table (2026-11)")
        return
    for name, key in zip(names, ("torch", "torchvision", "python_min", "python_max"), strict=True):
        yield name, Known(row[key], "releases of torch-directml")
    python = facts.value("python.version")
    wrong = _outside(str(python), row["python_min"], row["python_max"]) if python else None
    native = facts.value("directml.native_python")
    if native and python:
        wrong = wrong or ".".join(str(python).split(".")[:2]) not in native
    yield "directml.wrong_python", Unknown("unparsable") if wrong is None else Known(wrong)
    torch = distribution(facts, "torch")
    if torch is None:
        yield "directml.wrong_torch", Absent("python.distributions")
        return
    found, wanted = dotted(torch), dotted(row["torch"])
    # torch-directml 0.1.13.dev demands torch 1.13 without a patch release: two numbers are compared then.
    same = found is not None and wanted is not None and found[: len(wanted)] == wanted
    yield "directml.wrong_torch", Known(not same)


DERIVATION = Derivation(
    "directml",
    (
        FactSpec("directml.version", "version", "release of torch-directml in the target environment"),
        FactSpec("directml.torch_wanted", "version", "the torch that this torch-directml was built against"),
        FactSpec("directml.torchvision_wanted", "version", "the torchvision of that torch"),
        FactSpec("directml.python_min", "dotted", "the oldest Python with a wheel of this release"),
        FactSpec("directml.python_max", "dotted", "the newest Python with a wheel of this release"),
        FactSpec("directml.wrong_python", "bool", "whether the target Python cannot load this torch-directml"),
        FactSpec("directml.wrong_torch", "bool", "whether torch is another one than torch-directml was built against"),
    ),
    derive,
)
