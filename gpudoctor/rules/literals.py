"""Searches the literals of signatures in a text.

A literal matches whole words; '*' at its begin or end matches part of a longer word. Inflected forms match ('driver' in 'drivers', 'fail'
in 'failed'), and a number behind a word is a word of its own ('cuda' in 'cuda12'). Texts are bytes in lower case, so that each byte is a
letter or not in any script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from gpudoctor.rules.synonyms import PREFIX

OPEN = "*"
_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyz")
_DIGITS = frozenset(b"0123456789")
_ENDING = re.compile(rb"(?:s|es|ed|d|ing)(?![a-z])")


def bare(literal: str) -> str:
    """The literal without its '*'."""
    return literal if literal.startswith(PREFIX) else literal.strip(OPEN)


@cache
def _needle(literal: str) -> bytes:
    return bare(literal).encode()


def places(text: bytes, literal: str) -> Iterator[int]:
    """The positions of the literal in the text, from left to right."""
    needle = _needle(literal)
    at = text.find(needle)
    while at >= 0:
        if stands(text, at, at + len(needle), literal):
            yield at
        at = text.find(needle, at + 1)


def occurs(text: bytes, literal: str) -> bool:
    """Whether the literal occurs in the text as whole words."""
    return _needle(literal) in text and next(places(text, literal), None) is not None


def stands(text: bytes, begin: int, end: int, literal: str) -> bool:
    """Whether text[begin:end], the letters of the literal, are whole words."""
    return (literal[0] == OPEN or _begins(text, begin)) and (literal[-1] == OPEN or _ends(text, end))


def _begins(text: bytes, begin: int) -> bool:
    if begin == 0:
        return True
    first, before = text[begin], text[begin - 1]
    if first in _LETTERS:
        return before not in _LETTERS
    return first not in _DIGITS or (before not in _LETTERS and before not in _DIGITS)


def _ends(text: bytes, end: int) -> bool:
    if end >= len(text):
        return True
    last, behind = text[end - 1], text[end]
    if last in _LETTERS:
        return behind not in _LETTERS or _ENDING.match(text, end) is not None
    return last not in _DIGITS or (behind not in _LETTERS and behind not in _DIGITS)
