"""NVIDIA DCGM: what `dcgmi diag -j` prints. The document names no host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpudoctor.fleet.others.result import Result, folded, mapping, objects, ordered, verdict, words
from gpudoctor.model.fleet_row import FAIL, PASS, SKIP, UNKNOWN, WARN, RowVerdict

PROGRAM = "dcgm"
_TOPS = ("DCGM Diagnostic", "DCGM GPU Diagnostic")
_OUTCOMES = {"pass": PASS, "fail": FAIL, "warn": WARN, "skip": SKIP, "skipped": SKIP, "not run": SKIP}
_USABLE = (1, 5)
"""The values of error_severity with which a GPU can go on: 'monitor' and 'config', as for persistence mode that is off. The test fails all
the same, on each GPU of a host that has no other fault."""


def read(document: object) -> tuple[Result, ...] | None:
    """The one host of the document; None for a document of another program."""
    whole = mapping(document)
    name = next((each for each in _TOPS if isinstance(whole.get(each), dict)), None)
    if name is None:
        return None
    top = whole[name]
    found = [each for category in objects(top.get("test_categories")) for test in objects(category.get("tests")) for each in _test(test)]
    if error := words(top.get("runtime_error") or whole.get("runtime_error")):
        found.append(verdict(PROGRAM, "diagnostic", UNKNOWN, detail=error))
    metadata = mapping(whole.get("metadata"))
    version = words(metadata.get("version") or metadata.get("DCGM Version") or top.get("version"), 40)
    return (Result(program=PROGRAM, version=version, verdicts=ordered(found)),)


def _test(test: Mapping[str, Any]) -> list[RowVerdict]:
    name = test.get("name")
    found = [_result(name, each) for each in objects(test.get("results"))]
    summary = mapping(test.get("test_summary"))
    whole = _result(name, {**summary, "entity_group": "", "entity_id": ""}) if summary else None
    if not found:
        return [whole] if whole else []
    listed = folded(found)
    failed = any(_outcome(each) == FAIL for each in objects(test.get("results")))
    if whole is not None and whole.outcome == FAIL and not failed:
        listed.append(whole)  # the summary is worse than what it summarises: it has errors that belong to no card
    return listed


def _result(name: object, each: Mapping[str, Any]) -> RowVerdict:
    outcome, listed = _outcome(each), each.get("warnings")
    if outcome == FAIL and isinstance(listed, list) and listed and all(mapping(one).get("error_severity") in _USABLE for one in listed):
        outcome = WARN
    return verdict(PROGRAM, name, outcome, _card(each), "; ".join(_warnings(each)))


def _outcome(each: Mapping[str, Any]) -> str:
    return _OUTCOMES.get(words(each.get("status")).lower(), UNKNOWN)


def _card(each: Mapping[str, Any]) -> str:
    group, number = words(each.get("entity_group"), 40), each.get("entity_id")
    if number is None:
        number = each.get("gpu_ids")
    return words(number) if group in ("", "GPU") else f"{group} {words(number)}".strip()


def _warnings(each: Mapping[str, Any]) -> Iterator[str]:
    listed = each.get("warnings", each.get("warning"))
    for item in listed[:20] if isinstance(listed, list) else [listed]:
        if text := words(mapping(item).get("warning")) or words(item):
            yield text
