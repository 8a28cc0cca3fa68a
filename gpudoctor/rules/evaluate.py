"""Three-valued (Kleene) evaluation. Every branch is evaluated, so that the explanation is complete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpudoctor.model.condition import AnyItem, Combination, Condition, Leaf, Truth, Verdict
from gpudoctor.model.facts import Absent, Fact, Facts, Known, Unknown
from gpudoctor.rules.conditions import english
from gpudoctor.rules.operators import OPERATORS, plain

_OPPOSITE: Mapping[Truth, Truth] = {"true": "false", "false": "true", "unknown": "unknown"}


def evaluate(condition: Condition, facts: Facts) -> Verdict:
    """The truth of a condition for these facts, with that of all its parts."""
    if isinstance(condition, Leaf):
        return _leaf(condition, facts)
    if isinstance(condition, AnyItem):
        return _some(condition, facts)
    parts = tuple([evaluate(part, facts) for part in condition.parts])
    return Verdict(_combine(condition, [part.truth for part in parts]), condition.kind, parts=parts)


def _combine(group: Combination, truths: list[Truth]) -> Truth:
    if group.kind == "not":
        return _OPPOSITE[truths[0]]
    decides: Truth = "false" if group.kind == "all" else "true"
    if decides in truths:
        return decides
    if "unknown" in truths:
        return "unknown"
    return "true" if group.kind == "all" else "false"


def _some(condition: AnyItem, facts: Facts) -> Verdict:
    fact = facts.get(condition.of)
    if isinstance(fact, Unknown):
        return Verdict("unknown", english(condition), f"unknown: {fact.reason}")
    items = fact.value if isinstance(fact, Known) and isinstance(fact.value, (list, tuple)) else []
    parts = tuple(evaluate(condition.where, facts.with_item(condition.item, item)) for item in items if isinstance(item, Mapping))
    if not parts:
        return Verdict("false", english(condition), "none")
    return Verdict(_combine(Combination("any", ()), [part.truth for part in parts]), f"some of {condition.of}", parts=parts)


def _leaf(leaf: Leaf, facts: Facts) -> Verdict:
    fact = facts.get(leaf.fact)
    other = facts.get(leaf.other) if leaf.other else None
    return Verdict(_truth(leaf, fact, other), english(leaf), seen(fact), getattr(fact, "source", ""))


def _truth(leaf: Leaf, fact: Fact, other: Fact | None) -> Truth:
    if leaf.operator == "unknown":
        return "true" if isinstance(fact, Unknown) else "false"
    if isinstance(fact, Unknown):
        return "false" if leaf.operator == "known" else "unknown"
    if leaf.operator == "known":
        return "true" if isinstance(fact, Known) else "false"
    if leaf.operator == "absent":
        return "true" if isinstance(fact, Absent) else "false"
    if leaf.operator == "present":
        return "true" if isinstance(fact, Known) and fact.value not in ("", [], {}, (), False) else "false"
    if isinstance(other, Unknown):
        return "unknown"
    if isinstance(fact, Absent) or isinstance(other, Absent):
        return "false"
    wanted = other.value if isinstance(other, Known) else leaf.value
    answer = OPERATORS[leaf.operator].test(fact.value, wanted)
    return "unknown" if answer is None else "true" if answer else "false"


def seen(fact: Fact) -> str:
    """The value of a fact in words, at most 160 characters long."""
    if isinstance(fact, Unknown):
        return f"unknown: {fact.reason}"
    if isinstance(fact, Absent):
        return "absent"
    return shown(fact.value)


def _counted(values: Sequence[Any]) -> list[str]:
    """Each item in words; equal records (eight cards of one kind) are written once, with their number."""
    words = [shown(item) for item in values]
    if not any(isinstance(item, Mapping) for item in values):
        return words
    return [f"{words.count(word)} x {word}" if words.count(word) > 1 else word for word in dict.fromkeys(words)]


def shown(value: Any, most: int = 160) -> str:
    """A value in words: yes or no, lists with commas, records by their names; cut after `most` characters."""
    if isinstance(value, str):
        return value if len(value) <= most else value[: most - 3] + "…"
    value = plain(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        text = str(value.get("name") or value.get("address") or ", ".join(map(str, value)))
    elif isinstance(value, (list, tuple)):
        text = ", ".join(_counted(value)) or "none"
    else:
        text = str(value)
    return text if len(text) <= most else text[: most - 3] + "…"
