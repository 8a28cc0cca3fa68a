"""The names of a stack elsewhere, and what belongs to it: the table [names] of its file."""

from __future__ import annotations

from msgspec import Struct


class StackNames(Struct, frozen=True, kw_only=True):
    """The table [names]. Stacks of one `kin` may be proposed for a misspelt name together; stacks of different kin never are."""

    aliases: tuple[str, ...] = ()
    """Other names that people use for the stack."""
    recipe: str = ""
    """The recipe of `setup` that installs the stack; empty where there is none."""
    set_up_instead: str = ""
    """For a stack that can no longer be set up, the recipe that serves the same device."""
    backend: str = ""
    """The backend of `audit`; empty for a framework that runs on several backends."""
    device: str = ""
    """The kind of device of `validate`."""
    kin: str = ""
    serves: tuple[str, ...] = ()
    """The purposes (`setup --for`) that the stack serves."""
    frameworks: tuple[str, ...] = ()
    """Python modules whose failed import means that the stack is broken."""
    measured_as: tuple[str, ...] = ()
    """'framework' or 'framework backend': the measurements that belong to the stack."""
    words: tuple[str, ...] = ()
    """Regular expressions, matched in lower case, that recognise the stack in a text."""
