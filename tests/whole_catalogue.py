"""Texts answered by the whole catalogue in one process: what `explain` says, with the catalogue built once."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import Any

from ahocorasick_rs import BytesAhoCorasick, MatchKind

from gpudoctor.diagnosis.messages import concerned, hits_in, may_show, may_speak_by_facts
from gpudoctor.facts import vocabulary
from gpudoctor.facts.collect import Gathered, gather
from gpudoctor.facts.text.cleaning import lines_of, unquoted
from gpudoctor.facts.text.reading import machine_of, settle, take
from gpudoctor.facts.text.roles import Roles
from gpudoctor.knowledge.loader import heads, read_folder
from gpudoctor.knowledge.paths import checkout_checks
from gpudoctor.model.check import Catalogue
from gpudoctor.model.facts import Facts
from gpudoctor.model.report import Finding
from gpudoctor.rules.literals import bare
from gpudoctor.rules.signatures import SearchedText, anchor
from gpudoctor.rules.synonyms import spelled
from gpudoctor.services import checking


@cache
def catalogue() -> Catalogue:
    """With examples, which the compiled catalogue leaves out."""
    folder = checkout_checks()
    assert folder is not None
    checks, stacks = read_folder(folder, vocabulary.items())
    return Catalogue(checks=tuple(checks), stacks=tuple(stacks))


class _Heads:
    """Which checks can have a finding, as `explain` chooses them, for thousands of texts: one automaton for the anchors of all."""

    def __init__(self) -> None:
        self._items = vocabulary.items()
        self._by_facts: list[dict[str, Any]] = []
        """Heads of checks that need no message."""
        self._anchored: dict[bytes, list[dict[str, Any]]] = defaultdict(list)
        """By letters, one of which a text must hold: the heads of checks that speak by a message."""
        for head in map(dict, heads(self._items)):
            if "signature" not in head or head["proactive"]:
                self._by_facts.append(head)
            for choices in head.get("signature", ()):
                for word in spelled(anchor(choices)):
                    self._anchored[bare(word).encode()].append(head)
        self._words = list(self._anchored)
        self._automaton = BytesAhoCorasick(self._words, matchkind=MatchKind.Standard)

    def shown(self, text: SearchedText) -> set[str]:
        """The checks of which the text holds all literals of a signature."""
        there = {number for number, _, _ in self._automaton.find_matches_as_indexes(text._small, overlapping=True)}
        near = {head["id"]: head for number in there for head in self._anchored[self._words[number]]}
        return {name for name, head in near.items() if may_show(text, head)}

    def told(self, facts: Facts) -> set[str]:
        return {head["id"] for head in self._by_facts if may_speak_by_facts(facts, self._items, head)}


_heads = cache(_Heads)


@cache
def findings(text: str) -> tuple[Finding, ...]:
    """In reading order. A check that can have no finding is not asked, as in explain (test_narrowed_catalogue)."""
    lines = unquoted(lines_of(text))
    searched = SearchedText(lines, Roles(lines))
    everything = catalogue()
    evidence, sheet = take(lines)
    gathered = gather(machine_of(evidence), settle=lambda facts: settle(evidence, sheet, facts))
    may_speak = _heads().shown(searched) | _heads().told(gathered.facts)
    asked = tuple(check for check in everything.checks if check.id in may_speak)
    hits = hits_in(searched, concerned(asked, everything.stacks, gathered.facts), everything.stacks, gathered.facts)
    narrowed = Catalogue(checks=asked, stacks=everything.stacks)
    return checking.report_from_facts(gathered, narrowed, checking.CheckRequest(), "text", hits=hits).findings


def findings_of_facts(facts: Facts) -> tuple[Finding, ...]:
    """The same for the facts of a machine."""
    told = _heads().told(facts)
    asked = tuple(check for check in catalogue().checks if check.id in told)
    narrowed = Catalogue(checks=asked, stacks=catalogue().stacks)
    return checking.report_from_facts(Gathered(facts), narrowed, checking.CheckRequest(), "capture").findings


def named(found: tuple[Finding, ...]) -> list[str]:
    return [f"{finding.id} ({finding.severity}, {finding.confidence})" for finding in found]
