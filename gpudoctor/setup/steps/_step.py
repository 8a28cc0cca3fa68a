"""What a kind of step is. Planning only reads, and everything that undo needs is recorded before the first act."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct, field

from gpudoctor.model.facts import Facts
from gpudoctor.model.plan import TODO, Act
from gpudoctor.model.recipe import Address
from gpudoctor.system.host import Host
from gpudoctor.system.writable_host import WritableHost

Settings = Mapping[str, Any]
"""The settings of a step, as JSON: texts, numbers, booleans, lists, tables."""


class Look(Struct, frozen=True):
    """What planning sees. `host` is a live or a recorded machine, which is only read."""

    facts: Facts
    host: Host
    addresses: Mapping[str, Address]
    """The addresses with mirrors applied."""
    env: str
    """The absolute path of the target environment."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What the person asked for: torch, python_version, purpose, folder, bundle, allow_removal, uv (bool), user."""


class Draft(Struct, frozen=True, kw_only=True):
    """A step as its kind plans it. `acts`: what a person would do by hand to the same end, from which exports are made."""

    settings: Settings
    state: str = TODO
    note: str = ""
    changes: tuple[str, ...] = ()
    acts: tuple[Act, ...] = ()
    root: bool = False
    restart: str = ""


class Kind(Protocol):
    """A kind of step; each module of setup/steps holds one, as KIND.

    keys: the keys of [[step]] beside do, title, why, layer, when, done, with their types; `required` of them must be there.
    """

    name: str
    keys: Mapping[str, type | tuple[type, ...]]
    required: tuple[str, ...]

    def plan(self, given: Settings, look: Look) -> Draft:
        """The draft of a step with the settings `given`, in which templates are filled. Raises PlanError where it cannot be planned
        here."""
        ...

    def before(self, settings: Settings, machine: WritableHost) -> dict[str, Any]:
        """What undo needs, as JSON; it is journaled before the first act."""
        ...

    def apply(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        """Does the step. It may be called again after an interruption, once `recover` was. Raises system.writable_host.ActFailed."""
        ...

    def recover(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        """Called after an interruption within `apply` or before it: prepares the machine so that `apply` can be called again."""
        ...

    def after(self, settings: Settings, before: Settings, machine: WritableHost) -> dict[str, Any]:
        """What undo compares with to see what a person has changed since, as JSON; it is journaled when the step is done."""
        ...

    def missing(self, settings: Settings, machine: WritableHost) -> str:
        """Verifies the step on the machine: '' where it holds, else one line that says what does not."""
        ...

    def undo(self, settings: Settings, before: Settings, after: Settings | None, machine: WritableHost) -> tuple[str, ...]:
        """Restores the former state from any state in which the step can be left; idempotent. `after` is None where it never finished.

        Returns one line for each thing that was kept because a person has changed it since.
        """
        ...


class PlanError(ValueError):
    """Raised where a step cannot be planned on this machine, with what is wrong and, after a semicolon, what to do instead."""


class Waiting(Exception):
    """Raised by `apply` of steps that a person must do, with what to do. The run stops and can be resumed."""
