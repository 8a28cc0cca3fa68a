"""A recipe: where it applies, its preconditions, its steps from a closed set of kinds, and its sources. All texts are templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from gpudoctor.model.check import Source
from gpudoctor.model.condition import Condition

KINDS = (
    "apt.repository", "apt.install", "apt.remove", "dnf.repository", "dnf.install", "pacman.install", "group", "file", "edit", "udev.rule",
    "modprobe", "download", "unpack", "venv", "pip", "environment", "reboot", "person",
)  # fmt: skip
PARTS = ("nvidia-driver", "amd-driver", "intel-kernel", "intel-access", "environment")
"""Names of recipes that are only included by others; `gpudoctor setup` does not offer them."""
ADDRESS_KINDS = ("apt", "dnf", "python-index", "download")


class Address(Struct, frozen=True, kw_only=True):
    """A place that packages are downloaded from (recipes/addresses.toml). `--mirror NAME=URL` replaces `url`.

    `key_url` and `fingerprint` (40 hexadecimal digits of the primary key) belong to repositories of system packages only.
    """

    name: str
    kind: str
    url: str
    title: str = ""
    key_url: str = ""
    fingerprint: str = ""
    date: str = ""
    """The day (YYYY-MM-DD) on which the address was last verified."""
    ref: str = ""
    """The source that documents the address."""


class StepTemplate(Struct, frozen=True, kw_only=True):
    """One [[step]]. `settings` are the keys of its kind; their texts are templates over facts.

    Where `when` is false or unknown, the step is left out. Where `done` is true, it is shown as done and not carried out.
    """

    do: str
    title: str
    why: str
    layer: str
    settings: Mapping[str, Any]
    when: Condition | None = None
    done: Condition | None = None


class Include(Struct, frozen=True, kw_only=True):
    """[[step]] with do = "recipe": the steps of another recipe, which is chosen for this machine, are inserted here."""

    name: str
    when: Condition | None = None


class Gate(Struct, frozen=True, kw_only=True):
    """[[gate]]: a precondition. Where it is false, the level `refuse` stops the plan, and `warn` adds a warning to it."""

    holds: Condition
    level: str
    title: str
    advice: str


class Remark(Struct, frozen=True, kw_only=True):
    """[[remark]]: a line for the person, shown where `when` is true or missing."""

    text: str
    when: Condition | None = None


class PlanExample(Struct, frozen=True, kw_only=True):
    """[[example]]: facts for which this recipe must be chosen, and the titles of the steps that remain to be done, in order."""

    name: str
    facts: Mapping[str, Any]
    steps: tuple[str, ...]


class Recipe(Struct, frozen=True, kw_only=True):
    """One file recipes/<name>/<id>.toml. Of the applicable recipes of one name, the one with the lowest rank is taken."""

    id: str
    name: str
    title: str
    applies: Condition
    steps: tuple[StepTemplate | Include, ...]
    rank: int = 10
    stack: str = ""
    """The stack whose ladder is checked at the end; empty for recipes that are only included by others."""
    compute: str = ""
    """The framework that runs a computation at the end: torch-xpu, torch-cuda, torch-rocm, ipex and others; empty: none."""
    disk_gb: float = 0.0
    archived: str = ""
    """For a stack that is no longer maintained, one line: since when, and what replaces it."""
    gates: tuple[Gate, ...] = ()
    remarks: tuple[Remark, ...] = ()
    sources: tuple[Source, ...] = ()
    examples: tuple[PlanExample, ...] = ()
    platform: str = ""
    """The supported systems in words: 'Ubuntu 24.04', 'WSL2', 'any Linux'."""


class RecipeBook(Struct, frozen=True, kw_only=True):
    """All recipes, and the addresses that their steps refer to by name."""

    recipes: tuple[Recipe, ...]
    addresses: Mapping[str, Address] = field(default_factory=dict)
    version: str = ""

    def names(self) -> list[str]:
        return sorted({recipe.name for recipe in self.recipes})
