"""Pythons: whether one lies in a range, whether one of a range can be had, and how the pip of the target environment is called."""

from __future__ import annotations

from gpudoctor.facts.derive._setup import pythons_here
from gpudoctor.model.facts import Fact, Facts, Known, Unknown
from gpudoctor.rules.versions import in_release


def obtainable(facts: Facts, specifier: str) -> bool:
    """Whether an environment can be made with a Python of this range: False only where the one that was asked for lies outside, or where
    none is here and uv, which fetches one, is not either."""
    asked = facts.value("setup.python_version")
    if asked:
        return in_release(str(asked), specifier) is not False
    minors = pythons_here(facts)
    return bool(facts.value("tools.uv")) or not minors or any(in_release(minor, specifier) for minor in minors)


def pip_of(facts: Facts) -> str:
    """How pip of the target environment is called in a command; `python -m pip` where its path is unknown or holds a space."""
    python = facts.value("python.executable")
    return f"{python} -m pip" if isinstance(python, str) and " " not in python else "python -m pip"


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
