"""Versions as the derivations compare them: whether one is older, its first numbers, and the version of an installed distribution."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpudoctor.model.facts import Facts
from gpudoctor.rules.versions import compare_dotted, dotted


def older(left: Any, right: Any) -> bool | None:
    """Whether the dotted version `left` is older than `right`; None where one of them is no version."""
    mine, other = dotted(left), dotted(right)
    return None if mine is None or other is None else compare_dotted(mine, other) < 0


def numbers(text: str) -> tuple[int, ...]:
    """The first three numbers of a version, or as many as it has: (2, 8, 0) for '2.8.0+cu126', (3, 11) for '3.11'."""
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def distribution(facts: Facts, name: str) -> str | None:
    """The version of a distribution of the target environment: the first where it is installed twice; None where it is not installed
    or its version is unknown."""
    return first_version(facts.value(f"python.distributions.{name}"))


def first_version(value: Any) -> str | None:
    """The version in a value of the fact python.distributions: a version, a table with a version, or a list of either."""
    if isinstance(value, (list, tuple)):
        value = value[0] if value else None
    if isinstance(value, Mapping):
        value = value.get("version")
    return value if isinstance(value, str) else None
