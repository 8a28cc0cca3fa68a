"""Evaluates one condition on the machine as it is now, with the probes that it needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudoctor.facts import vocabulary
from gpudoctor.facts.collect import gather
from gpudoctor.facts.probes._probe import Probe
from gpudoctor.facts.vocabulary import items
from gpudoctor.model.condition import Truth
from gpudoctor.model.facts import FactSpec
from gpudoctor.rules.conditions import facts_of, parse
from gpudoctor.rules.evaluate import evaluate
from gpudoctor.system.host import Host

__all__ = ["items", "truth_of"]


def truth_of(table: Any, host: Host) -> Truth:
    """The truth of a condition of a recipe; 'unknown' where a probe that it needs raised. Raises rules.conditions.ConditionError."""
    condition = parse(table, "ready", items())
    return evaluate(condition, gather(host, only=_needed(facts_of(condition))).facts).truth


def _needed(read: set[str]) -> set[str]:
    """The names of the probes that must run for these facts."""
    probes = list(vocabulary.all_probes())
    derived = any(_gives(one.provides, read) for one in vocabulary.all_derivations())
    # Derivations do not declare the facts that they read: then all probes run, except those that start frameworks.
    return {probe.name for probe in probes if _gives(probe.provides, read) or (derived and not probe.slow) or _is_read(probe, probes, read)}


def _gives(provides: Sequence[FactSpec], read: set[str]) -> bool:
    return any(name == spec.name or name.startswith(f"{spec.name}.") for spec in provides for name in read)


def _is_read(probe: Probe, every: list[Probe], read: set[str]) -> bool:
    """Whether a probe that gives one of these facts reads a fact of this one."""
    mine = {spec.name for spec in probe.provides}
    return any(mine & set(other.needs) and _gives(other.provides, read) for other in every)
