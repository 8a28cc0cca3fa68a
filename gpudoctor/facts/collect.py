"""Runs all probes, then all derivations. A probe that fails leaves its facts unknown and never ends the run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping

from msgspec import Struct, field

from gpudoctor.facts import vocabulary
from gpudoctor.facts.probes._probe import Probe
from gpudoctor.model.deadline import Deadline
from gpudoctor.model.facts import Absent, Fact, Facts, Incomplete, Known, Unknown
from gpudoctor.system.host import Host

Progress = Callable[[str], None]


class Gathered(Struct):
    """The facts of a machine or a text, and what kept gpudoctor from looking."""

    facts: Facts
    incidents: list[str] = field(default_factory=list)
    """Probes and derivations that raised or had no time left, one line each."""


def gather(
    host: Host,
    progress: Progress | None = None,
    given: Mapping[str, Fact] | None = None,
    settle: Callable[[Facts], None] | None = None,
    deadline: Deadline | None = None,
    only: Collection[str] | None = None,
) -> Gathered:
    """Runs the probes (see `probed`) and then the derivations. `settle` may change the facts of the probes before anything is derived.

    `deadline`: for a text or a recording that somebody sent; probes and derivations after it are left out, and their facts are unknown.
    """
    gathered = probed(host, progress, given, deadline, only)
    if settle is not None:
        settle(gathered.facts)
    derive(gathered, deadline)
    return gathered


def probed(
    host: Host,
    progress: Progress | None = None,
    given: Mapping[str, Fact] | None = None,
    deadline: Deadline | None = None,
    only: Collection[str] | None = None,
) -> Gathered:
    """Runs the probes in their order; slow probes (processes, frameworks) run in threads beside the others.

    A slow probe sees the facts that are known when it starts. What it has not found when the host's time ends is `unknown: out of time`.
    `given`: facts that no probe provides, such as what a person asked of `setup`. `progress` is called with the name of each probe.
    `deadline`: as for `gather`. `only`: the names of the probes that run; the facts of all others are unknown.
    """
    gathered = Gathered(Facts(given))
    running: list[tuple[Probe, threading.Thread, Gathered]] = []
    for probe in vocabulary.all_probes():
        if only is not None and probe.name not in only:
            continue
        if probe.slow and host.quick:
            _leave_out(probe, gathered, "not inspected")
        elif probe.slow and host.origin == "live":
            own = Gathered(Facts(dict(gathered.facts.items())))
            result = Gathered(Facts())
            thread = threading.Thread(target=_run, args=(probe, host, own.facts, result), daemon=True, name=probe.name)
            thread.start()
            running.append((probe, thread, result))
        elif deadline is not None and deadline.over():
            gathered.incidents.append(f"{probe.name}: out of time")
            _leave_out(probe, gathered, "out of time")
        else:
            _run(probe, host, gathered.facts, gathered)
        if progress:
            progress(probe.name)
    for probe, thread, result in running:
        if progress:
            progress(probe.name)
        thread.join(max(0.1, host.remaining() + 0.7))
        if thread.is_alive():
            gathered.incidents.append(f"{probe.name}: out of time")
            _leave_out(probe, gathered, "out of time")
        for name, fact in list(result.facts.items()):
            gathered.facts.set(name, fact)
        gathered.incidents += result.incidents
    return gathered


def derive(gathered: Gathered, deadline: Deadline | None = None) -> None:
    """Adds the facts of all derivations. One that raises, or comes after the deadline, is an incident."""
    for derivation in vocabulary.all_derivations():
        if deadline is not None and deadline.over():
            gathered.incidents.append(f"{derivation.name}: out of time")
            continue
        try:
            for name, fact in derivation.derive(gathered.facts):
                gathered.facts.set(name, _proven(fact, gathered.facts))
        except Exception as error:  # whatever was raised, the other derivations still run
            gathered.incidents.append(f"{derivation.name}: {type(error).__name__}: {error}")


def _proven(fact: Fact, facts: Facts) -> Fact:
    """The fact, but unknown where it is an absence concluded from a list of which only a part is known."""
    if isinstance(fact, Absent) and fact.source and isinstance(facts.value(fact.source), Incomplete):
        return Unknown("not in the text")
    return fact


def _run(probe: Probe, host: Host, known: Facts, into: Gathered) -> None:
    try:
        for name, fact in probe.collect(host, known):
            into.facts.set(name, fact)
            known.set(name, fact)
    except Exception as error:
        into.incidents.append(f"{probe.name}: {type(error).__name__}: {error}")
        _leave_out(probe, into, f"probe crashed: {probe.name}")


def _leave_out(probe: Probe, gathered: Gathered, reason: str) -> None:
    for spec in probe.provides:
        if not isinstance(gathered.facts.get(spec.name), Known):
            gathered.facts.set(spec.name, Unknown(reason))
