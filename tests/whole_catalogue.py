"""Texts answered by the whole catalogue in one process: what `explain` says, with the catalogue built once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from gpudoctor.diagnosis.messages import concerned, hits_in
from gpudoctor.facts import vocabulary
from gpudoctor.facts.collect import Gathered, derive, probed
from gpudoctor.facts.text.cleaning import lines_of, unquoted
from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.reading import machine_of, settle, take
from gpudoctor.facts.text.roles import Roles
from gpudoctor.knowledge.compiled_catalogue import Entry
from gpudoctor.knowledge.loader import read_folder
from gpudoctor.knowledge.paths import checkout_checks
from gpudoctor.model.check import Catalogue, Check
from gpudoctor.model.facts import Facts
from gpudoctor.model.report import Finding
from gpudoctor.rules.signatures import SearchedText
from gpudoctor.services import checking
from gpudoctor.system.pasted_host import PastedHost


@cache
def catalogue() -> Catalogue:
    """With examples, which the compiled catalogue leaves out."""
    folder = checkout_checks()
    assert folder is not None
    checks, stacks = read_folder(folder, vocabulary.items())
    return Catalogue(checks=tuple(checks), stacks=tuple(stacks))


@cache
def _places() -> dict[str, int]:
    return {check.id: place for place, check in enumerate(catalogue().checks)}


def _asked(entries: Iterable[Entry]) -> tuple[Check, ...]:
    """These checks of the whole catalogue."""
    names = {entry["head"]["id"]: None for entry in entries}
    known = _places()
    return tuple(catalogue().checks[place] for place in sorted(known[name] for name in names))


def _probed(evidence: Evidence) -> Gathered:
    """What the probes say of the machine that a text shows. Most texts show none, of which the probes always say the same."""
    machine = machine_of(evidence)
    if evidence.commands or evidence.files or evidence.variables or evidence.python():
        return probed(machine)
    said = _of_no_machine(machine.platform)
    return Gathered(Facts(dict(said.facts.items())), list(said.incidents))


@cache
def _of_no_machine(platform: str) -> Gathered:
    return probed(PastedHost({}, {}, {}, {}, platform))


@cache
def findings(text: str) -> tuple[Finding, ...]:
    """In reading order. A check that can have no finding is not asked, as in explain (test_narrowed_catalogue)."""
    lines = unquoted(lines_of(text))
    searched = SearchedText(lines, Roles(lines))
    everything = catalogue()
    evidence, sheet = take(lines)
    gathered = _probed(evidence)
    settle(evidence, sheet, gathered.facts)
    derive(gathered)
    asked = _asked((*checking.speaking_by_messages(searched), *checking.speaking_by_facts(gathered.facts)))
    hits = hits_in(searched, concerned(asked, everything.stacks, gathered.facts), everything.stacks, gathered.facts)
    narrowed = Catalogue(checks=asked, stacks=everything.stacks)
    return tuple(checking.judge(gathered.facts, narrowed, checking.CheckRequest(), "text", hits=hits).findings)


def findings_of_facts(facts: Facts) -> tuple[Finding, ...]:
    """The same for the facts of a machine."""
    narrowed = Catalogue(checks=_asked(checking.speaking_by_facts(facts)), stacks=catalogue().stacks)
    return tuple(checking.judge(facts, narrowed, checking.CheckRequest(), "capture").findings)


def named(found: tuple[Finding, ...]) -> list[str]:
    return [f"{finding.id} ({finding.severity}, {finding.confidence})" for finding in found]
