"""A plan of `setup`: what would be done on a machine, before anything is done. All values are JSON, so that the journal can keep it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

SCHEMA = "gpudoctor.plan/1"
TODO, DONE, IMPOSSIBLE = "todo", "done", "impossible"
RESTARTS = ("", "login", "reboot", "wsl")
"""What must happen before the next step; empty: nothing."""


class Command(Struct, frozen=True, kw_only=True):
    """A command that a person could type. No shell reads it."""

    argv: tuple[str, ...]
    root: bool = False
    env: Mapping[str, str] = field(default_factory=dict)


class FileChange(Struct, frozen=True, kw_only=True):
    """A file and its new content. With `fetched_from` the content is downloaded from that address instead."""

    path: str
    content: str = ""
    mode: int = 0o644
    root: bool = False
    fetched_from: str = ""
    sha256: str = ""
    fingerprint: str = ""


class Word(Struct, frozen=True, kw_only=True):
    """Something that only a person can do, or should know."""

    text: str


Act = Command | FileChange | Word


class PlannedStep(Struct, frozen=True, kw_only=True):
    """One step with every value settled. `settings` is all that its kind needs to apply, verify and undo the step."""

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
    """Why the step is already done, or impossible."""
    changes: tuple[str, ...] = ()
    acts: tuple[Act, ...] = ()
    root: bool = False
    restart: str = ""
    """One of RESTARTS: what must happen before the next step."""


class Refusal(Struct, frozen=True, kw_only=True):
    """Why nothing is done, and what to do instead."""

    title: str
    advice: str


class Plan(Struct, frozen=True, kw_only=True):
    """What `setup` would do on one machine. With a refusal nothing is done."""

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
    """Keys of the findings of the earlier check that the plan is expected to remove: errors of its stack on layers that it changes."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables that the environment steps set; the verification runs with them."""
    os_id: str = ""
    os_version: str = ""

    @property
    def todo(self) -> tuple[PlannedStep, ...]:
        """The steps that are not done yet."""
        return tuple(step for step in self.steps if step.state == TODO)

    @property
    def python(self) -> str:
        """The minor version ('3.11') of the environment that a step makes or uses; '' without such a step."""
        return next((str(step.settings.get("minor") or "") for step in self.steps if step.kind == "venv"), "")


class Option(Struct, frozen=True, kw_only=True):
    """A stack that could be set up on this machine, as `gpudoctor setup` without a stack recommends it."""

    name: str
    title: str
    reasons: tuple[str, ...]
    device: str = ""
    command: str = ""


class Recommendation(Struct, frozen=True, kw_only=True):
    """The stack to set up, the second choice, and what speaks against others."""

    first: Option | None
    runner_up: Option | None
    against: tuple[str, ...] = ()
    """Stacks that a person might expect, each with the reason against it."""
