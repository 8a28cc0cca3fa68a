"""Which checks a text speaks of: by the literals in their heads, then by their signatures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpudoctor.lang.signatures import SearchedText, letters
from gpudoctor.model.check import Check, Stack
from gpudoctor.model.facts import Facts
from gpudoctor.model.signature import Hit, Signature
from gpudoctor.readers.topics import WORDS as STACK_WORDS

A_SENTENCE = 32
"""Letters of a message from which on no other program is likely to have it."""
_IDENTIFIER = re.compile(r"_|::|[a-z]\d|\d[a-z]|\.(?:so|dll|py|cpp|dylib)\b|/")
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
    shown = _Shown(stacks, facts)
    return [check for check in checks if not check.signatures or shown.nothing_else_than(check)]


class _Shown:
    """The stacks and vendors that a text speaks of, held against those of a check."""

    def __init__(self, stacks: Sequence[Stack], facts: Facts) -> None:
        self._stacks = set(facts.value("text.stacks") or ())
        self._vendors = set(facts.value("text.vendors") or ())
        self._served = {stack.stack: set(stack.vendors) for stack in stacks}

    def nothing_else_than(self, check: Check) -> bool:
        named = {stack for stack in check.stacks if stack in self._served}
        if not named or any(not self._served[stack] for stack in named):
            return True  # A stack of every vendor: its signatures name the program.
        if self._vendors:
            return bool(self._vendors & self._vendors_of(named))
        return not self._stacks or bool(self._stacks & named) or not named <= set(STACK_WORDS)

    def stack_of(self, check: Check) -> bool:
        """Whether words of a stack or vendor of the check stand in the text."""
        named = {stack for stack in check.stacks if stack in self._served}
        return bool(self._stacks & named or self._vendors & self._vendors_of(named))

    def _vendors_of(self, stacks: set[str]) -> set[str]:
        return set().union(*(self._served[stack] for stack in stacks))


def has_own_words(signature: Signature) -> bool:
    """Whether a signature demands a program besides its message, or an identifier, or a whole sentence: 'cudnn_status_bad_param'.

    Everyday words alone ('out of memory', 'algorithm not found') are of many programs.
    """
    if signature.context or sum(map(letters, signature.text)) >= A_SENTENCE:
        return True
    return any(all(_IDENTIFIER.search(literal) for literal in choice) for choice in signature.text)


def hits_in(text: SearchedText, checks: Sequence[Check], stacks: Sequence[Stack] = (), facts: Facts | None = None) -> dict[str, list[Hit]]:
    """By check: where the text shows one of its signatures. `facts`: of a pasted text; what a tool of a known machine says has an owner."""
    shown = None if facts is None else _Shown(stacks, facts)
    signatures = [signature for check in checks for signature in check.signatures]
    text.look_for(literal for each in signatures for choice in (*each.text, *each.context) for literal in choice)
    found: dict[str, list[Hit]] = {}
    for check in checks:
        for signature in check.signatures:
            hits = [hit for hit, _ in zip(text.hits(signature), range(MOST_HITS), strict=False)]
            if hits:
                distinct = shown is None or has_own_words(signature) or shown.stack_of(check)
                found.setdefault(check.id, []).extend(hit if distinct else replace(hit, distinct=False) for hit in hits)
    return {name: sorted(hits, key=lambda hit: (-hit.strength, hit.line))[:MOST_HITS] for name, hits in found.items()}
