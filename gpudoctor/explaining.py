"""The use case of `explain`: a pasted text to facts and messages, judged by the same catalogue as a machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from gpudoctor import app
from gpudoctor.gather.collect import gather
from gpudoctor.lang.signatures import SearchedText, anchor
from gpudoctor.model.check import Check
from gpudoctor.model.facts import Facts
from gpudoctor.model.report import Report
from gpudoctor.model.signature import Hit, Numbered
from gpudoctor.readers import large
from gpudoctor.readers.cleaning import unquoted
from gpudoctor.readers.reading import machine_of, settle, take

MOST_HITS = 12
"""Places of one check that are kept: more prove no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainRequest:
    """Checks to add and to leave out, as for `check`."""

    checks: Sequence[str] = ()
    ignore: frozenset[str] = field(default_factory=frozenset)
    stack: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The report, and what was recognised in the text."""

    report: Report
    recognised: tuple[str, ...]
    lines: int


def explain(chunks: Iterable[bytes], request: ExplainRequest, progress: Callable[[int], None] | None = None) -> Explanation:
    """One text, of any size. `progress` is told the bytes read of a long one. Raises app.BAD_INPUT for a catalogue that cannot be used."""
    began = time.monotonic()
    asked = app.CheckRequest(stack=request.stack, checks=request.checks, ignore=request.ignore)
    knowledge = app.catalogue(request.checks)
    app.refuse_unknown_names(asked, knowledge)
    lines = unquoted(large.read(chunks, anchors(knowledge.checks), progress))
    evidence, sheet = take(lines)
    host = machine_of(evidence)

    def settled(facts: Facts) -> None:
        settle(evidence, sheet, facts)

    gathered = gather(host, settle=settled)
    report = app.judge(gathered, knowledge, asked, "text", hits=hits_in(lines, knowledge.checks))
    return Explanation(
        report=replace(report, seconds=time.monotonic() - began, not_looked_at=(), incomplete=()),
        recognised=tuple(evidence.recognised), lines=len(lines),
    )  # fmt: skip


def anchors(checks: Iterable[Check]) -> list[str]:
    """Literals of which one stands wherever a signature does."""
    return [literal for check in checks for signature in check.signatures for literal in anchor(signature)]


def hits_in(lines: Sequence[Numbered], checks: Sequence[Check]) -> dict[str, list[Hit]]:
    """By check: where the text shows one of its signatures."""
    text = SearchedText(lines)
    found: dict[str, list[Hit]] = {}
    for check in checks:
        for signature in check.signatures:
            hits = [hit for hit, _ in zip(text.hits(signature), range(MOST_HITS), strict=False)]
            if hits:
                found.setdefault(check.id, []).extend(hits)
    return {name: sorted(hits, key=lambda hit: (-hit.strength, hit.line))[:MOST_HITS] for name, hits in found.items()}
