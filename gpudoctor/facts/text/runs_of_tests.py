"""Runs of pytest in a text of which all tests passed: which lines they printed."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.facts.text.sections import typed_in
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.signature import Numbered

LONGEST = 400
"""Lines of a run that are looked at."""
_COUNTS = r"\d{1,6} \w{4,12}(?:, \d{1,6} \w{4,12}){0,6}"
_SUMMARY = lazy(rf"^=* ?{_COUNTS} in \d[\d.:ms ()]{{0,30}}=*\s*$|^={{3,}} {_COUNTS} ={{3,}}\s*$")
"""'==== 12 passed, 1 xfailed in 3.21s ====', with -q without the marks."""
_BEGINS = lazy(r"^=+ test session starts =+")
_WARNS = lazy(r"^=+ warnings summary")
_BAD = lazy(r"\b(?:failed|errors?)\b")


def passed_runs(lines: Sequence[Numbered]) -> frozenset[int]:
    """The rows of the runs without a failure, except those below 'warnings summary': such warnings are real."""
    rows: set[int] = set()
    for end, line in enumerate(lines):
        found = _SUMMARY.match(line.text) if " passed" in line.text else None
        if found and _BAD.search(line.text) is None:
            begin = _beginning(lines, end)
            stop = next((row for row in range(begin, end) if _WARNS.match(lines[row].text)), end)
            rows.update(range(begin, stop))
    return frozenset(rows)


def _beginning(lines: Sequence[Numbered], end: int) -> int:
    """The first row of the run that ends at `end`: the command, pytest's header, or else the first row after an empty line."""
    paragraph = end
    for row in range(end - 1, max(-1, end - LONGEST), -1):
        text = lines[row].text
        if typed_in(text) or _BEGINS.match(text):
            return row
        if _SUMMARY.match(text):
            break
        if text.strip() and paragraph == row + 1:
            paragraph = row
    return paragraph
