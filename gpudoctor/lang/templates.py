"""Fills {fact.name} in texts. Values are data: what they hold is never read as a template again."""

from __future__ import annotations

import re

from gpudoctor.lang.evaluate import shown
from gpudoctor.model.facts import Absent, Facts, Known

_FIELD = re.compile(r"\{([a-z_][A-Za-z0-9_.\-]*)(?:\|([^{}]*))?\}")


def fields_of(template: str) -> set[str]:
    return {name for name, _ in _FIELD.findall(template)}


def fill(template: str, facts: Facts) -> str:
    """Unknown facts read 'unknown', absent ones 'none', both of them what stands behind a bar: {nvidia.in_use|in use}.

    Names with _bytes read as GiB or MiB.
    """

    def value(found: re.Match[str]) -> str:
        fact = facts.get(found[1])
        if isinstance(fact, Known):
            if found[1].endswith("_bytes") and isinstance(fact.value, int):
                return size(fact.value)
            return shown(fact.value)
        if found[2] is not None:
            return str(found[2])
        return "none" if isinstance(fact, Absent) else "unknown"

    return _FIELD.sub(value, template)


def fills(template: str, facts: Facts) -> bool:
    """Whether every fact in it is known or has words of its own: what is copied into a shell may not hold 'unknown'."""
    return all(words or isinstance(facts.get(name), Known) for name, words in _FIELD.findall(template))


def readable(template: str) -> str:
    """A template without a machine: <kernel.release> stands where the fact would, words of its own left out."""
    return _FIELD.sub(r"<\1>", template)


def size(number: int) -> str:
    """16 GB reads '16 GiB' here: powers of two, no decimals from 10 on."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if number >= factor:
            amount = number / factor
            return f"{amount:.0f} {unit}" if amount >= 10 or amount == int(amount) else f"{amount:.1f} {unit}"
    return f"{number} B"
