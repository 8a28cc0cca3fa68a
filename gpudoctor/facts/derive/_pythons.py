"""Whether a new environment could have a Python of a given range, as far as facts tell."""

from __future__ import annotations

from gpudoctor.facts.derive._setup import pythons_here
from gpudoctor.model.facts import Facts
from gpudoctor.rules.versions import in_release


def obtainable(facts: Facts, specifier: str) -> bool:
    """False only where no Python in this range is here, or was asked for, and nothing fetches one."""
    asked = facts.value("setup.python_version")
    if asked:
        return in_release(str(asked), specifier) is not False
    minors = pythons_here(facts)
    return bool(facts.value("tools.uv")) or not minors or any(in_release(minor, specifier) for minor in minors)
