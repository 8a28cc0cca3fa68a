"""A check against the facts and the text of one of its own examples."""

from __future__ import annotations

from msgspec import Struct, field

from gpudoctor.diagnosis.diagnose import outcomes
from gpudoctor.diagnosis.messages import hits_of, strongest_first
from gpudoctor.facts.text.cleaning import lines_of
from gpudoctor.facts.text.roles import Roles
from gpudoctor.model.check import Check
from gpudoctor.model.facts import Facts
from gpudoctor.model.signature import Hit, Signature
from gpudoctor.rules.signatures import SearchedText

_WEIGHT = ("problem", "undetermined", "ok", "not-applicable")


class PreparedExample(Struct, frozen=True):
    """The facts of an example, and its text, ready to be searched by many checks; None where there is no text.

    `found` keeps the places of each signature that was searched: the mutants of a check share all signatures but one.
    """

    facts: Facts
    text: SearchedText | None
    found: dict[Signature, list[Hit]] = field(default_factory=dict)

    def hits_of(self, signature: Signature) -> list[Hit]:
        if self.text is None:
            return []
        hits = self.found.get(signature)
        if hits is None:
            hits = self.found[signature] = list(hits_of(signature, self.text))
        return hits


def prepared(facts: Facts, text: str = "") -> PreparedExample:
    """Prepares an example. `text` is what a person would paste."""
    lines = lines_of(text)
    return PreparedExample(facts, SearchedText(lines, Roles(lines)) if text else None)


def outcome_of(check: Check, example: PreparedExample) -> str:
    """The weightiest outcome over all items; no item at all is 'not-applicable'."""
    hits = strongest_first(hit for signature in check.signatures for hit in example.hits_of(signature))
    seen = {trace.outcome for trace, _ in outcomes(check, example.facts, hits)}
    return next((outcome for outcome in _WEIGHT if outcome in seen), "not-applicable")
