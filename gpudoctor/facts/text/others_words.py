"""Lines of a text that state nothing about the machine at hand: the quote that a reply answers, lines of files that a search found, and
boxes of a form that nobody ticked."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.facts.text.sections import typed_in
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.signature import Numbered

_MARK = lazy(r"^(?!>>>)(?:> ?){1,4}(?!>)\S")
_ANNOUNCED = lazy(r"\b(?:wrote|writes|said|schrieb|a écrit)\b[^.]{0,20}:\s*$")
_VERSION = lazy(r"\d\.\d")
_FOUND = lazy(r"^[\w./\\+-]{1,200}\.\w{1,8}[:-]\d{1,6}[:-](?!\d)(?! \S)(?!\s*$)")
"""'setup.py:12:torch==1.13', 'install.py:40:    # torch 1.7': what grep prints; a program's message has one space and its words there."""
_OF_A_FILE = lazy(r"^[\w./\\+-]{1,200}\.\w{1,8}[:-]\S?")
_COMMIT = lazy(r"^commit [0-9a-f]{6,64}\b")
_HEAD_OF_A_COMMIT = ("Author:", "Merge:", "Date:", "AuthorDate:", "Commit:", "CommitDate:")
_NOT_TICKED = lazy(r"^\s*[-*+] \[ ?\] ")
_SEARCHES = ("grep ", "rg ", "ag ", "ack ", "git grep ", "git log ", "git show ", "git diff ", "git blame ", "findstr ")


def at_hand(lines: Sequence[Numbered]) -> list[Numbered]:
    """The lines, where those that state nothing about the machine at hand are emptied, so that rows keep their numbers."""
    quoted = _answered_quote(lines) | messages_of_commits(lines)
    searching = False
    kept: list[Numbered] = []
    for row, line in enumerate(lines):
        typed = typed_in(line.text)
        searching = typed.startswith(_SEARCHES) and "|" not in typed if typed else searching and bool(line.text.strip())
        foreign = (
            row in quoted
            or _FOUND.match(line.text)
            or _NOT_TICKED.match(line.text)
            or (searching and not typed and _OF_A_FILE.match(line.text))
        )
        kept.append(Numbered(line.number, "") if foreign else line)
    return kept


def messages_of_commits(lines: Sequence[Numbered]) -> frozenset[int]:
    """The rows of the indented messages that git log and git show print below the head of a commit."""
    rows: set[int] = set()
    inside, headed = False, False
    for row, line in enumerate(lines):
        if _COMMIT.match(line.text):
            inside, headed = True, False
        elif inside and line.text.startswith(_HEAD_OF_A_COMMIT):
            headed = True
        elif headed and line.text[:4] == "    ":
            rows.add(row)
        elif line.text.strip():
            inside = headed = False
    return frozenset(rows)


def _answered_quote(lines: Sequence[Numbered]) -> frozenset[int]:
    """The rows of a quote with which a text begins, or that it announces, where the answer below states versions of its own."""
    quoted = [row for row, line in enumerate(lines) if line.quoted or _MARK.match(line.text)]
    if not quoted:
        return frozenset()
    above = next((line.text for line in reversed(lines[: quoted[0]]) if line.text.strip()), "")
    if above and not _ANNOUNCED.search(above):
        return frozenset()
    reply = [line.text for row, line in enumerate(lines) if row > quoted[0] and row not in set(quoted)]
    return frozenset(quoted) if any(_VERSION.search(text) for text in reply) else frozenset()
