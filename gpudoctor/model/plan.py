"""A plan: what would be done on this machine, before anything is. JSON all through, so that the journal can keep it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SCHEMA = "gpudoctor.plan/1"
TODO, DONE, IMPOSSIBLE = "todo", "done", "impossible"
RESTARTS = ("", "login", "reboot", "wsl")
"""What must happen before the next step; empty: nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What a person would type. Nothing here goes through a shell."""

    argv: tuple[str, ...]
    root: bool = False
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A file that gets this content. `fetched_from`: the content is that of this address instead."""

    path: str
    content: str = ""
    mode: int = 0o644
    root: bool = False
    fetched_from: str = ""
    sha256: str = ""
    fingerprint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What only a person can do, or must know."""

    text: str


Act = Command | FileChange | Word


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """One step with every value settled. `settings` is all that its kind needs to apply, verify and undo it."""

    number: int
    kind: str
    title: str
    why: str
    layer: str
    recipe: str
    """The id of the recipe that it comes from."""
    settings: Mapping[str, Any]
    state: str = TODO
    note: str = ""
    """Why it is done already, or impossible."""
    changes: tuple[str, ...] = ()
    acts: tuple[Act, ...] = ()
    root: bool = False
    restart: str = ""
    """'', login, reboot or wsl: what must happen before the next step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why nothing is done, and what to do instead."""

    title: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    name: str
    recipe: str
    title: str
    stack: str
    compute: str
    machine: str
    """The machine that the plan is for, in one line."""
    env: str
    """Folder of the target environment; empty where the recipe needs none."""
    steps: tuple[PlannedStep, ...]
    refusals: tuple[Refusal, ...] = ()
    warnings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    archived: str = ""
    disk_gb: float = 0.0
    sources: tuple[str, ...] = ()
    mends: tuple[str, ...] = ()
    """Findings (keys) of the check before, of layers and stacks that this plan mends."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """What the environment steps set, for the verification."""
    os_id: str = ""
    os_version: str = ""

    @property
    def todo(self) -> tuple[PlannedStep, ...]:
        return tuple(step for step in self.steps if step.state == TODO)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One stack that could be set up here, as `gpudoctor setup` alone recommends it."""

    name: str
    title: str
    reasons: tuple[str, ...]
    device: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    first: Option | None
    runner_up: Option | None
    against: tuple[str, ...] = ()
    """Stacks that a person might think of, and why not."""
