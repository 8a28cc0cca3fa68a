"""A recipe: where it applies, what must hold before, its steps from a closed set of kinds, its sources. All texts are templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpudoctor.model.check import Source
from gpudoctor.model.condition import Condition

KINDS = (
    "apt.repository", "apt.install", "apt.remove", "dnf.repository", "dnf.install", "pacman.install", "group", "file", "edit", "udev.rule",
    "modprobe", "download", "unpack", "venv", "pip", "environment", "reboot", "person",
)  # fmt: skip
PARTS = ("nvidia-driver", "amd-driver", "intel-kernel", "intel-access", "environment")
"""Names of recipes that only other recipes stand on; nobody types them."""
ADDRESS_KINDS = ("apt", "dnf", "python-index", "download")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One place that packages come from (recipes/addresses.toml). `--mirror NAME=URL` replaces `url`.

    `key_url` and `fingerprint` (40 hexadecimal digits of the primary key): repositories of packages only.
    """

    name: str
    kind: str
    url: str
    title: str = ""
    key_url: str = ""
    fingerprint: str = ""
    date: str = ""
    """When it was seen to be so (YYYY-MM-DD)."""
    ref: str = ""
    """The source that says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTemplate:
    """One [[step]]. `settings` are the keys of its kind; texts in them are templates over facts.

    `when` false or unknown: the step is left out. `done` true: the step is shown as done and not carried out.
    """

    do: str
    title: str
    why: str
    layer: str
    settings: Mapping[str, Any]
    when: Condition | None = None
    done: Condition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Include:
    """[[step]] do = "recipe": the steps of another recipe, chosen for this machine, in this place."""

    name: str
    when: Condition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """[[gate]]: must not be false before the first act. `level` refuse stops the plan, warn is shown above it."""

    holds: Condition
    level: str
    title: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """[[remark]]: a line that the person should read, where `when` holds (or always)."""

    text: str
    when: Condition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanExample:
    """[[example]]: facts for which this recipe is chosen, and the titles of its steps, in order, that are left to do."""

    name: str
    facts: Mapping[str, Any]
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One file recipes/<name>/<id>.toml. Of those of one name that apply the one with the lowest rank is taken."""

    id: str
    name: str
    title: str
    applies: Condition
    steps: tuple[StepTemplate | Include, ...]
    rank: int = 10
    stack: str = ""
    """The stack whose ladder is checked at the end; empty for recipes that only other recipes stand on."""
    compute: str = ""
    """The framework that computes at the end: torch-xpu, torch-cuda, torch-rocm, ipex, …; empty: none."""
    disk_gb: float = 0.0
    archived: str = ""
    """One plain line where the stack is not maintained any more: since when, and what replaces it."""
    gates: tuple[Gate, ...] = ()
    remarks: tuple[Remark, ...] = ()
    sources: tuple[Source, ...] = ()
    examples: tuple[PlanExample, ...] = ()
    platform: str = ""
    """In words: 'Ubuntu 24.04', 'WSL2', 'any Linux'."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeBook:
    recipes: tuple[Recipe, ...]
    addresses: Mapping[str, Address] = field(default_factory=dict)
    version: str = ""

    def names(self) -> list[str]:
        return sorted({recipe.name for recipe in self.recipes})
