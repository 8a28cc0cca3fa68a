"""Every fact that a probe or a derivation provides: for linting, listing, redaction and the names of items."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from gpudoctor import derived, probes, readers
from gpudoctor.derived._derivation import Derivation
from gpudoctor.model.facts import FactSpec
from gpudoctor.probes._probe import Probe


def all_probes() -> Iterator[Probe]:
    for name in probes.ALL:
        yield import_module(f"gpudoctor.probes.{name}").PROBE


def all_derivations() -> Iterator[Derivation]:
    for name in derived.ALL:
        yield import_module(f"gpudoctor.derived.{name}").DERIVATION


def specs() -> dict[str, FactSpec]:
    """The vocabulary by name."""
    named: dict[str, FactSpec] = {}
    for provides in (*(probe.provides for probe in all_probes()), *(derivation.provides for derivation in all_derivations())):
        named.update((spec.name, spec) for spec in provides)
    named.update((spec.name, spec) for spec in readers.SPECS)
    return named


def items() -> dict[str, str]:
    """Records facts and what one of their items is called: {'gpus': 'gpu'}."""
    return {name: spec.item for name, spec in specs().items() if spec.kind == "records" and spec.item}
