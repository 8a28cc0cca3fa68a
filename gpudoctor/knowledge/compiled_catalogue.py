"""The compiled catalogue: one file from which only the checks are read that can speak, whatever the number of the others.

    gpudoctor catalogue 9                      the format
    {"version": …, "stacks": […], …}           a line of JSON: what is read each time
    word<TAB>place place …                     sorted lines: the checks whose message can stand in a text with this word
    <an empty line>
    {"file": …, "head": …, "table": "…"}       a line of JSON for each check; its place is where it begins, in bytes from the first

The header also says which checks can speak without a message, by one of the facts that each of them needs.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import DecodeError
from msgspec.json import decode

from gpudoctor.rules.literal_words import finding_words, words_of
from gpudoctor.rules.synonyms import spelled

if TYPE_CHECKING:
    from gpudoctor.model.check import Catalogue, Check

FORMAT = 9
MAGIC = b"gpudoctor catalogue %d\n" % FORMAT
_ANY = ""
"""Stands for a word or fact where none is needed."""

Entry = Mapping[str, Any]
"""A check that is not built: `file`, `topic`, its `head` (loader.head_of), and its `table` as JSON text."""


class Bytes(Protocol):
    """The methods that bytes in memory and a mapped file have in common."""

    def find(self, part: bytes, start: int, /) -> int: ...
    def rfind(self, part: bytes, start: int, end: int, /) -> int: ...
    def __getitem__(self, part: slice, /) -> bytes: ...
    def __len__(self) -> int: ...


class CompiledCatalogue:
    """Reads the output of `compiled`. Raises ValueError for other bytes, and for another format."""

    def __init__(self, content: Bytes) -> None:
        if content[: len(MAGIC)] != MAGIC:
            raise ValueError("it is of another version")
        self._content = content
        end = content.find(b"\n", len(MAGIC))
        try:
            header = decode(content[len(MAGIC) : end])
        except DecodeError as error:
            raise ValueError(str(error)) from None
        self.version: str = header["version"]
        self.redirects: Mapping[str, str] = header["redirects"]
        self.stacks: Sequence[Entry] = header["stacks"]
        self.key: str = header["key"]
        """The key of the files that the catalogue was made from."""
        self._by_fact: Mapping[str, Sequence[int]] = header["facts"]
        self._words = (end, end + header["words"])
        self._first = self._words[1] + 2
        if content[self._words[1] : self._first] != b"\n\n":
            raise ValueError("it is damaged")
        self._read: dict[int, Entry] = {}
        self.built: dict[str, Check] = {}
        """Checks that the loader has built from it, by id."""
        self.whole: Catalogue | None = None
        """All of them, where the loader has built all."""

    def entries(self) -> Iterator[Entry]:
        """All checks, in the order of their files."""
        at = 0
        while self._first + at < len(self._content):
            yield self._entry(at)
            at = self._content.find(b"\n", self._first + at) + 1 - self._first

    def with_words(self, words: Iterable[str]) -> list[Entry]:
        """The checks whose message may occur in a text of these words (rules.literal_words.words_in)."""
        return self._entries_at(place for word in (*words, _ANY) for place in self._places_of(word.encode()))

    def with_facts(self, known: Callable[[str], bool]) -> list[Entry]:
        """The checks that may have a finding without a message where only the facts `known` are known."""
        return self._entries_at(place for name, places in self._by_fact.items() if name == _ANY or known(name) for place in places)

    def _entries_at(self, places: Iterable[int]) -> list[Entry]:
        return [self._entry(place) for place in sorted(set(places))]

    def _entry(self, place: int) -> Entry:
        known = self._read.get(place)
        if known is None:
            begin = self._first + place
            known = self._read[place] = decode(self._content[begin : self._content.find(b"\n", begin)])
        return known

    def _places_of(self, word: bytes) -> list[int]:
        """The positions of the checks of a word, by bisection of the sorted lines."""
        low, high = self._words
        while low < high:
            begin = self._content.rfind(b"\n", low, (low + high) // 2 + 1) + 1
            end = self._content.find(b"\n", begin)
            found, _, places = self._content[begin:end].partition(b"\t")
            if found == word:
                return [int(place) for place in places.split()]
            if found < word:
                low = end
            else:
                high = begin - 1
        return []


def compiled(checks: Sequence[Entry], stacks: Sequence[Entry], redirects: Mapping[str, str], version: str, key: str = "") -> bytes:
    """The compiled catalogue. `checks` and `stacks` are plain tables of JSON."""
    lines = [json.dumps(entry, separators=(",", ":")).encode() + b"\n" for entry in checks]
    places, at = [], 0
    for line in lines:
        places.append(at)
        at += len(line)
    heads = [entry["head"] for entry in checks]
    words, facts = _by_word(heads, places), _by_fact(heads, places)
    index = b"\n".join(b"%s\t%s" % (word.encode(), b" ".join(b"%d" % place for place in found)) for word, found in sorted(words.items()))
    header = {"version": version, "key": key, "stacks": stacks, "redirects": redirects, "facts": facts, "words": len(index) + 1}
    return b"".join((MAGIC, json.dumps(header, separators=(",", ":")).encode(), b"\n", index, b"\n\n", *lines))


def _by_word(heads: Iterable[Mapping[str, Any]], places: Iterable[int]) -> Mapping[str, Sequence[int]]:
    speaking = [(head, place) for head, place in zip(heads, places, strict=True) if "signature" in head]
    literals = (literal for head, _ in speaking for text in head["signature"] for choice in text for literal in spelled(choice))
    frequency = Counter(word for literal in literals for word in set(words_of(literal)))
    found: defaultdict[str, list[int]] = defaultdict(list)
    for head, place in speaking:
        words = [finding_words(text, frequency) for text in head["signature"]]
        for word in {_ANY} if None in words else {word for each in words for word in each or ()}:
            found[word].append(place)
    return found


def _by_fact(heads: Iterable[Mapping[str, Any]], places: Iterable[int]) -> Mapping[str, Sequence[int]]:
    """For each check that needs no message, the rarest fact that it needs; for a check per record, those records."""
    silent = [(head, place) for head, place in zip(heads, places, strict=True) if head.get("proactive", True)]
    frequency = Counter(name for head, _ in silent for name in head["facts"])
    found: defaultdict[str, list[int]] = defaultdict(list)
    for head, place in silent:
        found[head["for_each"] or min(head["facts"], key=lambda name: frequency[name], default=_ANY)].append(place)
    return found
