"""A pasted text on its way to facts, as `explain` takes it, without judging them."""

from __future__ import annotations

from gpudoctor.facts.collect import gather
from gpudoctor.facts.text.cleaning import lines_of, unquoted
from gpudoctor.facts.text.reading import machine_of, settle, take
from gpudoctor.model.facts import Facts


def read(text: str) -> Facts:
    evidence, sheet = take(unquoted(lines_of(text)))
    return gather(machine_of(evidence), settle=lambda facts: settle(evidence, sheet, facts)).facts
