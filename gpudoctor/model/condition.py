"""The tree of a condition, and the result of its evaluation."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

Truth = Literal["true", "false", "unknown"]


class Leaf(Struct, frozen=True):
    """One test of one fact. `other` is the second fact of a `_fact` operator."""

    fact: str
    operator: str
    value: Any = None
    other: str | None = None


class Combination(Struct, frozen=True):
    """A condition of parts: `all`, `any`, or `not`, which has one part."""

    kind: Literal["all", "any", "not"]
    parts: tuple[Condition, ...]


class AnyItem(Struct, frozen=True):
    """True where one item of the records fact `of` satisfies `where`, whose leaves name `item.field`."""

    of: str
    item: str
    where: Condition


Condition = Leaf | Combination | AnyItem
ALWAYS = Combination("all", ())
"""A condition that is always true: for a check that is decided by its signature alone."""


class Verdict(Struct, frozen=True):
    """The truth of a condition and of its parts. `seen` is, for a leaf, the value of the fact in words."""

    truth: Truth
    text: str
    seen: str = ""
    source: str = ""
    parts: tuple[Verdict, ...] = ()

    def leaves(self) -> list[Verdict]:
        return [leaf for part in self.parts for leaf in part.leaves()] if self.parts else [self]
