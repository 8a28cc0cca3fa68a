"""NVIDIA Health Validation: the NodeVerdict that it prints for its host, a list of check verdicts with a severity each.

It is recognised by its shape, since its documents carry no name of their own: an object with a list whose objects all have a severity of
SEVERITIES and the id of a check. Names of the list and of the host may differ between versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudoctor.fleet.others.result import Result, folded, mapping, moment, objects, ordered, verdict, words
from gpudoctor.model.fleet_row import FAIL, PASS, UNKNOWN, WARN, RowVerdict

PROGRAM = "health-validation"
SEVERITIES = {"PASS": PASS, "INFO": PASS, "WARNING": WARN, "CRITICAL": FAIL, "UNKNOWN": UNKNOWN}
_CHECK = ("check_id", "id")
_HOST = ("node_name", "node_id", "node", "hostname", "host")
_TIME = ("timestamp", "evaluated_at", "created_at", "time")
_ENTITY = ("entity_id", "entity", "component_id", "component")
_TEXT = ("message", "summary", "reason", "description")
_WHOLE = ("severity", "overall_severity", "max_severity", "verdict", "status")


def read(document: object) -> tuple[Result, ...] | None:
    """The one host of the document; None for a document of another program."""
    whole = mapping(document)
    checks = next((listed for value in whole.values() if (listed := objects(value)) and all(map(_is_check, listed))), None)
    if checks is None:
        return None
    by_test: dict[str, list[RowVerdict]] = {}
    for each in checks:
        found = verdict(PROGRAM, _first(each, _CHECK), SEVERITIES[each["severity"]], _first(each, _ENTITY), _detail(each))
        by_test.setdefault(found.test, []).append(found)
    verdicts = [each for found in by_test.values() for each in folded(found)]
    overall = SEVERITIES.get(_first(whole, _WHOLE))
    if overall in (FAIL, WARN, UNKNOWN) and all(each.outcome == PASS for each in verdicts):
        verdicts.append(verdict(PROGRAM, "node", overall))  # worse than its checks: something was not evaluated
    created = next((text for name in _TIME if (text := moment(whole.get(name)))), "")
    return (Result(program=PROGRAM, host=_first(whole, _HOST), created=created, verdicts=ordered(verdicts)),)


def _is_check(each: Mapping[str, Any]) -> bool:
    severity = each.get("severity")
    return isinstance(severity, str) and severity in SEVERITIES and any(isinstance(each.get(name), str) for name in _CHECK)


def _first(each: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """The first of the fields that has a text; of a field that is an object, its id or name."""
    for name in names:
        value = each.get(name)
        if isinstance(value, dict):
            value = value.get("id") or value.get("name")
        if text := words(value):
            return text
    return ""


def _detail(each: Mapping[str, Any]) -> str:
    if text := _first(each, _TEXT):
        return text
    listed = each.get("messages")
    return "; ".join(filter(None, map(words, listed[:10]))) if isinstance(listed, list) else ""
