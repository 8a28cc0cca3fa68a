"""AMD Primus: the JSON that its node smoke test writes for each host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudoctor.fleet.others.result import Result, folded, mapping, objects, ordered, verdict, words
from gpudoctor.model.fleet_row import FAIL, PASS, SKIP, UNKNOWN, RowVerdict

PROGRAM = "primus-node-smoke"
_OUTCOMES = {"pass": PASS, "fail": FAIL, "timeout": FAIL, "skip": SKIP}


def read(document: object) -> tuple[Result, ...] | None:
    """The one host of the document; None for a document of another program."""
    whole = mapping(document)
    if not isinstance(whole.get("host"), str) or "status" not in whole or not {"fail_reasons", "tier1", "tier2"} & set(whole):
        return None
    found = folded([_card(each) for each in objects(mapping(whole.get("tier1")).get("per_gpu"))])
    if rccl := mapping(mapping(whole.get("tier2")).get("rccl")):
        speed = words(rccl.get("gbs"), 20)
        detail = words(rccl.get("error")) or (f"{speed} GB/s" if speed else "")
        outcome = _outcome(rccl)
        found.append(verdict(PROGRAM, "tier 2 rccl", outcome, detail="" if outcome == PASS else detail))
    outcome, reasons = _outcome(whole), whole.get("fail_reasons")
    if outcome != FAIL or not any(each.outcome == FAIL for each in found):
        listed = (words(each) for each in reasons[:20]) if isinstance(reasons, list) else ()
        found.append(verdict(PROGRAM, "node", outcome, detail="; ".join(filter(None, listed))))
    return (Result(program=PROGRAM, host=words(whole["host"], 300), verdicts=ordered(found)),)


def _card(each: Mapping[str, Any]) -> RowVerdict:
    return verdict(PROGRAM, "tier 1", _outcome(each), each.get("gpu"), each.get("reason"))


def _outcome(each: Mapping[str, Any]) -> str:
    return _OUTCOMES.get(words(each.get("status")).lower(), UNKNOWN)
