"""The IPEX release that `setup` installs, with all that it pins: the one asked for, else the last official one that serves this card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._tables import table
from gpudoctor.facts.derive._versions import older
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown

_PINNED = ("repository", "component", "driver", "oneapi")


def release_for(asked: str | None, generation: str | None) -> Mapping[str, Any] | None:
    """The row of ipex-torch.toml for the newest published release that was asked for; where none was, for the last one that serves this
    generation. None where what was asked for was never published."""
    rows: list[Mapping[str, Any]] = [row for row in table("ipex-torch")["release"] if row["packages"]]
    if asked:
        rows = [row for row in rows if row["ipex"] == asked or row["ipex"].startswith(f"{asked}.") or asked in _torch_of(row)]
        return rows[-1] if rows else None
    served = _served(generation)
    if served:
        rows = [row for row in rows if row["ipex"] == served["last"]]
    return rows[-1]


def _torch_of(row: Mapping[str, Any]) -> set[str]:
    """The torch releases by which a release of IPEX can be asked for."""
    return set(row["torch"])


def _served(generation: str | None) -> Mapping[str, Any] | None:
    return next((row for row in table("setup-ipex")["serves"] if row["generation"] == generation), None)


def serves(release: str, generation: str) -> bool:
    """Whether a release of IPEX officially serves a generation of Intel GPUs (table setup-ipex)."""
    row = _served(generation)
    return row is not None and not older(release, row["first"]) and not older(row["last"], release)


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    if not facts.known("setup.name"):
        return
    asked, generation = facts.value("setup.torch"), facts.value("setup.intel.generation")
    row = release_for(str(asked) if asked else None, generation if isinstance(generation, str) else None)
    yield "setup.ipex.published", Known(row is not None, "ipex-torch.toml")
    if row is None:
        yield "setup.ipex.release", Known(str(asked), "command line")
        yield "setup.ipex.system_oneapi", Absent("ipex-torch.toml")
        return
    release, tree = row["ipex"], table("setup-ipex")
    yield "setup.ipex.release", Known(release, "ipex-torch.toml")
    packages = str(row["packages"]).split()
    numpy = [] if older(tree["numpy_1_until"], release) else ["numpy<2"]
    yield "setup.ipex.torch_packages", Known([*packages[:-1], *numpy], row["source"])
    yield "setup.ipex.packages", Known([packages[-1]], row["source"])
    yield "setup.ipex.all_packages", Known([*packages, *numpy], row["source"])
    yield "setup.ipex.python", Known(row["python"], row["source"])
    yield "setup.ipex.upstream_torch", Known(row["local"] == "xpu", row["source"])
    yield "setup.ipex.system_oneapi", Known(row["oneapi_system"], row["source"])
    yield "setup.ipex.oneapi", Known(row["oneapi"], row["source"])
    yield "setup.ipex.layout", Known(not older(tree["layout_until"], release), tree["source"])
    yield "setup.ipex.hotfix", Known(release == tree["hotfix_for"], tree["source"])
    if isinstance(generation, str):
        yield "setup.ipex.serves", Known(serves(release, generation), "setup-ipex.toml")
    else:
        yield "setup.ipex.serves", Unknown("not recorded")
    pins = next((one for one in tree["pins"] if one["ipex"] == release), None)
    for name in _PINNED:
        yield f"setup.ipex.pinned_{name}", Known(pins[name], pins["source"]) if pins else Absent("setup-ipex.toml")


DERIVATION = Derivation(
    "setup_ipex",
    provides=(
        FactSpec("setup.ipex.published", "bool", "wheels of the IPEX that was asked for were published"),
        FactSpec("setup.ipex.release", "dotted", "the IPEX release that is set up"),
        FactSpec("setup.ipex.torch_packages", "list", "requirements of its torch and what goes with it"),
        FactSpec("setup.ipex.packages", "list", "requirement of the extension itself"),
        FactSpec("setup.ipex.all_packages", "list", "both, for releases that come from one index"),
        FactSpec("setup.ipex.python", "text", "Python versions that it has wheels for"),
        FactSpec("setup.ipex.upstream_torch", "bool", "its torch is PyTorch's own XPU wheel"),
        FactSpec("setup.ipex.system_oneapi", "bool", "it links the oneAPI of the machine and brings none"),
        FactSpec("setup.ipex.oneapi", "dotted", "the oneAPI release that it links"),
        FactSpec("setup.ipex.layout", "bool", "IPEX_XPU_ONEDNN_LAYOUT=1 makes its training fast"),
        FactSpec("setup.ipex.hotfix", "bool", "it needs Intel's hotfix of oneAPI 2023.1"),
        FactSpec("setup.ipex.serves", "bool", "it names the generation of the GPU here"),
        FactSpec("setup.ipex.pinned_repository", "text", "address of the driver packages that Intel's own image of it used"),
        FactSpec("setup.ipex.pinned_component", "text", "component of that repository"),
        FactSpec("setup.ipex.pinned_driver", "list", "those driver packages, with their versions"),
        FactSpec("setup.ipex.pinned_oneapi", "list", "oneAPI run-time packages, with their versions"),
    ),
    derive=derive,
)
