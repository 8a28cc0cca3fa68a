"""The facts of a report that `gpudoctor check --format json` wrote, read back so that checks can be evaluated on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudoctor.facts import vocabulary
from gpudoctor.facts.collect import Gathered, derive
from gpudoctor.model.facts import Absent, Facts, FactSpec, Known, Unknown

SOURCE = "report"


def facts_of(tree: Mapping[str, Any], unknown: Mapping[str, str] | None = None, *, of_today: bool = True) -> Gathered:
    """The facts in the tree of a report. Those that it does not hold are unknown, for the reason that `unknown` gives by name.

    `of_today`: this version of gpudoctor made the report. To the report of another version the derived facts are added that it lacks.
    """
    facts = Facts()
    reasons = dict(unknown or {})
    for name, spec in vocabulary.specs().items():
        found, value = _at(tree, name)
        if found:
            facts.set(name, Absent(SOURCE) if value is None else Known(_inside(value, name, spec, reasons), SOURCE))
        elif name in reasons:
            facts.set(name, Unknown(reasons[name]))
    if not of_today:
        again = Gathered(Facts(dict(facts.items())))
        derive(again)
        for name, fact in again.facts.items():
            if isinstance(facts.get(name), Unknown) and name not in reasons and not isinstance(fact, Unknown):
                facts.set(name, fact)
    return Gathered(facts)


def _at(tree: Mapping[str, Any], name: str) -> tuple[bool, Any]:
    place: Any = tree
    for part in name.split("."):
        if not isinstance(place, Mapping) or part not in place:
            return False, None
        place = place[part]
    if isinstance(place, Mapping) and vocabulary.specs()[name].kind not in ("map",) and "value" in place:
        place = place["value"]
    return True, place


def _inside(value: Any, name: str, spec: FactSpec, reasons: Mapping[str, str]) -> Any:
    """The value; a map with its unknown entries, since a name that a known map does not hold counts as absent."""
    if spec.kind != "map" or not isinstance(value, Mapping):
        return value
    held = {key[len(name) + 1 :]: Unknown(reason) for key, reason in reasons.items() if key.startswith(name + ".")}
    return {**value, **held} if held else value
