"""Finds signatures in a text: literals first; where all of them occur, the regular expression on those few lines.

The work is linear in the text. In a short text each literal is searched for by itself, in a long one all of them in one pass. Windows are
limited in number and size, and expressions take linear time for them (knowledge.slow_patterns measures each).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gpudoctor.model.deadline import Deadline
from gpudoctor.model.signature import FAILURE, Hit, Literals, Numbered, Signature
from gpudoctor.rules.literal_words import words_in
from gpudoctor.rules.literals import bare, occurs, places, stands
from gpudoctor.rules.operators import compiled
from gpudoctor.rules.synonyms import PREFIX, members, spelled

RoleOf = Callable[[int], str]
"""The role of a line, by its index among the lines."""

LONGEST_WINDOW = 6_000
"""The largest number of characters that an expression is applied to: the length of a message, not of a file without line ends."""
MOST_WINDOWS = 40
"""The largest number of places that are examined for one anchor; a message that is repeated often has the same content each time."""
QUOTED = 240
_DENIES = re.compile(
    rb"^\s*(?:is (?:cuda|xpu|rocm|mps) available|(?:cuda|rocm|hip|xpu|miopen) (?:used to build pytorch|runtime version|version))\s*:"
    rb"\s*(?:n/a|none|no|false|could not collect)\s*$"
)
"""Lines of environment reports that say that something is absent."""
_NEAR = 60
"""The number of bytes beside a mention that can deny it."""
_NOT_HERE = re.compile(
    rb"(?:\b(?:have|has|had|got|with|there is|there's|is)|[,;(]|^) ?no(?: (?:an?|any|the|dedicated|discrete|separate|integrated|extra|"
    rb"such))*\s$|"
    rb"\b(?:do|does|did)(?: not|n't) (?:use|have|own|run|want)(?: (?:an?|any|the))?\s$|"
    rb"\b(?:never (?:used|had|owned)|not using|no longer (?:use|have|run)|(?:we|i) (?:left|dropped|abandoned))(?: (?:an?|any|the))?\s$"
)
_ENDS = re.compile(
    rb"[\w-]{1,24}(?: ?(?:card|gpu|graphics|hardware|device|any ?more|here|at all|(?:in|on) (?:this|the|my|that) \w+|involved|"
    rb"installed|present))*"
    rb"\s*(?:[.,;:)!]|$)"
)
_COLUMNS = re.compile(rb"[ \t]{2,}|\t")
LONG = 16 << 10
"""The number of bytes from which one pass for all literals is faster than one search for each, building the automaton included."""
PIECE = 256 << 10
"""The number of bytes in which the pass proceeds, so that only the matches of one piece are held at a time."""


class SearchedText:
    """A text in which many signatures are searched.

    Lines keep their numbers in the whole text. `role_of` gives the role of each line; without it every line is a failure, as the output of
    a failed tool is. After the deadline nothing is found any more.
    """

    def __init__(self, lines: Sequence[Numbered], role_of: RoleOf | None = None, deadline: Deadline | None = None) -> None:
        self._lines = lines
        self._deadline = deadline or Deadline()
        self._role_of = role_of or (lambda row: FAILURE)
        small = "\n".join(line.text for line in lines).encode("utf-8", "replace").lower()
        self._small = _COLUMNS.sub(b" ", small)
        """The text as lower-case bytes, which are fastest to search. One space replaces the white space between the columns of listings."""
        self._starts: list[int] = [0]
        at = self._small.find(b"\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = self._small.find(b"\n", at + 1)
        self._rows: dict[str, list[int]] = {}
        """For each literal that was searched: the indexes of the first lines that contain it."""

    @property
    def long(self) -> bool:
        return len(self._small) >= LONG

    @property
    def words(self) -> frozenset[str]:
        """The words by which the signatures are found that may stand in it."""
        return words_in(self._small)

    def look_for(self, literals: Iterable[str]) -> None:
        """Searches a long text for all of these literals (in lower case) in one pass; later queries use the result."""
        new = [literal for literal in dict.fromkeys(spelled(literals)) if literal not in self._rows]
        if not self.long or not new:
            return
        from ahocorasick_rs import BytesAhoCorasick, MatchKind  # imported here, since most texts are short

        sharing: dict[bytes, list[str]] = {}
        for literal in new:
            sharing.setdefault(bare(literal).encode(), []).append(literal)
            self._rows[literal] = []
        needles = list(sharing)
        automaton = BytesAhoCorasick(needles, matchkind=MatchKind.Standard)
        seam = max(map(len, needles)) - 1
        for begin in range(0, len(self._small), PIECE):
            for number, at, end in automaton.find_matches_as_indexes(self._small[begin : begin + PIECE + seam], overlapping=True):
                for literal in sharing[needles[number]]:
                    rows = self._rows[literal]
                    if len(rows) >= MOST_WINDOWS or (rows and begin + at < self._end_of(rows[-1])):
                        continue
                    if stands(self._small, begin + at, begin + end, literal):
                        rows.append(self._row_of(begin + at))

    def holds(self, literal: str) -> bool:
        return bool(self._rows_of(literal))

    def holds_any(self, literals: Iterable[str]) -> bool:
        rows = self._rows
        for literal in literals:
            known = rows.get(literal)
            if self._rows_of(literal) if known is None else known:
                return True
        return False

    def around(self, number: int, reach: int) -> tuple[list[str], str, list[str]]:
        """The line with this number, with `reach` lines above and below it."""
        row = bisect_left(self._lines, number, key=lambda line: line.number)
        shown = [line.text for line in self._lines[max(0, row - reach) : row + reach + 1]]
        above = min(row, reach)
        return shown[:above], shown[above], shown[above + 1 :]

    def hits(self, signature: Signature) -> Iterator[Hit]:
        """The places in the order of the text, at most one per line."""
        if not all(map(self.holds_any, signature.text)):
            return
        if not all(any(map(self._speaks_of, choice)) for choice in signature.context):
            return
        rows = {row for literal in anchor(signature.text) for row in self._rows_of(literal)}
        for row in sorted(rows)[:MOST_WINDOWS]:
            if self._deadline.over():
                return
            hit = self._look(signature, row)
            if hit is not None:
                yield hit

    def _speaks_of(self, literal: str) -> bool:
        """Whether the literal occurs in a line that does not deny it: 'Is XPU available: False' is no evidence of an Intel GPU, and 'I have
        no iGPU' none of one. What a program says not to find is what the text is about."""
        return any(not _DENIES.search(self._line(row)) and not self._denies(row, literal) for row in self._rows_of(literal))

    def _denies(self, row: int, literal: str) -> bool:
        """Whether a person denies each mention of the literal in the line."""
        line = self._line(row)[:LONGEST_WINDOW]
        mentions = [at for word in (members(literal) if literal.startswith(PREFIX) else (literal,)) for at in places(line, word)]
        if not mentions or self._role_of(row) == FAILURE:
            return False
        return all(_NOT_HERE.search(line[max(0, at - _NEAR) : at]) and _ENDS.match(line[at : at + _NEAR]) for at in mentions)

    def _rows_of(self, literal: str) -> list[int]:
        known = self._rows.get(literal)
        if known is not None:
            return known
        if literal.startswith(PREFIX):
            rows = {row for word in members(literal) for row in self._rows_of(word)}
            known = self._rows[literal] = sorted(rows)[:MOST_WINDOWS]
            return known
        known = self._rows[literal] = []
        if occurs(self._small, literal):  # a text contains few of the literals of a catalogue
            for at in places(self._small, literal):
                if not known or at >= self._end_of(known[-1]):
                    known.append(self._row_of(at))
                    if len(known) >= MOST_WINDOWS:
                        break
        return known

    def _row_of(self, at: int) -> int:
        return bisect_right(self._starts, at) - 1

    def _end_of(self, row: int) -> int:
        """The position where the next line begins."""
        return self._starts[row + 1] if row + 1 < len(self._starts) else len(self._small)

    def _look(self, signature: Signature, row: int) -> Hit | None:
        first, last = max(0, row - signature.within + 1), min(len(self._lines) - 1, row + signature.within - 1)
        window = self._small[self._starts[first] : self._end_of(last)]
        if not all(any(occurs(window, word) for word in spelled(choice)) for choice in signature.text):
            return None
        if any(occurs(window, literal) for literal in signature.none_of):
            return None
        role = self._role(signature, row, first, last)
        if role is None:
            return None
        captures: Mapping[str, str] = {}
        if signature.pattern:
            found = compiled(signature.pattern).search(self._shown(signature, row, first, last))
            if found is None:
                return None
            captures = {name: value for name, value in found.groupdict().items() if value is not None}
        line = self._lines[row]
        strength = sum(_letters_there(choice, window) for choice in signature.text) + sum(map(letters, signature.context))
        strength += 4 * bool(signature.pattern)
        quote = _quote(line.text, signature.text)
        return Hit(line=line.number, quote=quote, strength=strength, captures=decoded(captures), source=line.source, role=role)

    def _role(self, signature: Signature, row: int, first: int, last: int) -> str | None:
        """The first of the wanted roles that a line of the message has: the line of the anchor, or a line with one of its words nearby."""
        there = [self._role_of(row)]
        if first != last:
            words = [word for choice in signature.text for word in spelled(choice)]
            there += [
                self._role_of(near) for near in range(first, last + 1)
                if near != row and any(occurs(self._line(near), word) for word in words)
            ]  # fmt: skip
        return next((role for role in signature.roles if role in there), None)

    def _line(self, row: int) -> bytes:
        return self._small[self._starts[row] : self._end_of(row)]

    def _shown(self, signature: Signature, row: int, first: int, last: int) -> str:
        """The lines for the expression; of a very long line, the part around the match."""
        text = "\n".join(line.text for line in self._lines[first : last + 1])
        if len(text) <= LONGEST_WINDOW:
            return text
        small = text.lower()
        places = [at for choice in signature.text for word in spelled(choice) if (at := small.find(bare(word))) >= 0]
        middle = min(places, default=0)
        return text[max(0, middle - LONGEST_WINDOW // 2) : middle + LONGEST_WINDOW // 2]


def anchor(text: Sequence[Sequence[str]]) -> Sequence[str]:
    """The literals that are searched first: one of them occurs wherever a signature with this `text` matches."""

    def shortest(choice: Sequence[str]) -> int:
        return 0 if any(literal.startswith(PREFIX) for literal in choice) else min(len(bare(literal)) for literal in choice)

    return max(text, key=shortest)


def letters(choice: Sequence[str]) -> int:
    """The number of letters that an alternative requires. Everyday words add nothing beside names, and little by themselves."""
    return min((len(bare(literal)) for literal in choice if not literal.startswith(PREFIX)), default=4)


def _letters_there(choice: Sequence[str], window: bytes) -> int:
    """The number of letters of a message that occur in the window; of several alternatives, the longest one that occurs counts."""
    named = [len(bare(literal)) for literal in choice if not literal.startswith(PREFIX) and occurs(window, literal)]
    return max(named, default=4)


def decoded(captures: Mapping[str, str]) -> dict[str, str]:
    """Captured groups and their interpretation: `x_number` 12080 (a CUDA version) gives `x` 12.8 and `x_wheel` cu128."""
    all_of_them = dict(captures)
    for name, value in captures.items():
        if name.endswith("_number") and value.isascii() and value.isdigit() and len(value) <= 6:
            stem, version = name.removesuffix("_number"), f"{int(value) // 1000}.{int(value) % 1000 // 10}"
            all_of_them |= {stem: version, f"{stem}_wheel": f"cu{version.replace('.', '')}"}
    return all_of_them


def names_said(signatures: Iterable[Signature]) -> set[str]:
    """The facts said.<group> that the expressions of the signatures can set."""
    names = {name for signature in signatures for name in (compiled(signature.pattern).groupindex if signature.pattern else ())}
    stems = {name.removesuffix("_number") for name in names if name.endswith("_number")}
    return {f"said.{name}" for name in (*names, *stems, *(f"{stem}_wheel" for stem in stems))}


def _quote(line: str, literals: Literals) -> str:
    """The line; of a long one, the part in which the first literal occurs."""
    line = line.strip()
    if len(line) <= QUOTED:
        return line
    small = line.lower()
    at = min((found for choice in literals for word in spelled(choice) if (found := small.find(bare(word))) >= 0), default=0)
    begin = max(0, min(at - 40, len(line) - QUOTED))
    return ("…" if begin else "") + line[begin : begin + QUOTED] + ("…" if begin + QUOTED < len(line) else "")
