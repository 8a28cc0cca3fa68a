"""The facts that one condition reads, asked of the machine as it is now."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gpudoctor.facts import derive, probes
from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.probes._probe import Probe
from gpudoctor.model.condition import Truth
from gpudoctor.model.facts import Facts, FactSpec
from gpudoctor.rules.conditions import facts_of, parse
from gpudoctor.rules.evaluate import evaluate
from gpudoctor.system.host import Host


def items() -> dict[str, str]:
    """Records facts and what one of their items is called, for conditions.parse."""
    return {spec.name: spec.item for spec in _specs() if spec.kind == "records" and spec.item}


def _probes() -> list[Probe]:
    return [import_module(f"gpudoctor.facts.probes.{name}").PROBE for name in probes.ALL]


def _derivations() -> list[Derivation]:
    return [import_module(f"gpudoctor.facts.derive.{name}").DERIVATION for name in derive.ALL]


def _specs() -> list[FactSpec]:
    return [*(spec for probe in _probes() for spec in probe.provides), *(spec for one in _derivations() for spec in one.provides)]


def truth_of(table: Any, host: Host) -> Truth:
    """A condition as it stands in a recipe. Raises rules.conditions.ConditionError."""
    every, derivations = _probes(), _derivations()
    condition = parse(table, "ready", items())
    read = facts_of(condition)
    by_derivation = any(_gives(spec, read) for one in derivations for spec in one.provides)
    facts = Facts()
    for probe in every:
        # What a derived fact is made of is not declared: then all are asked, but for those that start frameworks.
        if any(_gives(spec, read) for spec in probe.provides) or (by_derivation and not probe.slow) or _needed(probe, every, read):
            for name, fact in probe.collect(host, facts):
                facts.set(name, fact)
    if by_derivation:
        for derivation in derivations:
            for name, fact in derivation.derive(facts):
                facts.set(name, fact)
    return evaluate(condition, facts).truth


def _gives(spec: FactSpec, read: set[str]) -> bool:
    return any(name == spec.name or name.startswith(f"{spec.name}.") for name in read)


def _needed(probe: Probe, every: list[Probe], read: set[str]) -> bool:
    """Whether a probe that is asked reads what this one gives."""
    mine = {spec.name for spec in probe.provides}
    return any(mine & set(other.needs) and any(_gives(spec, read) for spec in other.provides) for other in every)
