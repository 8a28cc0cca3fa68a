"""A policy against the facts: a demand that is false is a fault, one that is unknown stays open."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from gpudoctor.lang.conditions import english
from gpudoctor.lang.evaluate import evaluate
from gpudoctor.lang.templates import fill
from gpudoctor.model.check import Advice, Demand
from gpudoctor.model.facts import Facts
from gpudoctor.model.report import Finding


def weigh(demands: Iterable[Demand], facts: Facts) -> tuple[list[Finding], list[str]]:
    """(a finding per demand that does not hold, the names of those that cannot be told)."""
    unmet: list[Finding] = []
    open_ones: list[str] = []
    for demand in demands:
        verdict = evaluate(demand.that, facts)
        if verdict.truth == "unknown":
            open_ones.append(demand.name)
        elif verdict.truth == "false":
            seen = tuple(dict.fromkeys(f"{leaf.text}: {leaf.seen or 'no'}" for leaf in verdict.leaves() if leaf.truth == "false"))
            unmet.append(_finding(demand, seen, facts))
    return unmet, open_ones


def _finding(demand: Demand, seen: tuple[str, ...], facts: Facts) -> Finding:
    digest = hashlib.sha256(demand.name.encode()).hexdigest()[:8]
    advice = fill(demand.advice, facts) or "Bring the machine to what the policy asks for, or change the policy."
    return Finding(
        id="demand-not-met", key=f"demand-not-met-{digest}", subjects=(demand.name,), severity="error", layer=demand.layer,
        stacks=demand.stacks, title=f"Not as demanded: {fill(demand.name, facts)}",
        explanation=f"The policy demands: {english(demand.that)}.", confidence="certain", evidence=seen,
        advice=Advice(text=advice), sources=(),
    )  # fmt: skip
