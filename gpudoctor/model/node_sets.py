"""Names of hosts, folded and expanded: gpu[01-31,33-64].

A name is text with fields of digits. Names that differ in one field alone are folded on it, and the last field that varies is tried first:
r1n01, r1n02 and r2n01 are `r1n[01-02],r2n01`. A leading zero fixes the width of a number, so that n1, n01 and n001 stay three names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

MOST_NAMES = 1_000_000
LONGEST_TEXT = 32_000_000
"""Characters of a node set: a million names without a bracket fit."""
EXPECTED = "expected the name of a host (at most 253 letters, digits, '.', '_' and '-', beginning with a letter or digit)"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
"""A name goes into command lines and files, so it never begins with a sign."""
_PIECE = re.compile(r"[A-Za-z0-9._-]{1,253}")
_DIGITS = re.compile(r"([0-9]+)")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_SHOWN = 60
_Key = tuple[tuple[str, ...], tuple[str, ...]]


class NodeSetError(ValueError):
    """A text that is no node set, or a name that is no host's: says what, where, and what was expected."""


def is_name(host: str) -> bool:
    """Whether the text may be the name of a host: letters, digits, '.', '_' and '-', at most 253, beginning with a letter or digit."""
    return _NAME.fullmatch(host) is not None


def natural(host: str) -> tuple[tuple[str, ...], tuple[int, ...], str]:
    """The key of the natural order: gpu9 before gpu10."""
    parts = _DIGITS.split(host)
    return tuple(parts[::2]), tuple(int(digits) for digits in parts[1::2]), host


def fold(hosts: Iterable[str]) -> str:
    """The hosts as one node set, in natural order, each name once. Raises NodeSetError for a text that cannot be a name."""
    names = sorted(set(hosts), key=natural)
    for name in names:
        if not is_name(name):
            raise NodeSetError(f"{name[:_SHOWN]!r}: {EXPECTED}")
    shapes: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for name in names:
        parts = _DIGITS.split(name)
        shapes.setdefault(tuple(parts[::2]), []).append(tuple(parts[1::2]))
    return ",".join(part for texts, numbers in shapes.items() for part in _folded(texts, numbers))


def _folded(texts: tuple[str, ...], names: list[tuple[str, ...]]) -> list[str]:
    """Folds names of one shape; `texts` are the parts around the numbers. Later fields come first, what is left alone goes to the next."""
    found: list[tuple[tuple[int, ...], str]] = []
    for place in reversed(range(len(texts) - 1)):
        alike: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for name in names:
            alike.setdefault((*name[:place], *name[place + 1 :]), []).append(name)
        names = [group[0] for group in alike.values() if len(group) == 1]
        for group in alike.values():
            if len(group) > 1:
                bracket = f"[{','.join(_ranges(name[place] for name in group))}]"
                first = tuple(map(int, group[0]))
                found.append((first, _joined(texts, (*group[0][:place], bracket, *group[0][place + 1 :]))))
    found += [(tuple(map(int, name)), _joined(texts, name)) for name in names]
    return [text for _, text in sorted(found)]


def _ranges(numbers: Iterable[str]) -> list[str]:
    """Numbers as ranges: '01-31', '33'. A number without a leading zero counts as padded where padded ones of its length are there."""
    texts = sorted(numbers, key=lambda text: (int(text), len(text)))
    padded = {len(text) for text in texts if len(text) > 1 and text.startswith("0")}
    runs: list[tuple[int, int, int]] = []  # width, first, last
    for text in texts:
        width, number = (len(text) if len(text) in padded else 0), int(text)
        if runs and runs[-1][0] == width and runs[-1][2] == number - 1:
            runs[-1] = (width, runs[-1][1], number)
        else:
            runs.append((width, number, number))
    return [str(first).zfill(width) + (f"-{str(last).zfill(width)}" if last > first else "") for width, first, last in runs]


def _joined(texts: tuple[str, ...], numbers: tuple[str, ...]) -> str:
    return "".join(text + number for text, number in zip(texts, (*numbers, ""), strict=True))


def expand(text: str) -> list[str]:
    """The names of a node set in the order in which it has them, each once. Several brackets in a name are multiplied, and parts are
    divided by commas or blanks.

    Raises NodeSetError for a bracket that does not close, a range that runs backwards, a character that no name has, and for more than
    MOST_NAMES names, before they are made.
    """
    if len(text) > LONGEST_TEXT:
        raise NodeSetError(f"node set: {len(text)} characters, at most {LONGEST_TEXT} are read")
    names: dict[str, None] = {}
    total = 0
    for part in _parts(text):
        pieces = list(_pieces(part))
        count = 1
        for piece in pieces:
            count *= sum(len(each) for each, _ in piece) if isinstance(piece, list) else 1
        total += count
        if total > MOST_NAMES:
            raise NodeSetError(f"node set {part[:_SHOWN]!r}: more than {MOST_NAMES} names; give the hosts in several sets")
        for name in _products(pieces):
            if not is_name(name):
                raise NodeSetError(f"node set {part[:_SHOWN]!r}: {name[:_SHOWN]!r}: {EXPECTED}")
            names[name] = None
    return list(names)


def _parts(text: str) -> Iterator[str]:
    """Splits at commas and blanks outside of brackets."""
    begin, inside = 0, False
    for match in re.finditer(r"[][,\s]", text):
        sign, at = match.group(), match.start()
        if sign in "[]":
            if inside == (sign == "["):
                raise NodeSetError(f"node set, character {at + 1}: {sign!r} is not expected here ({text[begin : begin + _SHOWN]!r})")
            inside = sign == "["
        elif not inside:
            if at > begin:
                yield text[begin:at]
            begin = at + 1
    if inside:
        raise NodeSetError(f"node set {text[begin : begin + _SHOWN]!r}: a ']' is missing")
    if len(text) > begin:
        yield text[begin:]


def _pieces(part: str) -> Iterator[str | list[tuple[range, int]]]:
    """Texts, and for each bracket its ranges with their widths."""
    for number, piece in enumerate(re.split(r"[][]", part)):
        if number % 2 == 0:
            if piece and not _PIECE.fullmatch(piece):
                raise NodeSetError(f"node set {part[:_SHOWN]!r}: expected names of letters, digits, '.', '_', '-' and ranges as [01-31,33]")
            yield piece
            continue
        ranges = []
        for each in piece.split(","):
            match = _RANGE.fullmatch(each.strip())
            if match is None:
                raise NodeSetError(f"node set {part[:_SHOWN]!r}: {each[:_SHOWN]!r} in brackets; expected a number or a range as 01-31")
            first, last = match[1], match[2] or match[1]
            if int(last) < int(first):
                raise NodeSetError(f"node set {part[:_SHOWN]!r}: the range {each[:_SHOWN]!r} runs backwards")
            ranges.append((range(int(first), int(last) + 1), len(first) if first.startswith("0") else 0))
        yield ranges


def _products(pieces: list[str | list[tuple[range, int]]]) -> Iterator[str]:
    names = [""]
    for piece in pieces:
        tails = [piece] if isinstance(piece, str) else [str(each).zfill(width) for numbers, width in piece for each in numbers]
        names = [name + tail for name in names for tail in tails]
    yield from names
