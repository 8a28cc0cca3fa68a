"""The CUDA build of torch that a setup installs for this driver and all cards, and whether the driver must change for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._nvidia_drivers import distribution_family
from gpudoctor.facts.derive._setup import asked_torch, newest_row, newest_row_here, release_of, specifier
from gpudoctor.facts.derive._tables import table
from gpudoctor.facts.derive._versions import numbers, older
from gpudoctor.facts.derive.cuda import driver_serves, floor_of, highest_major, runs
from gpudoctor.facts.derive.nvidia import capability_numbers
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known

_CUDA_REPOSITORY_FROM = 570
"""The oldest driver branch in NVIDIA's repository for Debian."""
_PREFERRED = ("cu130", "cu128", "cu126", "cu124", "cu121", "cu118")
"""The order in which flavours are preferred where several serve: that of https://pytorch.org/get-started."""


class Pick(Struct, frozen=True):
    """A torch release and the CUDA flavour of its wheels (cu126)."""

    flavour: str
    release: str

    @property
    def cuda(self) -> str:
        return f"{self.flavour[2:-1]}.{self.flavour[-1]}"


def _serves(row: dict[str, Any], capabilities: list[str]) -> bool:
    return all(runs(text, row["archs"]) in ("runs", "jit") for text in capabilities)


def _rank(flavour: str) -> tuple[int, int]:
    return (_PREFERRED.index(flavour) if flavour in _PREFERRED else len(_PREFERRED), -int(flavour[2:]))


def of_release(release: str, capabilities: list[str], major: int) -> Pick | None:
    """The flavour of this torch release with code for every card, of a CUDA major release up to `major`; None where there is none."""
    rows = [row for row in table("cuda-torch")["wheel"]
            if not older(release, row["first"]) and older(release, row["before"]) and int(row["flavour"][2:-1]) <= major]  # fmt: skip
    fitting = sorted((row["flavour"] for row in rows if _serves(row, capabilities)), key=_rank)
    return Pick(fitting[0], release) if fitting else None


def newest(capabilities: list[str], major: int) -> Pick | None:
    """The newest torch with code for every card, of a CUDA major release up to `major`; None where there is none."""
    wanted = [float(text) for text in capabilities]
    rows = [row for row in table("cuda-torch")["pick"]
            if row["major"] <= major and all(row["lowest"] <= one <= row["highest"] for one in wanted)]  # fmt: skip
    best = max(rows, key=lambda row: numbers(row["torch"]), default=None)
    return Pick(best["flavour"], best["torch"]) if best else None


def pick(facts: Facts, capabilities: list[str], major: int) -> Pick | None:
    asked = asked_torch(facts)
    return of_release(release_of(asked), capabilities, major) if asked else newest(capabilities, major)


def _major_of_branch(branch: int) -> int:
    return max((row["major"] for row in table("cuda-driver")["floor"] if int(row["linux"].split(".")[0]) <= branch), default=0)


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    if not facts.known("setup.name"):
        return
    cards = [card for card in facts.value("nvidia.cards") or [] if isinstance(card, dict)]
    named = {card["compute_capability"] for card in cards if isinstance(card.get("compute_capability"), str)}
    capabilities = sorted(named, key=capability_numbers)
    yield "setup.nvidia.open", Known(bool(cards) and all(card.get("open") is True for card in cards), "nvidia.cards")
    yield "setup.nvidia.from", Known(_driver_source(facts), "os.id")
    yield from _jax(facts)
    with_this = pick(facts, capabilities, highest_major(facts)) if facts.known("nvidia.in_use") or not cards else None
    chosen = with_this or pick(facts, capabilities, _major_of_branch(_reachable_branch(facts)))
    if chosen is None:
        yield "setup.cuda.problem", Known(_why_none(facts, capabilities), "cuda-torch")
        return
    yield "setup.cuda.problem", Absent("cuda-torch")
    asked = asked_torch(facts)
    yield "setup.cuda.flavour", Known(chosen.flavour, "cuda-torch")
    yield "setup.cuda.index", Known(f"pytorch/{chosen.flavour}", "cuda-torch")
    release = newest_row_here(facts)["version"] if not asked and chosen.release == newest_row()["version"] else chosen.release
    yield "setup.cuda.release", Known(release, "cuda-torch")
    yield "setup.cuda.torch", Known(f"torch{facts.value('setup.torch_pin', '')}" if asked else "torch", "--torch")
    yield "setup.cuda.python", Known(specifier(release), "python-partners")
    floor = floor_of(chosen.cuda, facts.value("platform.kind"))
    if floor:
        yield "setup.cuda.driver_floor", Known(floor, "cuda-driver")
    if cards:
        in_use = facts.known("nvidia.in_use")
        yield "setup.cuda.driver_ok", driver_serves(facts, chosen.cuda) if in_use else Known(False, "no driver in use")
    held = newest(capabilities, _major_of_branch(_reachable_branch(facts))) if cards and not asked else None
    newer = held.release if held and older(chosen.release, held.release) else None
    yield "setup.cuda.newer_with_driver", Known(newer, "cuda-torch") if newer else Absent("cuda-torch")


