"""Evaluates the demands of a policy: one that is false is a fault, one that is unknown remains undetermined."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from gpudoctor.model.check import Advice
from gpudoctor.model.condition import Truth, Verdict
from gpudoctor.model.facts import Facts, Known, Unknown
from gpudoctor.model.policy import Count, Demand, Reached
from gpudoctor.model.report import Finding, Trace
from gpudoctor.rules.conditions import english
from gpudoctor.rules.evaluate import evaluate
from gpudoctor.rules.templates import fill

ID = "demand-not-met"
_OUTCOMES = {"true": "ok", "false": "problem", "unknown": "undetermined"}


def unmet_demands(demands: Iterable[Demand], facts: Facts) -> tuple[list[Finding], list[str], list[Trace]]:
    """A finding for each demand that does not hold; the names of those that could not be determined, with the reason; and the trace of
    each."""
    unmet: list[Finding] = []
    open_ones: list[str] = []
    traces: list[Trace] = []
    for demand in demands:
        verdict = _verdict(demand, facts)
        outcome = _OUTCOMES[verdict.truth]
        traces.append(Trace(check=ID, subject=demand.name, outcome=outcome, applies=None, problem=verdict, place=demand.place))
        if verdict.truth == "unknown":
            why = verdict.seen or next(leaf.seen for leaf in verdict.leaves() if leaf.truth == "unknown")
            open_ones.append(f"{demand.name} ({why.removeprefix('unknown: ')})")
        elif verdict.truth == "false":
            seen = tuple(dict.fromkeys(_seen(leaf) for leaf in (verdict, *verdict.leaves()) if leaf.truth == "false" and not leaf.parts))
            unmet.append(_finding(demand, ((verdict.seen,) if verdict.parts and verdict.seen else seen), facts))
    return unmet, open_ones, traces


def _seen(leaf: Verdict) -> str:
    return f"{leaf.text}: {leaf.seen or 'no'}" + (f" ({leaf.source})" if leaf.source else "")


def _verdict(demand: Demand, facts: Facts) -> Verdict:
    if isinstance(demand.that, Count):
        return _count(demand.that, facts)
    if isinstance(demand.that, Reached):
        return _reached(demand.that, facts)
    return evaluate(demand.that, facts)


def _items(facts: Facts, name: str) -> list[Mapping[str, Any]]:
    values = facts.value(name)
    return [item for item in values if isinstance(item, Mapping)] if isinstance(values, (list, tuple)) else []


def _count(that: Count, facts: Facts) -> Verdict:
    text = f"at least {that.at_least} of {that.of}: {english(that.where)}"
    fact = facts.get(that.of)
    if isinstance(fact, Unknown):
        return Verdict("unknown", text, f"unknown: {fact.reason}")
    items = _items(facts, that.of)
    parts = tuple(evaluate(that.where, facts.with_item(that.item, item)) for item in items)
    sure, perhaps = (sum(part.truth == truth for part in parts) for truth in ("true", "unknown"))
    truth: Truth = "true" if sure >= that.at_least else "unknown" if sure + perhaps >= that.at_least else "false"
    there = ", ".join(str(item.get("name") or item.get("pci_id") or "?") for item in items) or "none"
    seen = f"{sure} such{f', {perhaps} not determined' if perhaps else ''}; {that.of} here: {there}"
    return Verdict(truth, text, seen if len(seen) <= 300 else seen[:299] + "…", fact.source, parts)


def _reached(that: Reached, facts: Facts) -> Verdict:
    text = f"at least {that.at_least:g} {that.unit or ''}".rstrip() + f" where {english(that.where)}"
    if not isinstance(facts.get("measurements"), Known):
        return Verdict("unknown", text, f"nothing was measured that still holds: {that.measure}")
    rows = [row for row in _items(facts, "measurements") if evaluate(that.where, facts.with_item("measurement", row)).truth == "true"]
    failed = [row for row in rows if row.get("status") == "failed"]
    done = [row for row in rows if row.get("status") == "ok" and isinstance(row.get("throughput"), (int, float))]
    done = [row for row in done if not that.unit or row.get("unit") == that.unit]
    if not done and not failed:
        return Verdict("unknown", text, f"it was not measured: {that.measure}")
    fastest: dict[str, Mapping[str, Any]] = {}
    for row in sorted(done, key=lambda row: float(row["throughput"])):
        fastest[str(row.get("device"))] = row
    parts = [
        Verdict("true" if row["throughput"] >= that.at_least else "false", f"{row.get('name')} reached {that.at_least:g}", _speed(row))
        for row in fastest.values()
    ]
    broken = [row for row in failed if str(row.get("device")) not in fastest]
    parts += [Verdict("false", f"{row.get('name')} was measured", f"failed: {row.get('reason') or 'no reason'}"[:300]) for row in broken]
    truth: Truth = "false" if any(part.truth == "false" for part in parts) else "true"
    seen = "; ".join(f"{part.text.partition(' reached ')[0].removesuffix(' was measured')}: {part.seen}" for part in parts)
    return Verdict(truth, text, seen, "gpudoctor validate", tuple(parts))


def _speed(row: Mapping[str, Any]) -> str:
    noisy = f", noisy: {row['noisy']}" if row.get("noisy") else ""
    return f"{row['throughput']:.5g} {row.get('unit') or ''}".rstrip() + noisy


def _finding(demand: Demand, seen: tuple[str, ...], facts: Facts) -> Finding:
    digest = hashlib.sha256(demand.name.encode()).hexdigest()[:8]
    advice = fill(demand.advice, facts) or "Bring the machine to what the policy asks for, or change the policy."
    return Finding(
        id=ID, key=f"{ID}-{digest}", subjects=(demand.name,), severity="error", layer=demand.layer,
        stacks=demand.stacks, title=f"Policy not met: {fill(demand.name, facts)}",
        explanation=f"{_english(demand)} Seen: {'; '.join(seen)}.".lstrip(), confidence="certain", evidence=seen,
        advice=Advice(text=advice), sources=(demand.place,) if demand.place else (),
    )  # fmt: skip


def _english(demand: Demand) -> str:
    """The condition in words, where the name of the demand does not already say it."""
    return "" if isinstance(demand.that, (Count, Reached)) else f"The policy demands: {english(demand.that)}."
