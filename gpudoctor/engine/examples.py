"""A check against the facts of one of its own examples."""

from __future__ import annotations

from gpudoctor.engine.diagnose import outcomes
from gpudoctor.model.check import Check
from gpudoctor.model.facts import Facts

_WEIGHT = ("problem", "undetermined", "ok", "not-applicable")


def outcome_of(check: Check, facts: Facts) -> str:
    """The weightiest outcome over all items; no item at all is 'not-applicable'."""
    seen = {trace.outcome for trace, _ in outcomes(check, facts)}
    return next((outcome for outcome in _WEIGHT if outcome in seen), "not-applicable")
