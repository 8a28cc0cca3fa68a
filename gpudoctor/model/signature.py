"""A signature: how the message of a program shows in a text; and the places where it was found."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

Literals = tuple[tuple[str, ...], ...]
"""A list of alternatives: each outer entry must occur, by any of its inner literals, which are lower case. A literal matches whole
words; '*' at an end matches part of a word."""

FAILURE, COMPLAINT, LOG, LISTING, CODE, COMMAND, ADVICE, PROSE = ROLES = (
    "failure", "complaint", "log", "listing", "code", "command", "advice", "prose",
)  # fmt: skip
"""The roles of a line: a failure that a program reports (exception, error, warning, kernel error); a person's complaint; a progress or
information line; a row of a listing; source code or configuration; a typed command; quoted advice; other prose."""
TROUBLE = (FAILURE, COMPLAINT)
SETTLED = "settled"
"""The role of a line about a trouble that is over, or that nobody has. No signature can ask for it."""


class Signature(Struct, frozen=True, kw_only=True):
    """One way in which a problem shows in a text.

    The literals of `text` must occur within `within` lines of each other, one of those lines in one of the `roles`; those of `none_of` must
    not occur; those of `context` may occur anywhere in the text. Last, `pattern` is searched in those lines, ignoring case; its named
    groups become the facts `said.<name>`.
    """

    text: Literals
    none_of: tuple[str, ...] = ()
    context: Literals = ()
    pattern: str = ""
    within: int = 1
    roles: tuple[str, ...] = TROUBLE


class Numbered(Struct, frozen=True):
    """A line of a text and its number, counted from 1.

    Messages of the machine's own tools are not part of a text: they have numbers below 0, and `source` names the tool.
    """

    number: int
    text: str
    source: str = ""
    quoted: bool = False
    """It stood behind the mark by which mail and Markdown quote somebody."""


class Hit(Struct, frozen=True, kw_only=True):
    """A place where a signature matched. `strength` is the number of letters that the signature requires, `captures` the content of its
    groups, `role` that of the line. `distinct`: the words belong to this program or stack and not to any program."""

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
