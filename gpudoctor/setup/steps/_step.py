"""What a kind of step is. Planning only reads; everything that undo needs is taken before the first act."""

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
"""Plain JSON: texts, numbers, booleans, lists, tables."""


class Look(Struct, frozen=True):
    """What planning may see. `host` is a live or a recorded machine: reads only."""

    facts: Facts
    host: Host
    addresses: Mapping[str, Address]
    """The addresses with mirrors applied."""
    env: str
    """Absolute folder of the target environment."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What the person asked for: torch, python_version, purpose, folder, bundle, allow_removal, uv (bool), user."""


class Draft(Struct, frozen=True, kw_only=True):
    """A step as its kind plans it. `acts` is what a person would do by hand to the same end; exports are made of it."""

    settings: Settings
    state: str = TODO
    note: str = ""
    changes: tuple[str, ...] = ()
    acts: tuple[Act, ...] = ()
    root: bool = False
    restart: str = ""


class Kind(Protocol):
    """One module of install/kinds/ holds one, as KIND.

    keys: the keys of [[step]] beside do, title, why, layer, when, done, with their types; `required` of them must be there.
    undoable_while_interrupted: apply may be run again after it was cut off anywhere, once `recover` ran.
    """

    name: str
    keys: Mapping[str, type | tuple[type, ...]]
    required: tuple[str, ...]

    def plan(self, given: Settings, look: Look) -> Draft:
        """Templates in `given` are filled already. Raises PlanError where the recipe cannot be planned here."""
        ...

    def before(self, settings: Settings, machine: WritableHost) -> dict[str, Any]:
        """What undo needs, taken and journaled before the first act. JSON."""
        ...

    def apply(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        """Raises system.writable_host.ActFailed; may be called again after an interruption, once `recover` was."""
        ...

    def recover(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        """After an interruption anywhere in apply, or before it: makes the machine such that apply can be called (again)."""
        ...

    def after(self, settings: Settings, before: Settings, machine: WritableHost) -> dict[str, Any]:
        """What undo compares with, to see what a person changed since. Journaled when the step is done. JSON."""
        ...

    def missing(self, settings: Settings, machine: WritableHost) -> str:
        """Verification by what is on the machine: '' where the step holds, else one line that says what does not."""
        ...

    def undo(self, settings: Settings, before: Settings, after: Settings | None, machine: WritableHost) -> tuple[str, ...]:
        """Restores what was; idempotent, from any state in which the step can be left. `after` is None where it never finished.

        Returns one line for each thing that was kept because a person changed it since.
        """
        ...


class PlanError(ValueError):
    """This step cannot be planned on this machine: what is wrong; what to do instead stands after the semicolon."""


class Waiting(Exception):
    """Raised by apply of steps that a person must do: the text says what. The run stops and can be resumed."""
