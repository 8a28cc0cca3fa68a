"""Replaces known names that are whole words of a text, in one pass over its words, whatever the number of names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cache

from gpudoctor.privacy.visible_text import folded

MOST = 5_000
"""The largest number of names to search for. Further names, of a hostile recording, are replaced only in their own places."""
_WORD = re.compile(r"[^\W_]+")
_LIBRARY = re.compile(r"\.(?:so|dll|dylib)\b", re.IGNORECASE)
_LOCAL_VERSION = re.compile(r"\d\+\Z")


class Words:
    """Names with (kind, original). `protected`: compound words in which no name is replaced (alice-utils).

    Spellings that differ in case, accents or the form of their letters are one name (Nußbaum, NUSSBAUM).
    """

    def __init__(self, protected: Collection[str]) -> None:
        self._known: dict[str, tuple[str, str]] = {}
        self._by_first: dict[str, list[tuple[str, list[str]]]] = {}
        shields = [word for word in protected if re.search(r"[-_.]", word)]
        self._shields_of = cache(lambda name: [(word, word.index(name)) for word in shields if name in word])

    def get(self, name: str) -> tuple[str, str] | None:
        return self._known.get(_key(name))

    def add(self, name: str, kind: str, original: str) -> None:
        key = _key(name)
        parts = re.split(r"([\W_]+)", key.strip("_-. "))
        if not parts[0] or (key not in self._known and len(self._known) >= MOST):
            return
        if key not in self._known:
            found = self._by_first.setdefault(parts[0], [])
            found.append((key, parts))
            found.sort(key=lambda entry: -len(entry[0]))
        self._known[key] = (kind, original)

    def replaced(self, text: str, stand_in: Callable[[str, str], str]) -> str:
        """Replaces each name by `stand_in(kind, original)`.

        Not inside libalice or alice.so, and not in the local part of a version (1.0+alice).
        """
        if not self._known or (text.isascii() and self._by_first.keys().isdisjoint(_WORD.findall(text.lower()))):
            return text
        kept: list[str] = []
        end = 0
        for word in _WORD.finditer(text):
            if word.start() < end:
                continue
            for key, parts in self._by_first.get(folded(word[0]), ()):
                stop = self._stop(text, word, parts)
                if stop and self._stands(text, word.start(), stop, key):
                    kept += [text[end : word.start()], stand_in(*self._known[key])]
                    end = stop
                    break
        return "".join([*kept, text[end:]]) if kept else text

    def _stop(self, text: str, word: re.Match[str], parts: list[str]) -> int:
        """The end of the name that begins with this word; 0 where no name does."""
        at = word.end()
        for number in range(1, len(parts), 2):
            separator, wanted = parts[number], parts[number + 1]
            if not text.startswith(separator, at):
                return 0
            at += len(separator)
            if wanted:
                following = _WORD.match(text, at)
                if following is None or folded(following[0]) != wanted:
                    return 0
                at = following.end()
        return at

    def _stands(self, text: str, start: int, stop: int, key: str) -> bool:
        if _LIBRARY.match(text, stop) or _LOCAL_VERSION.search(text[max(start - 2, 0) : start]):
            return False
        return not any(
            text[start - at : start - at + len(shield)].casefold() == shield and not _in_word(text, start - at + len(shield))
            for shield, at in self._shields_of(key)
            if start >= at
        )


@cache
def _key(name: str) -> str:
    return folded(name)


def _in_word(text: str, at: int) -> bool:
    return at < len(text) and text[at].isalnum()
