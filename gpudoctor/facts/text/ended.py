"""Which texts say that their trouble is over, and which quotes report a trouble that only somebody else has."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gpudoctor.facts.text import line_shapes as shapes
from gpudoctor.facts.text.polarity import TROUBLE, polarity
from gpudoctor.facts.text.trouble_words import any_of
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.signature import Numbered

_MARK = lazy(r"^(?!>>>)(?:> ?){1,4}(?!>)\S")
_HERE = r"(?:here|for me|for us|on my (?:machine|side|system|end|pc|card|setup|box)|on our (?:side|machines|systems))"
_SEEN = r"(?:see|get|have|hit|observe|experience|reproduce)"
_DENIALS = (
    rf"(?:I|we) (?:do not|don't|did not|didn't|never) (?:\w+ )?{_SEEN} "
    r"(?:this|that|it|the (?:same )?(?:error|problem|issue|message|crash))",
    r"(?:cannot|can't|can not|could not|couldn't|not able to|unable to|failed to) reproduce",
    rf"(?:no such|not a) (?:error|problem|issue|message|crash) {_HERE}",
    rf"works (?:\w+ )?{_HERE}",
)
_DENIAL = lazy(any_of(_DENIALS), re.IGNORECASE)
_ON_PURPOSE = lazy(
    r"\b(?:I|we) (?:have |had )?(?:triggered|provoked|forced|injected|caused) "
    r"(?:this|it|these|that|them|the (?:reset|error|fault|crash|message))\b"
    r".{0,120}\b(?:to test|for (?:a|the|our) test|on purpose|deliberately|intentionally)\b",
    re.IGNORECASE,
)
"""'I triggered this to test our monitoring'."""
_SAME = lazy(r"\bsame (?:here|problem|issue|error|for me)\b|\bme too\b|\bbut\b[^.;]{0,60}\bI\b", re.IGNORECASE)


def is_over(lines: Sequence[Numbered], first: int, fails: Callable[[int], bool]) -> bool:
    """Whether the first line, the last lines or a line by itself says so: '[SOLVED] …', '… closing as resolved', 'Solved.'."""
    if shapes.SOLVED.match(lines[first].text) is not None or _by_a_line(lines, fails):
        return True
    if any(_ON_PURPOSE.search(line.text) for line in lines):
        return True
    if len(lines) < shapes.SHORTEST_DOCUMENT:
        return False
    last = [row for row in range(max(0, len(lines) - 12), len(lines)) if lines[row].text.strip()][-3:]
    well = [row for row in last if shapes.ENDS_WELL.search(lines[row].text) and not shapes.NOT_YET.search(lines[row].text)]
    return bool(well) and not _goes_on(well[-1], len(lines), fails)


def _goes_on(row: int, end: int, fails: Callable[[int], bool]) -> bool:
    """Whether a log that failed above this row also fails below it."""
    return any(map(fails, range(row + 1, end))) and any(map(fails, range(row)))


def _by_a_line(lines: Sequence[Numbered], fails: Callable[[int], bool]) -> bool:
    """Whether a line says only that the trouble is over, no complaint follows it, and no log that failed above it fails again below."""
    solved = next((row for row in reversed(range(len(lines))) if _says_so(lines[row].text)), None)
    if solved is None or lines[solved].text.rstrip().endswith("?"):
        return False
    if any(shapes.OPEN_AGAIN.search(line.text) and polarity(line.text) == TROUBLE for line in lines[solved + 1 :]):
        return False
    return not _goes_on(solved, len(lines), fails)


def _says_so(text: str) -> bool:
    if shapes.SOLVED_NOW.match(text) or shapes.WAS_SOLVED.search(text):
        return shapes.OPEN_AGAIN.search(text) is None
    return shapes.GONE_NOW.search(text) is not None and shapes.ON_CONDITION.search(text) is None and shapes.NOT_YET.search(text) is None


def denied(lines: Sequence[Numbered], troubles: Callable[[int], bool]) -> frozenset[int]:
    """The rows of quoted troubles, and of the answers that deny them: 'I do not see this on my machine'."""
    quotes = frozenset(row for row, line in enumerate(lines) if line.quoted or _MARK.match(line.text))
    if not quotes:
        return quotes
    unquoted = [row for row in range(min(quotes) + 1, len(lines)) if row not in quotes]
    answers = [row for row in unquoted if _DENIAL.search(lines[row].text) and polarity(_DENIAL.sub(" ", lines[row].text)) != TROUBLE]
    if (
        not answers
        or any(_SAME.search(lines[row].text) for row in unquoted)
        or any(troubles(row) for row in unquoted if row not in answers)
    ):
        return frozenset()
    return frozenset((*(row for row in quotes if row < answers[-1]), *answers))
