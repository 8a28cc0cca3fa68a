"""Selects the checks that a text may concern: by the literals in their heads, then by their signatures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from msgspec.structs import replace

from gpudoctor.facts.text.line_heads import other_program
from gpudoctor.facts.text.polarity import TROUBLE, polarity, sentences_of
from gpudoctor.facts.text.topics import OTHER_ACCELERATORS
from gpudoctor.facts.text.topics import VENDORS as VENDOR_WORDS
from gpudoctor.model.check import Check, Stack
from gpudoctor.model.facts import Facts
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.signature import COMPLAINT, FAILURE, LOG, Hit, Signature
from gpudoctor.rules.literals import occurs
from gpudoctor.rules.signatures import SearchedText, letters
from gpudoctor.rules.synonyms import spelled

_DML = ("directml*", "*_directml", "dml", "tfdml*")
_PLUG_INS: Mapping[str, tuple[str, ...]] = {
    "torch-directml": _DML, "pytorch-directml": _DML, "tensorflow-directml": _DML, "torch-opencl": ("pytorch_ocl", "ocl:*", "dlprim*"),
}  # fmt: skip
"""Stacks of every vendor that are one plug-in, and the words that name it. Its messages are those of all plug-ins of torch."""
A_SENTENCE = 32
"""The number of letters from which a message is unlikely to come from another program."""
_IDENTIFIER = lazy(r"_|::|[a-z]\d|\d[a-z]|\.(?:so|dll|py|cpp|dylib)\b|/")
_SAME_MESSAGE = 3
"""The number of lines above and below a line that may belong to the same message."""
MOST_HITS = 12
"""The largest number of places that are kept for one check; more add no evidence."""


def may_show(text: SearchedText, head: Mapping[str, Any]) -> bool:
    """Whether the text contains all literals of one signature of the check. Raises KeyError for the head of a check without signatures."""
    return any(all(map(text.holds_any, choices)) for choices in head["signature"])


def concerned(checks: Sequence[Check], stacks: Sequence[Stack], facts: Facts) -> list[Check]:
    """The checks that may have a finding for a text: a check is left out where the text shows only other stacks, or only cards of other
    vendors."""
    shown = _Shown(stacks, facts)
    return [check for check in checks if not check.signatures or shown.nothing_else_than(check)]


class _Shown:
    """The stacks and vendors that a text mentions, compared with those of a check."""

    def __init__(self, stacks: Sequence[Stack], facts: Facts) -> None:
        self._stacks = set(facts.value("text.stacks") or ())
        self._vendors = set(facts.value("text.vendors") or ())
        self._served = {stack.stack: set(stack.vendors) for stack in stacks}
        self._words = {stack.stack: "|".join(stack.names.words) for stack in stacks if stack.names.words}

    def nothing_else_than(self, check: Check) -> bool:
        named = {stack for stack in check.stacks if stack in self._served}
        if not named or any(not self._served[stack] for stack in named):
            return True  # A stack of every vendor: its signatures name the program.
        if self._vendors:
            return bool(self._vendors & self._vendors_of(named))
        return not self._stacks or bool(self._stacks & named) or not named <= set(self._words)

    def has_gpu_of(self, check: Check) -> bool:
        """Whether the text shows a GPU, or names a stack of one vendor, that the check is about."""
        named = {stack for stack in check.stacks if self._served.get(stack)}
        return bool(self._stacks & named or self._vendors & (self._vendors_of(named) or self._vendors))

    def stack_of(self, check: Check) -> bool:
        """Whether the text contains words of a stack or vendor of the check."""
        named = {stack for stack in check.stacks if stack in self._served}
        return bool(self._stacks & named or self._vendors & self._vendors_of(named))

    def words_of(self, check: Check) -> list[str]:
        """Regular expressions for the stacks of a check and their vendors; for all stacks where the check concerns every vendor."""
        named = {stack for stack in check.stacks if stack in self._served}
        vendors = self._vendors_of(named)
        if not vendors:
            return [*self._words.values(), *VENDOR_WORDS.values()]
        of_stacks = [pattern for name, pattern in self._words.items() if name in named]
        return of_stacks + [pattern for name, pattern in VENDOR_WORDS.items() if name in vendors]

    def _vendors_of(self, stacks: set[str]) -> set[str]:
        return set().union(*(self._served[stack] for stack in stacks))


class _Speakers:
    """Determines which program printed a message. The message of a program that does not use a GPU counts only where it names the stack
    itself."""

    def __init__(self, text: SearchedText, shown: _Shown | None) -> None:
        self._text = text
        self._shown = shown
        self._said: dict[int, tuple[str, str]] = {}
        """By the number of a line: the other program named at its beginning (empty for none), and its message in lower case."""

    def may_mean(self, hit: Hit, check: Check, signature: Signature) -> bool:
        if self._shown is None or hit.role not in (FAILURE, LOG):
            return True
        if hit.line not in self._said:
            self._said[hit.line] = self._message(hit.line)
        program, message = self._said[hit.line]
        if not program or any(program in literal for choice in (*signature.text, *signature.context) for literal in choice):
            return True
        return any(re.search(pattern, message) for pattern in self._shown.words_of(check))

    def _message(self, number: int) -> tuple[str, str]:
        above, line, below = self._text.around(number, _SAME_MESSAGE)
        program = other_program(line)
        if not program:
            return "", ""
        return program, "\n".join([line, *(near for near in (*above, *below) if other_program(near) == program)]).lower()


def has_own_words(signature: Signature) -> bool:
    """Whether a signature requires more than everyday words: the name of a program, an identifier ('cudnn_status_bad_param') or a whole
    sentence. Everyday words ('out of memory', 'algorithm not found') are printed by many programs."""
    if signature.context or sum(map(letters, signature.text)) >= A_SENTENCE:
        return True
    return any(all(_IDENTIFIER.search(literal) for literal in choice) for choice in signature.text)


def hits_in(text: SearchedText, checks: Sequence[Check], stacks: Sequence[Stack] = (), facts: Facts | None = None) -> dict[str, list[Hit]]:
    """By the id of a check, the places where the text contains one of its signatures. `facts` are those of a pasted text; the output of
    a tool on a known machine needs none."""
    shown = None if facts is None else _Shown(stacks, facts)
    signatures = [signature for check in checks for signature in check.signatures]
    text.look_for((*OTHER_ACCELERATORS, *(word for words in _PLUG_INS.values() for word in words)) if shown else ())
    text.look_for(literal for each in signatures for choice in (*each.text, *each.context) for literal in choice)
    speakers = _Speakers(text, shown)
    found: dict[str, list[Hit]] = {}
    for check in checks:
        if shown is not None and _of_another_accelerator(check, text, shown):
            continue
        for signature in check.signatures:
            meant = (hit for hit in hits_of(signature, text) if speakers.may_mean(hit, check, signature))
            hits = list(islice(meant, MOST_HITS))
            if hits:
                distinct = shown is None or has_own_words(signature) or shown.stack_of(check)
                found.setdefault(check.id, []).extend(hit if distinct else replace(hit, distinct=False) for hit in hits)
    return {name: strongest_first(hits)[:MOST_HITS] for name, hits in found.items()}


def _of_another_accelerator(check: Check, text: SearchedText, shown: _Shown) -> bool:
    """Whether the text names an accelerator or a plug-in that the check does not concern, and nothing that it concerns."""
    other = text.holds_any(OTHER_ACCELERATORS)
    own = {word for stack in check.stacks for word in _PLUG_INS.get(stack, ())}
    if own:
        others = [word for words in _PLUG_INS.values() for word in words if word not in own]
        return not text.holds_any(own) and (other or text.holds_any(others))
    return other and not shown.has_gpu_of(check) and not _names_one(check)


def _names_one(check: Check) -> bool:
    """Whether a signature of the check asks for the name of such an accelerator."""
    asked = {literal.strip("*") for each in check.signatures for choice in (*each.text, *each.context) for literal in choice}
    return any(word.strip("*") in literal for word in OTHER_ACCELERATORS for literal in asked)


def hits_of(signature: Signature, text: SearchedText) -> Iterator[Hit]:
    """The places where a text contains the signature. A sentence of a person's paragraph counts only where it reports the problem
    itself."""
    return (hit for hit in text.hits(signature) if hit.role != COMPLAINT or _complained_of(hit, signature, text))


def _complained_of(hit: Hit, signature: Signature, text: SearchedText) -> bool:
    above, line, below = text.around(hit.line, signature.within - 1)
    sentences = sentences_of(line)
    if len(sentences) < 2 or polarity(line) != TROUBLE:
        return True
    words = [word for choice in signature.text for word in spelled(choice)]
    with_them = [
        each for each in (*above, *sentences, *below) if any(occurs(each.lower().encode("utf-8", "replace"), word) for word in words)
    ]
    return not with_them or any(polarity(each) == TROUBLE for each in with_them)


def strongest_first(hits: Iterable[Hit]) -> list[Hit]:
    """The hits, the most specific first, and of equal ones that of the upper line: the first gives `said.*`, the quotation and the
    place."""
    return sorted(hits, key=lambda hit: (-hit.strength, hit.line))
