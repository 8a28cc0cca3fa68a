"""Texts answered by the whole catalogue in one process: what `explain` says, with the catalogue built once."""

from __future__ import annotations

from functools import cache

from gpudoctor.diagnosis.messages import concerned, hits_in
from gpudoctor.facts import vocabulary
from gpudoctor.facts.collect import gather
from gpudoctor.facts.text.cleaning import lines_of, unquoted
from gpudoctor.facts.text.reading import machine_of, settle, take
from gpudoctor.facts.text.roles import Roles
from gpudoctor.knowledge.loader import read_folder
from gpudoctor.knowledge.paths import checkout_checks
from gpudoctor.model.check import Catalogue
from gpudoctor.model.report import Finding
from gpudoctor.model.signature import Literals
from gpudoctor.rules.literals import bare
from gpudoctor.rules.signatures import SearchedText
from gpudoctor.rules.synonyms import spelled
from gpudoctor.services import checking


@cache
def catalogue() -> Catalogue:
    """With examples, which the compiled catalogue leaves out."""
    folder = checkout_checks()
    assert folder is not None
    checks, stacks = read_folder(folder, vocabulary.items())
    return Catalogue(checks=tuple(checks), stacks=tuple(stacks))


@cache
def _literals() -> dict[str, list[Literals]]:
    return {check.id: [signature.text for signature in check.signatures] for check in catalogue().checks}


@cache
def _letters() -> dict[str, list[list[list[bytes]]]]:
    """What a text must at least contain, so that most checks are passed over by the runtime's own search."""
    return {
        id: [[[bare(literal).encode() for literal in spelled(choice)] for choice in choices] for choices in signatures]
        for id, signatures in _literals().items()
    }


def _may_hold(small: bytes, signatures: list[list[list[bytes]]]) -> bool:
    return any(all(any(letters in small for letters in choice) for choice in choices) for choices in signatures)


@cache
def findings(text: str) -> tuple[Finding, ...]:
    """In reading order. Checks whose literals the text lacks are not asked, as in explain."""
    lines = unquoted(lines_of(text))
    searched = SearchedText(lines, Roles(lines))
    everything = catalogue()
    asked = [
        check for check in everything.checks
        if not check.signatures or check.proactive
        or (_may_hold(searched._small, _letters()[check.id])
            and any(all(map(searched.holds_any, choices)) for choices in _literals()[check.id]))
    ]  # fmt: skip
    evidence, sheet = take(lines)
    gathered = gather(machine_of(evidence), settle=lambda facts: settle(evidence, sheet, facts))
    hits = hits_in(searched, concerned(asked, everything.stacks, gathered.facts), everything.stacks, gathered.facts)
    return checking.report_from_facts(
        gathered, Catalogue(checks=tuple(asked), stacks=everything.stacks), checking.CheckRequest(), "text", hits=hits
    ).findings


def named(found: tuple[Finding, ...]) -> list[str]:
    return [f"{finding.id} ({finding.severity}, {finding.confidence})" for finding in found]
