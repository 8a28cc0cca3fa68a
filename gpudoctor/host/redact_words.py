"""Known names wherever they stand in a text as whole words, in one walk over its words, however many names there are."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cache

MOST = 5_000
"""Names that are looked for; what a hostile recording calls a name beyond that is replaced in its place alone."""
_WORD = re.compile(r"[^\W_]+")
_LIBRARY = re.compile(r"\.(?:so|dll|dylib)\b", re.IGNORECASE)
_LOCAL_VERSION = re.compile(r"\d\+\Z")


class Words:
    """Names and what they are: (kind, original). `protected`: words of several parts that no name in them may destroy (alice-utils)."""

    def __init__(self, protected: Collection[str]) -> None:
        self._known: dict[str, tuple[str, str]] = {}
        self._by_first: dict[str, list[tuple[int, str]]] = {}
        shields = [word for word in protected if re.search(r"[-_.]", word)]
        self._shields_of = cache(lambda name: [(word, word.index(name)) for word in shields if name in word])

    def get(self, name: str) -> tuple[str, str] | None:
        return self._known.get(name.casefold())

    def add(self, name: str, kind: str, original: str) -> None:
        name = name.casefold()
        first = _WORD.search(name)
        if first is None or (name not in self._known and len(self._known) >= MOST):
            return
        if name not in self._known:
            found = self._by_first.setdefault(first[0], [])
            found.append((first.start(), name))
            found.sort(key=lambda entry: -len(entry[1]))
        self._known[name] = (kind, original)

    def replaced(self, text: str, stand_in: Callable[[str, str], str]) -> str:
        """`stand_in(kind, original)` gives what stands there from now on.

        Not inside libalice or alice.so, and not in the local part of a version (1.0+alice).
        """
        if not self._known:
            return text
        kept: list[str] = []
        end = 0
        for word in _WORD.finditer(text):
            if word.start() < end:
                continue
            for offset, name in self._by_first.get(word[0].casefold(), ()):
                start = word.start() - offset
                if start >= end and self._stands(text, start, name):
                    kept += [text[end:start], stand_in(*self._known[name])]
                    end = start + len(name)
                    break
        return "".join([*kept, text[end:]]) if kept else text

    def _stands(self, text: str, start: int, name: str) -> bool:
        stop = start + len(name)
        if text[start:stop].casefold() != name or _in_word(text, stop) or (name[0].isalnum() and start and _in_word(text, start - 1)):
            return False
        if _LIBRARY.match(text, stop) or _LOCAL_VERSION.search(text[max(start - 2, 0) : start]):
            return False
        return not any(
            text[start - at : start - at + len(shield)].casefold() == shield and not _in_word(text, start - at + len(shield))
            for shield, at in self._shields_of(name)
            if start >= at
        )


def _in_word(text: str, at: int) -> bool:
    return at < len(text) and text[at].isalnum()
