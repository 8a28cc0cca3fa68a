"""Which checks can have a finding where no text is read: asked of their heads, so that no other check is built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudoctor.model.facts import Facts


def speaks_without_a_message(head: Mapping[str, Any]) -> bool:
    """Whether a check can have a finding without a text. `head` is described in knowledge.loader.head_of."""
    return "signature" not in head or bool(head["proactive"])


def may_speak_by_facts(facts: Facts, items: Mapping[str, str], head: Mapping[str, Any]) -> bool:
    """Whether a check can have a finding without a text where only `facts` are known.

    `items` gives the name of an item for each fact of kind records; its fields are known where the records are.
    """
    records = head["for_each"]
    if not speaks_without_a_message(head) or (records is not None and not facts.known(records)):
        return False
    item = f"{items.get(records, '')}."
    return all(facts.known(name) or (records is not None and name.startswith(item)) for name in head["facts"])
