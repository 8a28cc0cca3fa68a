"""Every fact that a probe or a derivation provides: for linting, listing, redaction and the names of items."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from gpudoctor.facts import derive, probes, text
from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.probes._probe import Probe
from gpudoctor.model.facts import FactSpec


@cache
def all_probes() -> tuple[Probe, ...]:
    return tuple(import_module(f"gpudoctor.facts.probes.{name}").PROBE for name in probes.ALL)


@cache
def all_derivations() -> tuple[Derivation, ...]:
    return tuple(import_module(f"gpudoctor.facts.derive.{name}").DERIVATION for name in derive.ALL)


@cache
def specs() -> Mapping[str, FactSpec]:
    """The specification of every fact, by its name; cached, since a report asks for each of its facts."""
    named: dict[str, FactSpec] = {}
    for provides in (*(probe.provides for probe in all_probes()), *(derivation.provides for derivation in all_derivations())):
        named.update((spec.name, spec) for spec in provides)
    named.update((spec.name, spec) for spec in text.SPECS)
    return named


@cache
def items() -> Mapping[str, str]:
    """The facts that hold records, with the name of one item: {'gpus': 'gpu'}."""
    return {name: spec.item for name, spec in specs().items() if spec.kind == "records" and spec.item}
