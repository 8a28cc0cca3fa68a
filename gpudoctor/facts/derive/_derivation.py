"""What a derivation is: facts computed from facts, so that live machines, captures and pasted text share them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from gpudoctor.model.facts import Fact, Facts, FactSpec


class Derivation(Struct, frozen=True):
    """`derive(facts)` yields (name, fact). Derivations run after the probes, in the order of `facts.derive.ALL`."""

    name: str
    provides: tuple[FactSpec, ...]
    derive: Callable[[Facts], Iterable[tuple[str, Fact]]]
