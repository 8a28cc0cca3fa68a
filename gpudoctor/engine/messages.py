"""Which checks a text speaks of: by the literals in their heads, then by their signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpudoctor.lang.signatures import SearchedText
from gpudoctor.model.check import Check
from gpudoctor.model.signature import Hit

MOST_HITS = 12
"""Places of one check that are kept: more prove no more."""


def speaks_without_a_message(head: Mapping[str, Any]) -> bool:
    """Whether a check can have a finding where no text is at hand. `head`: as catalog.loader describes it."""
    return "signature" not in head or bool(head["proactive"])


def may_show(text: SearchedText, head: Mapping[str, Any]) -> bool:
    """Whether the text holds all literals of a signature of the check. Raises KeyError for the head of one without signatures."""
    return any(all(map(text.holds_any, choices)) for choices in head["signature"])


def hits_in(text: SearchedText, checks: Sequence[Check]) -> dict[str, list[Hit]]:
    """By check: where the text shows one of its signatures."""
    signatures = [signature for check in checks for signature in check.signatures]
    text.look_for(literal for each in signatures for choice in (*each.text, *each.context) for literal in choice)
    found: dict[str, list[Hit]] = {}
    for check in checks:
        for signature in check.signatures:
            hits = [hit for hit, _ in zip(text.hits(signature), range(MOST_HITS), strict=False)]
            if hits:
                found.setdefault(check.id, []).extend(hits)
    return {name: sorted(hits, key=lambda hit: (-hit.strength, hit.line))[:MOST_HITS] for name, hits in found.items()}
