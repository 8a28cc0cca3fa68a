"""What a stack is called elsewhere, and what belongs to it: the table [names] of its file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StackNames:
    """`kin`: names of stacks of one kin may be meant for each other; those of two are never proposed for a misspelt name."""

    aliases: tuple[str, ...] = ()
    """What people call it, beside its id."""
    recipe: str = ""
    """The recipe of `setup` that sets it up; empty where none does."""
    set_up_instead: str = ""
    """The recipe that serves the same device where the stack itself is set up no more."""
    backend: str = ""
    """The backend of `audit`; empty for a framework that runs on several."""
    device: str = ""
    """The kind of device of `validate`."""
    kin: str = ""
    serves: tuple[str, ...] = ()
    """Purposes (`setup --for`) for which it does."""
    frameworks: tuple[str, ...] = ()
    """Python modules whose failing import breaks it."""
    measured_as: tuple[str, ...] = ()
    """'framework' or 'framework backend' of the measurements that are its own."""
    words: tuple[str, ...] = ()
    """Expressions that find in a text, in lower case, that it speaks of the stack."""
