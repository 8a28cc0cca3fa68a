"""A check against the facts of one of its own examples."""

from __future__ import annotations

from gpudoctor.engine.diagnose import outcomes
from gpudoctor.lang.signatures import SearchedText
from gpudoctor.model.check import Check
from gpudoctor.model.facts import Facts
from gpudoctor.readers.cleaning import lines_of
from gpudoctor.readers.roles import Roles

_WEIGHT = ("problem", "undetermined", "ok", "not-applicable")


def outcome_of(check: Check, facts: Facts, text: str = "") -> str:
    """The weightiest outcome over all items; no item at all is 'not-applicable'. `text`: what a person pasted."""
    numbered = lines_of(text)
    lines = SearchedText(numbered, Roles(numbered))
    hits = [hit for signature in check.signatures for hit in lines.hits(signature)] if text else []
    seen = {trace.outcome for trace, _ in outcomes(check, facts, hits)}
    return next((outcome for outcome in _WEIGHT if outcome in seen), "not-applicable")
