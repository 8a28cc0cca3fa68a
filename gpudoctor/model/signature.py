"""What a program says when a trouble occurs, and where a text says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Literals = tuple[tuple[str, ...], ...]
"""All of the outer ones, each by any of its inner ones; in lower case. A literal stands for whole words; '*' at an end opens it."""

FAILURE, COMPLAINT, LOG, LISTING, CODE, COMMAND, ADVICE, PROSE = ROLES = (
    "failure", "complaint", "log", "listing", "code", "command", "advice", "prose",
)  # fmt: skip
"""What a line of a text is: a failure that a program reports (exception, level error or warning, kernel error); a person's complaint; a
progress or info line; a row of a listing; source code or configuration; a typed command; advice that is quoted; other prose."""
TROUBLE = (FAILURE, COMPLAINT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """One way in which a trouble shows in a text.

    `text` must stand within `within` lines of each other, one of those lines in one of the `roles`; `none_of` must not be there; `context`
    may be anywhere in the whole text; `pattern` (searched in those lines, case ignored) decides last, and its named groups become the
    facts `said.<name>`.
    """

    text: Literals
    none_of: tuple[str, ...] = ()
    context: Literals = ()
    pattern: str = ""
    within: int = 1
    roles: tuple[str, ...] = TROUBLE


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
    """Where a signature of a check was found. `strength`: how many letters it demanded; `captures`: what its groups hold; `role`: what
    the line is; `distinct`: whether the words belong to this program or stack, not to any program."""

    line: int
    quote: str
    strength: int
    captures: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    role: str = FAILURE
    distinct: bool = True

    @property
    def place(self) -> str:
        return self.source or f"line {self.line}"
