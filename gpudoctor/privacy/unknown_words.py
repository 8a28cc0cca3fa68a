"""Unknown words: in a text whose fields have no known type, a word that is not one of machines, of software or of plain English
is replaced. The vocabulary is data (gpudoctor/data/vocabulary.txt, made by docs/vocabulary)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cache, lru_cache

from gpudoctor.model.package_data import data_text
from gpudoctor.privacy.technical_words import GROUPS, TECHNICAL
from gpudoctor.privacy.visible_text import folded

_OURS = frozenset("""user host domain share folder file project serial label sid name secret credentials email number gpudoctor""".split())
_TOKEN = re.compile(r"[^\s\"'`<>(){}\[\],;|=]+")
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u06ed\u0900-\u109f\u1780-\u17d3"
"""Blocks with vowel signs and points, which belong to the word that they stand in and are no letters by themselves."""
_RUN = re.compile(rf"[^\W_]+(?:[{_MARKS}]+[^\W_]*)*")
_SHORT_NAMES = re.compile(r"[\u0900-\u1fff\u3040-\ud7ff\U00020000-\U0003ffff]")
"""Scripts in which two letters are a name."""
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+|\d+")
_LIBRARY = re.compile(r"(?:lib[\w+.-]*|[\w+-]+)\.(?:so|dylib|dll)(?:\.\d+)*:?", re.IGNORECASE)
_PATH = re.compile(r"(?:[A-Za-z]:)?[/\\]+[\w.+-]+[/\\].*|/\w+|<\w+>.*")
_HEX = re.compile(r"(?:0x)?[0-9a-f]{1,10}|0x[0-9a-f]{1,16}|f{4}[0-9a-f]{12}", re.IGNORECASE)
_PLAIN_NUMBER = re.compile(
    r"\d{1,2}(?:st|nd|rd|th)|\d+(?:[kmgtp]?i?b(?:ps|s)?|[munpk]?s|x|d|h|m|w|v|mhz|ghz|bit|kb?|ko|fps|tflops)", re.IGNORECASE
)
_MANGLED = re.compile(r"_{1,3}ZT?[A-Za-z]{0,6}\d[\w.$]*:?")
_IDENTIFIER = re.compile(r"\d{1,3}(?=[A-Za-z_])")
_RIGHTS = re.compile(r"[bcdlps-][rwxsStT-]{9}[+.@]?")
_MEMBER = re.compile(r"(?!0x|cu|sm|gb|gfx)[a-z]{1,2}\d{6,}", re.IGNORECASE)
"""A letter and a long number: how universities and companies call their people."""
_STAMP = re.compile(r"\d{8}T\d{6}Z?|\d{4}-\d\d-\d\dT\d\d", re.IGNORECASE)
_GROUPS = re.compile(r"(?<![\w-])(?=[A-Z0-9-]{0,60}\d)[A-Za-z0-9]{4,6}(?:-[A-Za-z0-9]{4,6}){2,7}(?![\w-])")
_ENDINGS = ("s", "es", "ed", "d", "ing", "er", "ers", "ly", "able", "ation", "ations", "ity", "ive", "less", "ness", "al", "or", "ors")
_SHORTEST = 3
_BEGINNINGS = ("un", "re", "de", "non", "pre", "sub", "multi", "auto", "dis", "mis", "in", "micro", "over", "lib", "py", "nv", "amd", "hip",
               "roc", "cu", "sycl", "onnx", "tensor", "torch", "dev", "async", "mem", "hw", "gpu", "cpu", "num", "is", "has",
               "get", "set")  # fmt: skip


@cache
def vocabulary() -> frozenset[str]:
    """All known words in lower case."""
    text = data_text("vocabulary.txt")
    return frozenset(text.split()) | TECHNICAL | GROUPS | _OURS


class UnknownWords:
    """`protected`: further words to keep, of the catalogue and of installed packages. `named(word)`: whether it is a known name."""

    def __init__(self, protected: Collection[str]) -> None:
        self._words: frozenset[str] | None = None
        self._protected = protected
        self.knows = lru_cache(100_000)(self._knows)
        self._stays = lru_cache(100_000)(self._run_stays)

    def _knows(self, word: str) -> bool:
        """Whether one word of letters is technical or plain English."""
        lowered = word.lower()
        if len(lowered) < _SHORTEST or lowered in self._known:
            return True
        for ending in _ENDINGS:
            if lowered.endswith(ending) and len(lowered) - len(ending) >= _SHORTEST:
                stem = lowered[: -len(ending)]
                if stem in self._known or stem + "e" in self._known or (stem[-1] == stem[-2] and stem[:-1] in self._known):
                    return True
        return any(
            lowered.startswith(start) and len(lowered) - len(start) > 3 and lowered[len(start) :] in self._known for start in _BEGINNINGS
        )

    @property
    def _known(self) -> frozenset[str]:
        if self._words is None:
            self._words = vocabulary() | frozenset(word for word in self._protected if word.isalnum())
        return self._words

    def stays(self, name: str) -> bool:
        """Whether every word of a compound name is known, and none is random."""
        return name.lower() in self._protected or all(self._stays(run) for run in _RUN.findall(name))

    def _run_stays(self, run: str) -> bool:
        if run.isdigit() or run.lower() in self._known or _HEX.fullmatch(run) or _PLAIN_NUMBER.fullmatch(run) or _STAMP.fullmatch(run):
            return True
        if is_random(run) or _MEMBER.fullmatch(run):
            return False
        if not run.isascii():
            return not _SHORT_NAMES.search(run) and self._knows(re.sub(r"\d+", "", folded(run)))
        whole = re.sub(r"\d+", "", run)
        return all(part.isdigit() or self._knows(part) for part in _PART.findall(run)) or (
            whole.isalpha() and len(whole) > 3 and self._knows(whole)
        )

    def replaced(self, text: str, stand_in: Callable[[str], str]) -> str:
        """Replaces each unknown word by `stand_in(word)`. Paths and names of libraries are left to other modules."""
        text = _GROUPS.sub(lambda m: m[0] if self._plain_groups(m[0]) else stand_in(m[0]), text)
        if all(map(self._stays, _RUN.findall(text))):
            return text
        kept: list[str] = []
        end = 0
        for token in _TOKEN.finditer(text):
            if self._token_stays(token[0]):
                continue
            for run in _RUN.finditer(token[0]):
                if not self._stays(run[0]):
                    start = token.start() + run.start()
                    kept += [text[end:start], stand_in(run[0])]
                    end = token.start() + run.end()
        return "".join([*kept, text[end:]]) if kept else text

    def _token_stays(self, token: str) -> bool:
        if token.startswith(("/", "\\")) or token[1:3] in (":\\", ":/"):
            return _PATH.fullmatch(token) is not None
        if len(token) in (10, 11) and _RIGHTS.fullmatch(token):
            return True
        if token.startswith("_") and _MANGLED.fullmatch(token):
            return all(map(self.stays, _identifiers(token)))
        return token.isdigit() or _LIBRARY.fullmatch(token) is not None or token.lower() in self._protected

    def _plain_groups(self, groups: str) -> bool:
        parts = groups.split("-")
        return all(part.isdigit() and len(part) == 4 for part in parts) or (
            len(set(parts)) > 1 and all(part.isalpha() and self._knows(part) for part in parts)
        )


def _identifiers(symbol: str) -> list[str]:
    """The names in a mangled symbol of C++, each of which stands behind its length: torch and Node of _ZN5torch4NodeEv."""
    found, at = [], 0
    while (length := _IDENTIFIER.search(symbol, at)) is not None:
        at = length.end() + int(length[0])
        found.append(symbol[length.end() : at])
    return found


def is_random(run: str) -> bool:
    """Whether letters and digits alternate too often for a word or a model number: the word was generated."""
    length = len(run)
    if length < 8 or run.isdigit() or not run.isascii():
        return False
    parts = _PART.findall(run)
    if any(letter.isdigit() for letter in run):
        return length / len(parts) < 2.8 or length >= 24
    if run.islower() or run.isupper():
        return length >= 24
    return length >= 12 and length / len(parts) < 3.2
