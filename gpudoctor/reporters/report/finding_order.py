"""The findings as a screen shows them: at most three that are certain or likely, one question where there is none, and the rest in a
line."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from gpudoctor.model.report import Finding

MOST = 3
_OPENINGS = frozenset(
    "A All An Another Building Each Every In Installing Memory Most No Nothing On One Only Other Out Packages Programs Several "
    "The There This Two Under You".split()
)
"""Words that open a title and are no names: they begin with a small letter within a sentence."""


class Arranged(Struct, frozen=True):
    """`shown` are explained in full; `question` is the best guess where nothing is likelier; `possible` and `hints` are one line each."""

    shown: tuple[Finding, ...]
    question: Finding | None
    possible: tuple[Finding, ...]
    hints: tuple[Finding, ...]
    left_out: int


def arrange(findings: Sequence[Finding], most: int | None = MOST) -> Arranged:
    """Sorts the findings into these groups. `most`: how many are explained; None for all."""
    serious = [finding for finding in findings if _matters(finding) and finding.confidence != "possible"]
    possible = [finding for finding in findings if _matters(finding) and finding.confidence == "possible"]
    hints = tuple(finding for finding in findings if not _matters(finding))
    question = possible.pop(0) if possible and not serious else None
    shown = serious if most is None else serious[:most]
    keys = {finding.key for finding in shown}
    possible = [finding for finding in possible if finding.caused_by not in keys]
    return Arranged(tuple(shown), question, tuple(possible), hints, len(serious) - len(shown))


def _matters(finding: Finding) -> bool:
    """Whether the finding is more than a hint: an info counts only where the text itself shows it."""
    return finding.severity != "info" or bool(finding.said_at)


def question_of(finding: Finding) -> str:
    """The question for a person: the check's own, else its title as a question."""
    title = finding.title
    if ": " in title and not finding.ask:
        return f"Is this the problem? {title}"
    return finding.ask or f"Is this the problem: {title[:1].lower() + title[1:] if _plain(title) else title}?"


def _plain(title: str) -> bool:
    """Whether the first word of a title is an ordinary word and not a name."""
    return title.split(" ")[0] in _OPENINGS
