"""Whether the Python of an environment, or one that a new environment could have, lies in a given range."""

from __future__ import annotations

from gpudoctor.facts.derive._setup import pythons_here
from gpudoctor.model.facts import Fact, Facts, Known, Unknown
from gpudoctor.rules.versions import in_release


def obtainable(facts: Facts, specifier: str) -> bool:
    """False only where no Python in this range is here, or was asked for, and nothing fetches one."""
    asked = facts.value("setup.python_version")
    if asked:
        return in_release(str(asked), specifier) is not False
    minors = pythons_here(facts)
    return bool(facts.value("tools.uv")) or not minors or any(in_release(minor, specifier) for minor in minors)


def in_range(facts: Facts, python: str, demand: str, source: str) -> Fact:
    """Whether the version in the fact `python` is one that the fact `demand` (Requires-Python) asks for."""
    version, specifier = facts.value(python), facts.value(demand)
    if not version or not specifier:
        return Unknown("not recorded")
    try:
        fits = in_release(str(version), str(specifier))
    except ValueError:
        return Unknown("unparsable")
    return Unknown("unparsable") if fits is None else Known(fits, source)
