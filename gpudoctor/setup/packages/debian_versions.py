"""The order of Debian versions (deb-version(7)): [epoch:]upstream[-revision], where ~ sorts before everything, even the end."""

from __future__ import annotations

import re
from itertools import zip_longest


def compare(left: str, right: str) -> int:
    """Below 0, 0 or above 0, as `dpkg --compare-versions` orders them."""
    for one, other in zip(_parts(left), _parts(right), strict=True):
        order = _compare_part(one, other)
        if order:
            return order
    return 0


def _parts(version: str) -> tuple[str, str, str]:
    epoch, colon, rest = version.partition(":")
    if not colon:
        epoch, rest = "0", version
    upstream, dash, revision = rest.rpartition("-")
    return (epoch, upstream, revision) if dash else (epoch, revision, "")


def _compare_part(left: str, right: str) -> int:
    pieces = zip_longest(re.findall(r"(\D*)(\d*)", left), re.findall(r"(\D*)(\d*)", right), fillvalue=("", ""))
    for (word, number), (other_word, other_number) in pieces:
        # an empty word ends with 0, which sorts between ~ and any letter
        one, other = [*map(_weight, word), 0], [*map(_weight, other_word), 0]
        if one != other:
            return -1 if one < other else 1
        digits, other_digits = number.lstrip("0"), other_number.lstrip("0")
        if digits != other_digits:  # compared as texts: a forged version may have more digits than int() accepts
            return -1 if (len(digits), digits) < (len(other_digits), other_digits) else 1
    return 0


def _weight(letter: str) -> int:
    if letter == "~":
        return -1
    return ord(letter) if letter.isascii() and letter.isalpha() else ord(letter) + 256
