"""Which checks a text speaks of: by the literals in their heads, then by their signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpudoctor.lang.signatures import SearchedText
from gpudoctor.model.check import Check, Stack
from gpudoctor.model.facts import Facts
from gpudoctor.model.signature import Hit
from gpudoctor.readers.topics import WORDS as STACK_WORDS

MOST_HITS = 12
"""Places of one check that are kept: more prove no more."""


def speaks_without_a_message(head: Mapping[str, Any]) -> bool:
    """Whether a check can have a finding where no text is at hand. `head`: as catalog.loader describes it."""
    return "signature" not in head or bool(head["proactive"])


def may_show(text: SearchedText, head: Mapping[str, Any]) -> bool:
    """Whether the text holds all literals of a signature of the check. Raises KeyError for the head of one without signatures."""
    return any(all(map(text.holds_any, choices)) for choices in head["signature"])


def concerned(checks: Sequence[Check], stacks: Sequence[Stack], facts: Facts) -> list[Check]:
    """The checks that may speak of a text: a check is silent where it shows other stacks or another vendor's card alone."""
    shown, vendors = set(facts.value("text.stacks") or ()), set(facts.value("text.vendors") or ())
    named_in_words = set(STACK_WORDS)
    served = {stack.stack: set(stack.vendors) for stack in stacks}

    def speaks(check: Check) -> bool:
        named = {stack for stack in check.stacks if stack in served}
        if not named or not check.signatures or any(not served[stack] for stack in named):
            return True  # A stack of every vendor: its signatures name the program.
        of_its_vendors = set().union(*(served[stack] for stack in named))
        return bool(vendors & of_its_vendors) if vendors else not shown or bool(shown & named) or not named_in_words.issuperset(named)

    return [check for check in checks if speaks(check)]


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