def _reachable_branch(facts: Facts) -> int:
    """The driver branch that would be installed for these cards; the newest of the table where the cards are unknown."""
    return int(facts.value("nvidia.want.branch") or table("cuda-driver")["newest_branch"])


def _driver_source(facts: Facts) -> str:
    """Whose packages bring the driver, a value of the fact setup.nvidia.from; 'other' where a person must install it."""
    family, branch = distribution_family(facts), _reachable_branch(facts)
    if family == "debian":
        current = branch >= _CUDA_REPOSITORY_FROM and facts.value("os.id") == "debian" and facts.value("os.version") == "12"
        return "nvidia-debian" if current else "debian"
    if family == "arch":
        return "arch" if facts.value("nvidia.want.package") == "nvidia-open-dkms" else "aur"
    return family if family in ("ubuntu", "fedora") else "other"


def _jax(facts: Facts) -> Iterator[tuple[str, Fact]]:
    """The CUDA major release of JAX's plugin: there is one for 12 and one for 13, which has code for Turing and newer."""
    cards = [card for card in facts.value("nvidia.cards") or [] if isinstance(card, dict)]
    old = any(isinstance(card.get("cc"), float) and card["cc"] < 7.5 for card in cards)
    major = highest_major(facts) if facts.known("nvidia.in_use") or not cards else _major_of_branch(_reachable_branch(facts))
    yield "setup.jax.cuda", Known("12" if old or major < 13 else "13", "cuda-jax")


def _why_none(facts: Facts, capabilities: list[str]) -> str:
    asked, here = asked_torch(facts), ", ".join(capabilities)
    cards = f"cards of compute capability {here}{' together' if ',' in here else ''}" if here else "CUDA"
    if asked and not any(older(release_of(asked), row["before"]) for row in table("cuda-torch")["wheel"]):
        return f"torch {asked} is newer than this table ({table('cuda-torch')['newest_torch']})"
    return f"torch {asked} has no build for {cards} and a driver that serves them" if asked else f"no torch build has code for {cards}"


DERIVATION = Derivation(
    name="setup_cuda",
    provides=(
        FactSpec("setup.nvidia.open", "bool", "every NVIDIA card here is served by the open kernel modules (Turing and newer)"),
        FactSpec("setup.nvidia.from", "text", "whose packages bring the driver: ubuntu, nvidia-debian, debian, fedora, arch, aur, other"),
        FactSpec("setup.cuda.problem", "text", "why no CUDA build of torch serves; absent where one does"),
        FactSpec("setup.cuda.flavour", "text", "CUDA flavour of the torch to install: cu126"),
        FactSpec("setup.cuda.index", "text", "the index of that flavour, as recipes write it: pytorch/cu126"),
        FactSpec("setup.cuda.release", "dotted", "the torch release that is installed"),
        FactSpec("setup.cuda.torch", "text", "the requirement: 'torch', 'torch==2.8.*'"),
        FactSpec("setup.cuda.python", "text", "the Pythons with a wheel of that torch release"),
        FactSpec("setup.cuda.driver_floor", "dotted", "oldest driver that serves that flavour"),
        FactSpec("setup.cuda.driver_ok", "bool", "the driver in use serves that flavour"),
        FactSpec("setup.cuda.newer_with_driver", "dotted", "the newer torch that a newer driver would make possible"),
        FactSpec("setup.jax.cuda", "text", "CUDA major of the JAX plugin for this driver and these cards"),
    ),
    derive=derive,
)
