"""The words by which a signature is found: a text that holds none of them cannot hold the signature (rules.literals says what a word is).

A word is a run of ASCII letters in lower case. A literal stands at the edges of words, so that each run in it is a whole word of the text,
but for a run that the literal leaves open ('*') and for the last one, which the text may inflect.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from gpudoctor.rules.literals import OPEN, bare
from gpudoctor.rules.synonyms import spelled

_WORD = re.compile(rb"[a-z]+")
_INFLECTIONS = (b"s", b"es", b"ed", b"d", b"ing")


def words_in(text: bytes) -> frozenset[str]:
    """The words of a text in lower case, each also without its inflection."""
    found = set(_WORD.findall(text))
    stems = {word[: -len(ending)] for ending in _INFLECTIONS for word in found if word.endswith(ending)}
    return frozenset(word.decode() for word in found | stems)


def words_of(literal: str) -> list[str]:
    """The words that stand in every text that holds the literal, without '*' or a group's prefix. May be none."""
    text = bare(literal).encode()
    return [
        found[0].decode() for found in _WORD.finditer(text)
        if not (found.start() == 0 and literal[0] == OPEN) and not (found.end() == len(text) and literal[-1] == OPEN)
    ]  # fmt: skip


def finding_words(text: Sequence[Sequence[str]], frequency: Mapping[str, int]) -> Collection[str] | None:
    """Words of which at least one stands in every text that holds this `text` of a signature; the rarest ones by `frequency`.

    None where the signature is open at so many ends that there is no such word.
    """
    found = [words for choice in text if (words := _of_choice(choice, frequency)) is not None]
    return min(found, key=lambda words: sum(frequency.get(word, 0) for word in words), default=None)


def _of_choice(choice: Sequence[str], frequency: Mapping[str, int]) -> frozenset[str] | None:
    words = set()
    for literal in spelled(choice):
        known = words_of(literal)
        if not known:
            return None
        words.add(min(known, key=lambda word: (frequency.get(word, 0), -len(word))))
    return frozenset(words)
