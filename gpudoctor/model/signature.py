"""What a program says when a trouble occurs, and where a text says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Literals = tuple[tuple[str, ...], ...]
"""All of the outer ones, each by any of its inner ones; in lower case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """One way in which a trouble shows in a text.

    `text` must stand within `within` lines of each other, `without` must not be there, `anywhere` may be anywhere in the whole text;
    `pattern` (searched in those lines, case ignored) decides last, its named groups become the facts `said.<name>`.
    """

    text: Literals
    without: tuple[str, ...] = ()
    anywhere: Literals = ()
    pattern: str = ""
    within: int = 1


@dataclass(frozen=True, slots=True)
class Numbered:
    """A line of a text and its number there, from 1 on.

    What a machine's own tools say has no place in a text: its numbers are below 0, and `source` says whose words they are.
    """

    number: int
    text: str
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Where a signature of a check was found. `strength`: how many letters it demanded; `captures`: what its groups hold."""

    line: int
    quote: str
    strength: int
    captures: Mapping[str, str] = field(default_factory=dict)
    source: str = ""

    @property
    def place(self) -> str:
        return self.source or f"line {self.line}"
