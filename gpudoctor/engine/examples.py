"""Runs a check's own examples: what each must say against what it says."""

from __future__ import annotations

from gpudoctor.engine.diagnose import outcomes
from gpudoctor.model.check import Check, Example
from gpudoctor.model.facts import Facts


def outcome_of(check: Check, facts: Facts) -> str:
    """One outcome over all items: a problem wherever one is, then undetermined, ok, not-applicable."""
    seen = {trace.outcome for trace, _ in outcomes(check, facts)}
    return next((outcome for outcome in ("problem", "undetermined", "ok") if outcome in seen), "not-applicable")


def failing(check: Check, example: Example, facts: Facts) -> str | None:
    """None where the example holds, else the sentence that says what came instead."""
    got = outcome_of(check, facts)
    return None if got == example.expect else f"example '{example.name}': expected {example.expect}, got {got}"
