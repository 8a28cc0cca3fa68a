"""Reduces a log of any size to the lines that matter: one pass, chunk by chunk, with one automaton of all literals.

What is kept is bounded: the beginning, the end, and some lines around the first places where each literal stands.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from gpudoctor.facts.text.cleaning import LONGEST_LINE, clean, decode, lines_of
from gpudoctor.model.signature import Numbered

WHOLE = 1 << 20
"""Bytes up to which a text is read as it is."""
MOST_LINES = 40_000
"""Lines up to which a text is read in full, and to which a longer one is reduced, since every reader examines each line."""
CHUNK = 1 << 20
ENDS = 128 << 10
"""Bytes kept of the beginning and of the end."""
CARRIED = 32 << 10
"""Bytes at the end of a chunk that are searched again with the next one, so that no match is cut in two."""
EACH = 20
"""The largest number of places of one literal, as long as fewer than PLENTY lines are kept."""
PLENTY = 4_000
"""The number of kept lines from which on only the first place of each literal is added, since further ones are repetitions."""
MOST_KEPT = 6 << 20
"""The largest sum of bytes of kept lines, without the text's end. Reading them takes several times as much memory."""
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
    """Lines of a text, numbered as in the whole. `literals` is called for a long one; `progress` receives the number of bytes read."""
    source = iter(chunks)
    head = bytearray()
    for chunk in source:
        head += chunk
        if len(head) > WHOLE or head.count(b"\n") > MOST_LINES:
            return _reduced(_as_utf8(chain((bytes(head),), source)), literals(), progress)
    return lines_of(decode(bytes(head)))


def _as_utf8(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Recodes UTF-16, which PowerShell writes; everything else is searched as it is."""
    first = next(chunks, b"")
    if first[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        yield from chain((first,), chunks)
        return
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    for chunk in chain((first,), chunks):
        yield decoder.decode(chunk).encode("utf-8", "replace")


def _reduced(chunks: Iterator[bytes], literals: Sequence[str], progress: Callable[[int], None] | None) -> list[Numbered]:
    from ahocorasick_rs import BytesAhoCorasick  # imported late: most texts are short

    wanted = [literal.encode() for literal in dict.fromkeys((*ANCHORS, *literals))]
    automaton, seen = BytesAhoCorasick(wanted), [0] * len(wanted)
    kept = _Kept()
    carried, first_line, done = b"", 1, 0
    for chunk in _pieces(chunks):
        done += len(chunk)
        text = carried + chunk
        lines = _Lines(text, first_line)
        if first_line == 1 and not carried:
            kept.add(lines, 0, min(ENDS, len(text)))
        for number, begin, _ in automaton.find_matches_as_indexes(text.lower()):
            if seen[number] < (EACH if len(kept) < PLENTY else 1) and begin >= len(carried) // 2:
                seen[number] += 1
                behind = AFTER_ANCHOR if number < len(ANCHORS) else AROUND if len(kept) < PLENTY else AROUND // 3
                kept.add_around(lines, begin, 2 if number < len(ANCHORS) else behind, behind)
        cut = text.rfind(b"\n", 0, max(0, len(text) - CARRIED)) + 1
        first_line = lines.number_at(cut)
        carried = text[cut:][-2 * CARRIED :]
        if progress:
            progress(done)
    kept.add(lines, max(0, len(text) - ENDS), len(text), more=ENDS)
    return [Numbered(number, clean(row.decode("utf-8", "replace"))) for number, row in sorted(kept.rows.items())]


def _pieces(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces of one size, whatever the sizes of `chunks`."""
    for chunk in chunks:
        for begin in range(0, len(chunk), CHUNK):
            yield chunk[begin : begin + CHUNK]


class _Lines:
    """Line numbers within a piece. Matches come in order, so that each line end is counted about once."""

    def __init__(self, text: bytes, first: int) -> None:
        self.text = text
        self._at, self._number = 0, first

    def number_at(self, place: int) -> int:
        if place >= self._at:
            self._number += self.text.count(b"\n", self._at, place)
        else:
            self._number -= self.text.count(b"\n", place, self._at)
        self._at = place
        return self._number


class _Kept:
    """Lines of the text by their number, up to a limit of bytes and lines."""

    def __init__(self) -> None:
        self.rows: dict[int, bytes] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self.rows)

    def add_around(self, lines: _Lines, at: int, before: int, behind: int) -> None:
        text, begin, end = lines.text, at, at
        for _ in range(before + 1):
            found = text.rfind(b"\n", max(0, at - CARRIED), begin)
            if found < 0:
                break
            begin = found
        for _ in range(behind + 1):
            found = text.find(b"\n", end + 1, at + CARRIED)
            if found < 0:
                end = min(len(text), at + CARRIED)
                break
            end = found
        begin = begin + 1 if text[begin : begin + 1] == b"\n" else max(0, text.rfind(b"\n", max(0, at - CARRIED), at) + 1, at - CARRIED)
        self.add(lines, begin, end)

    def add(self, lines: _Lines, begin: int, end: int, more: int = 0) -> None:
        """Keeps the lines between two positions of the piece. `more` raises the limit of bytes by that many, that of lines by more // 8."""
        number = lines.number_at(begin)
        for row in lines.text[begin:end].split(b"\n"):
            longer = min(len(row), LONGEST_LINE) - len(self.rows.get(number, b""))
            if longer > 0 and self._size + longer <= MOST_KEPT + more and len(self.rows) < MOST_LINES + more // 8:
                self.rows[number] = row[:LONGEST_LINE]
                self._size += longer
            number += 1
