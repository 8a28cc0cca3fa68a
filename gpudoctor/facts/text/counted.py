"""Counters of errors that stand at zero."""

from __future__ import annotations

import re

from gpudoctor.model.lazy_pattern import lazy

LONGEST = 600
"""Letters of a line that are looked at."""
_FAULT = (
    r"(?:xid(?: ?#?\d{1,3})?|errors?|failures?|faults?|warnings?|crash(?:es)?|timeouts?|hangs?|resets?|violations?|mismatch(?:es)?|"
    r"(?:un)?correctable|(?:remapped|retired|pending)[\w ]{0,12}|replays?|ooms?|exceptions?)"
)
_SUM = r"(?:[ _-](?:count(?:er)?s?|total|events?|occurrences|summary|volatile|aggregate|seen|found|sum|hits))?"
_ZERO = r"(?:0(?:\.0)?|none|zero)\b(?![.\d:x%])"
_COUNTERS = (
    rf"\b{_FAULT}(?:[ _-]{_FAULT})?{_SUM}['\"\]]?\s{{0,4}}[:=|│]\s{{0,8}}['\"]?{_ZERO}['\"]?\s{{0,8}}(?:[|│,;).\]}}]|$)",
    rf"\b(?:count(?:er)?s?|number|total|occurrences) of (?:\w+ ){{0,2}}{_FAULT}\s?(?:[:=]|is|was)\s?{_ZERO}",
    rf"^\W{{0,4}}\w{{0,60}}{_FAULT}\w{{0,20}}\{{[^}}]{{0,300}}\}} 0(?:\.0)?\s*$",
    rf"^\W{{0,4}}\w{{1,60}}_{_FAULT}(?:_total|_count)? 0(?:\.0)?\s*$",
    rf"^\W{{0,12}}(?:\w+ ){{0,2}}summary: 0 {_FAULT}",
    rf"(?<![\w.-])0 (?:x )?{_FAULT}(?: (?:in|on|since|during|over|after|for|total|seen|found|reported|logged)\b|\s*[,;.)]|\s*$)",
)
_AT_ZERO = lazy("|".join(_COUNTERS), re.IGNORECASE)
_MORE = lazy(
    rf"\b{_FAULT}{_SUM}['\"\]]?\s{{0,4}}[:=|│]\s{{0,8}}['\"]?[1-9]|\b[1-9]\d{{0,8}} (?:x )?{_FAULT}\b|\berror: |\*ERROR\*|\bfailed\b|"
    rf"\bbut\b|\bhowever\b|\bstill\b",
    re.IGNORECASE,
)


def is_at_zero(text: str) -> bool:
    """'Xid 54 count: 0', 'ERROR SUMMARY: 0 errors', '| uncorrectable | 0 |', and no other number or message in the line."""
    text = text[:LONGEST]
    return _AT_ZERO.search(text) is not None and _MORE.search(text) is None
