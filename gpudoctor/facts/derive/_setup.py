"""What the derivations for `setup` share: releases of torch by table, Pythons as a specifier, and which Pythons are at hand."""

from __future__ import annotations

import re
from typing import Any

from gpudoctor.facts.derive._tables import table
from gpudoctor.facts.derive._versions import numbers
from gpudoctor.model.facts import Facts


def asked_torch(facts: Facts) -> str | None:
    """The release in --torch without a local part: '2.8', '2.8.0'; None where none was given."""
    found = re.match(r"\d+(?:\.\d+)*", str(facts.value("setup.torch") or ""))
    return found.group() if found else None


def newest_row() -> dict[str, Any]:
    """The row of python-partners.toml for the newest torch release."""
    data = table("python-partners")
    return next((dict(row) for row in data["torch"] if row["version"] == data["newest_torch"]), dict(data["torch"][-1]))


def release_of(asked: str) -> str:
    """The last torch release that begins with these numbers: 2.8.1 for 2.8. A release that the table lacks is completed to three
    numbers."""
    wanted = numbers(asked)
    rows = [row["version"] for row in table("python-partners")["torch"] if numbers(row["version"])[: len(wanted)] == wanted]
    return rows[-1] if rows else ".".join(map(str, (*wanted, 0, 0)[:3]))


def specifier(release: str) -> str:
    """The Pythons with a wheel of this torch release, '>=3.10,<3.15'; those of the nearest older release where the table lacks it."""
    rows = table("python-partners")["torch"]
    row = next((row for row in rows if numbers(row["version"]) == numbers(release)), None)
    if row is None:
        older = [one for one in rows if numbers(one["version"]) <= numbers(release)]
        row = older[-1] if older else rows[0]
    return between(*row["python"])


def newest_row_here(facts: Facts) -> dict[str, Any]:
    """The row of the newest torch release with a wheel for a Python of this machine, of the two newest ones.

    Where neither has one, it is the newest release, and the setup brings a Python for it.
    """
    here = pythons_here(facts)
    for row in reversed(table("python-partners")["torch"][-2:]):
        first, last = map(numbers, row["python"])
        if any(first <= numbers(minor) <= last for minor in here):
            return dict(row)
    return newest_row()


def between(first: str, last: str) -> str:
    """The specifier for the Pythons from `first` to `last`: '>=3.8,<3.12' for '3.8' and '3.11'."""
    major, minor = numbers(last)[:2]
    return f">={first},<{major}.{minor + 1}"


def pythons_here(facts: Facts) -> list[str]:
    """The minor versions ('3.11') of the interpreters that an environment can be made with: of those found, else of the distribution's
    python3; empty where neither is known."""
    found = facts.value("python.interpreters")
    if isinstance(found, list) and found:
        return [str(one["minor"]) for one in found if isinstance(one, dict) and one.get("minor")]
    for row in table("os-python")["release"]:
        if row["os"] == facts.value("os.id") and row["version"] == facts.value("os.version"):
            return [str(row["python"])]
    return []
