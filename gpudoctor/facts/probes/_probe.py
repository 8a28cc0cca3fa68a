"""What a probe is: a name, the facts it gives, the facts it reads, and the function that asks the host."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.system.host import Host, Ran, Text

Collected = Iterable[tuple[str, Fact]]


class Probe(Struct, frozen=True):
    """`collect(host, facts)` yields (name, fact). The facts in `needs` are collected before it runs."""

    name: str
    provides: tuple[FactSpec, ...]
    collect: Callable[[Host, Facts], Collected]
    needs: tuple[str, ...] = ()
    slow: bool = False
    """Whether it imports frameworks or starts other slow processes; `check --quick` leaves such a probe out."""


def from_text(text: Text, value: object, source: str) -> Fact:
    """The fact for a file and the value that was parsed from it, None where it could not be parsed."""
    if text.ok:
        return Unknown("unparsable") if value is None else Known(value, source)
    if text.problem == "missing":
        return Absent(source)
    return Unknown({"denied": "permission denied", "too-large": "too large", "not-recorded": "not recorded"}.get(text.problem, "io error"))


def from_run(ran: Ran, value: object) -> Fact:
    """The fact for a command and the value that was parsed from its output, None where it could not be parsed."""
    if value is not None:
        return Known(value, " ".join(ran.argv))
    return Unknown(ran.why_not())
