"""Whether two values of reports are equivalent: the order of a list, home folders and pseudonyms are no difference. The time is linear
in the length of the values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudoctor.model.lazy_pattern import lazy

_HOME = lazy(r"(/home|/Users|C:[\\/]Users)[\\/][^\\/\s:]+")
_PSEUDONYM = lazy(r"\b(?:user|host|folder|share|serial|domain|project)-\d{1,6}\b|<secret>|<credentials>|<email>")
_MOST_PAIRS = 200
"""The largest number of items of a list that are compared pair by pair."""


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values of reports are equivalent."""
    ours, theirs = _plain(one), _plain(other)
    return bool(ours == theirs) or _but_for_names(ours, theirs)


def _plain(value: Any) -> Any:
    """The value with one name for all home folders, and with lists in a fixed order."""
    if isinstance(value, str):
        return _HOME.sub(r"\1/user", value)
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return sorted((_plain(inner) for inner in value), key=repr)
    return value


def _but_for_names(one: Any, other: Any) -> bool:
    """Whether two values are equal where a pseudonym of a redacted report may stand for any text."""
    if isinstance(one, str) and isinstance(other, str):
        return one == other or _covers(one, other) or _covers(other, one)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_but_for_names(inner, other[key]) for key, inner in one.items())
    if isinstance(one, list) and isinstance(other, list):
        ours, theirs = {repr(item) for item in one}, {repr(item) for item in other}
        left = [item for item in one if repr(item) not in theirs]
        return len(one) == len(other) and _pair_off(left, [item for item in other if repr(item) not in ours])
    return bool(one == other)


def _pair_off(one: list[Any], other: list[Any]) -> bool:
    if len(one) != len(other) or len(one) > _MOST_PAIRS:
        return False
    left = list(other)
    for item in one:
        partner = next((number for number, each in enumerate(left) if _but_for_names(item, each)), None)
        if partner is None:
            return False
        del left[partner]
    return True


def _covers(redacted: str, whole: str) -> bool:
    """Whether the parts before the first and behind the last pseudonym are equal."""
    names = list(_PSEUDONYM.finditer(redacted))
    if not names:
        return False
    before, after = redacted[: names[0].start()], redacted[names[-1].end() :]
    return len(whole) > len(before) + len(after) and whole.startswith(before) and whole.endswith(after)
