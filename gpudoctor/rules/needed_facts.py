"""The facts that a condition needs to be true. Where they are unknown, the check need not be built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_WITHOUT_A_VALUE = ("absent", "unknown")


def needed_facts(table: Mapping[str, Any]) -> frozenset[str]:
    """The names of facts that must all be known for the condition to be true. `table` is a valid one (rules.conditions.parse)."""
    if "all" in table:
        return frozenset().union(*map(needed_facts, table["all"]))
    if "any" in table:
        parts = [needed_facts(part) for part in table["any"]]
        return frozenset.intersection(*parts) if parts else frozenset()
    if "some" in table:
        return frozenset([table["some"]["of"]])
    if "not" in table or any(state in table for state in _WITHOUT_A_VALUE):
        return frozenset()
    other = [value for name, value in table.items() if name.endswith("_fact")]
    return frozenset([table["fact"], *other])


def needed_by_check(table: Mapping[str, Any]) -> list[str]:
    """The facts that a check needs to produce a finding without a message. For a check per record, they include fields of the record."""
    needed = needed_facts(table.get("problem", {"not": {}}))
    if "suspect" in table:
        needed &= needed_facts(table["suspect"])
    return sorted(needed | needed_facts(table.get("applies", {"not": {}})))
