"""A log of any size to the lines that matter: one pass, chunk by chunk, with one automaton of all literals.

What is kept is bounded: the beginning, the end, and some lines around the first places where each literal stands.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from gpudoctor.model.signature import Numbered
from gpudoctor.readers.cleaning import clean, decode, lines_of

WHOLE = 1 << 20
"""Bytes up to which a text is read as it is."""
CHUNK = 1 << 20
ENDS = 128 << 10
"""Bytes kept of the beginning and of the end."""
CARRIED = 32 << 10
"""Bytes of a chunk that are seen again with the next one, so that nothing is cut in two."""
EACH = 20
"""Places of one literal that are kept, while little is kept of the whole."""
PLENTY = 4_000
"""Lines kept from which on only the first place of each literal is added: what comes so often says the same each time."""
AROUND = 12
AFTER_ANCHOR = 140
"""Lines kept after the head of a listing that readers know."""
ANCHORS = (
    "collecting environment information", "pytorch version:", "nvidia-smi has failed", "| nvidia-smi", "number of platforms",
    "platform name  ",
    "rock module is", "[opencl:", "level_zero:gpu", "versions of relevant libraries", "package                ", "kernel driver in use",
    "microsoft-standard", "importerror:", "oserror:", "modulenotfounderror:", "driver version", "prettyname", "pretty_name=", "gc-info",
    "linux version ",
)  # fmt: skip


def read(chunks: Iterable[bytes], literals: Callable[[], Sequence[str]], progress: Callable[[int], None] | None = None) -> list[Numbered]:
    """Lines of a text, numbered as in the whole. `literals` are asked for a long one; `progress` is told how many bytes were read."""
    source = iter(chunks)
    head = bytearray()
    for chunk in source:
        head += chunk
        if len(head) > WHOLE:
            return _reduced(_as_utf8(chain((bytes(head),), source)), literals(), progress)
    return lines_of(decode(bytes(head)))


def _as_utf8(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """PowerShell's files are UTF-16; everything else is searched as it is."""
    first = next(chunks, b"")
    if first[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        yield from chain((first,), chunks)
        return
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    for chunk in chain((first,), chunks):
        yield decoder.decode(chunk).encode("utf-8", "replace")


class _Automaton:
    """All literals at once: a Rust library where it is there, else one search a literal."""

    def __init__(self, literals: Sequence[bytes]) -> None:
        self._literals = literals
        self._find: Callable[[bytes], Iterable[tuple[int, int, int]]]
        try:
            from ahocorasick_rs import BytesAhoCorasick

            automaton = BytesAhoCorasick(list(literals))
            self._find = lambda text: automaton.find_matches_as_indexes(text)
        except ImportError:
            self._find = self._one_by_one

    def matches(self, text: bytes) -> Iterable[tuple[int, int, int]]:
        """(number of the literal, begin, end)"""
        return self._find(text)

    def _one_by_one(self, text: bytes) -> list[tuple[int, int, int]]:
        found = []
        for number, literal in enumerate(self._literals):
            at, count = text.find(literal), 0
            while at >= 0 and count < EACH:
                found.append((number, at, at + len(literal)))
                at, count = text.find(literal, at + 1), count + 1
        return found


def _reduced(chunks: Iterator[bytes], literals: Sequence[str], progress: Callable[[int], None] | None) -> list[Numbered]:
    wanted = [literal.encode() for literal in dict.fromkeys((*ANCHORS, *literals))]
    automaton, seen = _Automaton(wanted), [0] * len(wanted)
    kept: dict[int, bytes] = {}
    carried, first_line, done = b"", 1, 0
    for chunk in _pieces(chunks):
        done += len(chunk)
        text = carried + chunk
        small = text.lower()
        if first_line == 1 and not carried:
            _keep(text, 0, min(ENDS, len(text)), first_line, kept)
        for number, begin, _ in automaton.matches(small):
            if seen[number] < (EACH if len(kept) < PLENTY else 1) and begin >= len(carried) // 2:
                seen[number] += 1
                behind = AFTER_ANCHOR if number < len(ANCHORS) else AROUND if len(kept) < PLENTY else AROUND // 3
                _keep_around(text, begin, 2 if number < len(ANCHORS) else behind, behind, first_line, kept)
        cut = text.rfind(b"\n", 0, max(0, len(text) - CARRIED)) + 1
        first_line += text.count(b"\n", 0, cut)
        carried = text[cut:][-2 * CARRIED :]
        last, last_line = text, first_line - text.count(b"\n", 0, cut)
        if progress:
            progress(done)
    _keep(last, max(0, len(last) - ENDS), len(last), last_line, kept)
    return [Numbered(number, clean(kept[number].decode("utf-8", "replace"))) for number in sorted(kept)]


def _pieces(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Chunks of one size, whatever the sizes were that came."""
    for chunk in chunks:
        for begin in range(0, len(chunk), CHUNK):
            yield chunk[begin : begin + CHUNK]


def _keep_around(text: bytes, at: int, before: int, behind: int, first_line: int, kept: dict[int, bytes]) -> None:
    begin = at
    for _ in range(before + 1):
        found = text.rfind(b"\n", max(0, at - CARRIED), begin)
        if found < 0:
            break
        begin = found
    end = at
    for _ in range(behind + 1):
        found = text.find(b"\n", end + 1, at + CARRIED)
        if found < 0:
            end = min(len(text), at + CARRIED)
            break
        end = found
    begin = begin + 1 if text[begin : begin + 1] == b"\n" else max(0, text.rfind(b"\n", max(0, at - CARRIED), at) + 1, at - CARRIED)
    _keep(text, begin, end, first_line, kept)


def _keep(text: bytes, begin: int, end: int, first_line: int, kept: dict[int, bytes]) -> None:
    number = first_line + text.count(b"\n", 0, begin)
    for row in text[begin:end].split(b"\n"):
        if len(row) > len(kept.get(number, b"")):
            kept[number] = row[:20_000]
        number += 1
