"""Whether a sentence reports a trouble: negation, resolution and hypothesis are recognised here, once for all checks."""

from __future__ import annotations

import re

from gpudoctor.facts.text import trouble_words as words
from gpudoctor.facts.text.trouble_words import any_of
from gpudoctor.model.lazy_pattern import lazy

TROUBLE, FINE, HYPOTHETICAL, NEUTRAL = "trouble", "fine", "hypothetical", "neutral"

_KINDS = (
    words.NOT_THERE, words.IMPOSSIBLE, words.DEMANDED, words.FAILING, words.HANGING, words.SHORT_OF, words.WRONG, words.SLOW,
)  # fmt: skip
_TROUBLE = lazy(
    "|".join((
        any_of(words.ANYWHERE, whole=False), any_of(*_KINDS),
        rf"\bnot?\b[ -](?:\w+ ){{0,2}}{any_of(words.NOT_SO)}", rf"\bno {any_of(words.NONE_OF)}",
    )), re.IGNORECASE,
)  # fmt: skip
_DENIED = lazy(any_of(words.DENIED, whole=False), re.IGNORECASE)
_QUOTED_IN_VAIN = lazy(any_of(words.QUOTED_IN_VAIN, whole=False), re.IGNORECASE)
_AT_ODDS = lazy(any_of(words.AT_ODDS), re.IGNORECASE)
_SETTLED = lazy(f"{any_of(words.SETTLED)}|{any_of(words.SETTLED_BY_A_MARK, whole=False)}", re.IGNORECASE)
_SETTLING_NEGATED = lazy(any_of(words.NOT_SETTLED, whole=False), re.IGNORECASE)
_HYPOTHETICAL = lazy(rf"[\"']if you\b|^\W*{any_of(words.IF_AT_ALL)}|{any_of(words.WISHED)}", re.IGNORECASE)
_FORMER = lazy(any_of(words.FORMER, whole=False), re.IGNORECASE)
_OVER = lazy(any_of(words.OVER), re.IGNORECASE)
_AGAIN = lazy(any_of(words.AGAIN), re.IGNORECASE)
_CLAUSES = lazy(
    r"(?<=[.;!?])\s+|\s{1,4}(?:but|however|though|although|yet|while|whereas|except)\s+|\s[-–—]\s|,\s(?=(?:it|this|that|the|and|then|so|i|we)\b)",
    re.IGNORECASE,
)
_JOINED = lazy(r"(?<=[A-Za-z])_(?=[A-Za-z])")
_SENTENCES = lazy(r"(?<=[A-Za-z0-9)\"'][.!?])\s+(?=[\"'(]?[A-Z])")
LONGEST = 1_200
"""Letters of a line that are weighed."""


def polarity(text: str, *, prose: bool = True) -> str:
    """trouble, fine, hypothetical or neutral. In the output of a program (`prose` false) nothing is hypothetical."""
    if prose and _OVER.search(text) and not _AGAIN.search(text):
        return FINE
    of_clauses = _of_clauses(_QUOTED_IN_VAIN.sub(" ", text[:LONGEST]), prose)
    if of_clauses == NEUTRAL and _QUOTED_IN_VAIN.search(text[:LONGEST]):
        return FINE
    return TROUBLE if of_clauses == NEUTRAL and _AT_ODDS.search(text[:LONGEST]) else of_clauses


def sentences_of(text: str) -> list[str]:
    return _SENTENCES.split(text[:LONGEST])


def _of_clauses(text: str, prose: bool) -> str:
    """The polarity of the first clause that reports a trouble, else of the first that is not neutral."""
    result = NEUTRAL
    for clause in _CLAUSES.split(_JOINED.sub(" ", text)):
        of_clause = _of_clause(clause, prose)
        if of_clause == TROUBLE:
            return TROUBLE
        result = of_clause if result == NEUTRAL else result
    return result


def _of_clause(clause: str, prose: bool) -> str:
    troubled = _TROUBLE.search(clause) is not None and _TROUBLE.search(_DENIED.sub(" ", clause)) is not None
    if _SETTLED.search(clause) and not _SETTLING_NEGATED.search(clause):
        return FINE
    if not troubled:
        return FINE if _DENIED.search(clause) else NEUTRAL
    if prose and _FORMER.search(clause):
        return FINE
    return HYPOTHETICAL if prose and _HYPOTHETICAL.search(clause) else TROUBLE
