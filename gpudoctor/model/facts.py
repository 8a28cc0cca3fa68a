"""Facts: what is known of a machine, what is known to be absent, and what is unknown, with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field


class Known(Struct, frozen=True):
    """A value that was read. `source` is the file or command that it came from."""

    value: Any
    source: str = ""


class Absent(Struct, frozen=True):
    """The value was looked for and does not exist. `source` is the file or command that was asked."""

    source: str = ""


class Unknown(Struct, frozen=True):
    """The value could not be determined. `reason` begins with a word that diagnosis.reasons explains; a detail follows a colon."""

    reason: str = "not probed"


REASONS = (
    "not probed", "not recorded", "tool missing", "permission denied", "timeout", "unparsable", "too large",
    "io error", "probe crashed", "device busy", "not in the text", "conflicting", "newer than this table", "out of time",
    "crashed", "not inspected",
)  # fmt: skip

Fact = Known | Absent | Unknown


class FactSpec(Struct, frozen=True):
    """One entry of the vocabulary.

    kind: bool, int, float, text, list (of text), version (PEP 440), dotted (kernel, driver: leading integers),
    records (a list of tables, `item` is what checks call one of them, `fields` its fields),
    map (names to values; `complete` facts answer 'absent' for a name that is not in it).
    privacy: public, identifying, secret.
    """

    name: str
    kind: str
    meaning: str
    privacy: str = "public"
    item: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)


_MISSING = Unknown("not probed")
LARGEST = 2**100
"""The limit of whole numbers. Larger ones come from a hostile or damaged text: the memory of all computers is below 2**80 bytes."""
_ABSURD = "unparsable: a number of too many digits"


def _beyond(value: Any) -> bool:
    if type(value) is int:
        return not -LARGEST < value < LARGEST
    if isinstance(value, dict):
        return any(map(_beyond, value.values()))
    return any(map(_beyond, value)) if isinstance(value, list) else False


def _without(value: Any) -> Any:
    """The same tables and lists, with Unknown in the place of each number beyond LARGEST."""
    if isinstance(value, dict):
        kept = {key: _without(inner) for key, inner in value.items()}
        return Incomplete(kept) if isinstance(value, Incomplete) else kept
    if isinstance(value, list):
        return [_without(inner) for inner in value]
    return Unknown(_ABSURD) if _beyond(value) else value


class Incomplete(dict[str, Any]):
    """A map of which only a part is known: a name that is not in it is unknown rather than absent."""


class Facts:
    """A set of facts by dotted name. A name within a map (`python.distributions.torch`) is looked up by its longest known prefix.

    In maps and records None means 'known to be absent', and an `Unknown` stands for itself. A missing key is absent in a map, and unknown
    in a record.
    """

    def __init__(self, initial: Mapping[str, Fact] | None = None) -> None:
        self._facts: dict[str, Fact] = dict(initial or {})

    def set(self, name: str, fact: Fact) -> None:
        """Sets a fact. A whole number beyond LARGEST, at any depth, is kept as unknown: arithmetic with it would fail."""
        if isinstance(fact, Known) and _beyond(fact.value):
            fact = Unknown(_ABSURD) if type(fact.value) is int else Known(_without(fact.value), fact.source)
        self._facts[name] = fact

    def get(self, name: str) -> Fact:
        found = self._facts.get(name)
        if found is not None:
            return found
        head, rest = name, ""
        while "." in head:
            head, _, last = head.rpartition(".")
            rest = f"{last}.{rest}" if rest else last
            found = self._facts.get(head)
            if isinstance(found, Known) and isinstance(found.value, Mapping):
                return look_into(found.value, rest, found.source)
            if found is not None:
                return found if not isinstance(found, Known) else Unknown("unparsable")
        return _MISSING

    def value(self, name: str, default: Any = None) -> Any:
        """The value of a known fact, else `default`."""
        found = self.get(name)
        return found.value if isinstance(found, Known) else default

    def known(self, name: str) -> bool:
        return isinstance(self.get(name), Known)

    def names(self) -> list[str]:
        return sorted(self._facts)

    def items(self) -> Iterator[tuple[str, Fact]]:
        return iter(sorted(self._facts.items()))

    def with_item(self, name: str, record: Mapping[str, Any]) -> Facts:
        """The same facts with the fields of one record of a collection under `name`, such as `gpu.vendor`."""
        scoped = Facts(self._facts)
        for key, value in record.items():
            scoped.set(f"{name}.{key}", as_fact(value))
        return scoped


def as_fact(value: Any, source: str = "") -> Fact:
    """The fact for a plain value: None is absent, a fact is returned as it is, anything else is known."""
    if value is None:
        return Absent(source)
    if isinstance(value, (Known, Absent, Unknown)):
        return value
    return Known(value, source)


def look_into(mapping: Mapping[str, Any], path: str, source: str) -> Fact:
    """The value at a dotted path. Keys may contain dots themselves; the longest matching key is taken."""
    if path in mapping:
        return as_fact(mapping[path], source)
    head = path
    while "." in head:
        head = head.rpartition(".")[0]
        if head in mapping:
            inner = mapping[head]
            if isinstance(inner, Mapping):
                return look_into(inner, path[len(head) + 1 :], source)
            return Absent(source) if inner is None else as_fact(inner) if isinstance(inner, (Unknown, Absent)) else Unknown("unparsable")
    return Unknown("not in the text") if isinstance(mapping, Incomplete) else Absent(source)
