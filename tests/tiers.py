"""Which tests of tests/real a run takes: all of them (`full`), or of each family the members whose turn it is on that day (`daily`).

    @pytest.mark.rotates("backend", by="framework")   one family; its members are the values of the parameter `framework`
    @pytest.mark.rotates("slow file", member="site")  everything marked so is one member of that family
    @pytest.mark.rotates("a kill in the middle")      each test is a member of its own
    @pytest.mark.full_only("why")                     no turn at all: only `--tier=full` runs it

A member has its turn once in WEEK days at most; a family of fewer members goes round faster, and never lacks one.
"""

from __future__ import annotations

import datetime
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

WEEK = 7
SEED = "GPUDOCTOR_TEST_SEED"
"""The environment variable that names the day, so that a run can be repeated: a date as in 2026-11-23, or a whole number."""


class SeedError(ValueError):
    pass


@dataclass(frozen=True)
class Place:
    """Where a test stands: in a family as one of its members, or outside of all (`family` is empty)."""

    family: str = ""
    member: str = ""
    full_only: bool = False


def today() -> str:
    return datetime.date.today().isoformat()


def day_of(seed: str) -> int:
    """The number of the day that a seed names."""
    try:
        return int(seed) if seed.isdigit() else datetime.date.fromisoformat(seed).toordinal()
    except ValueError:
        raise SeedError(f"{SEED}={seed!r} is neither a date such as 2026-11-23 nor a whole number") from None


def turn(family: str, members: Iterable[str], day: int) -> Set[str]:
    """The members of a family that are run on a day."""
    known = sorted(set(members))
    days = min(len(known), WEEK)
    start = day + zlib.crc32(family.encode())  # families of the same size do not go in step
    return {member for number, member in enumerate(known) if number % days == start % days}


def daily(places: Mapping[str, Place], day: int) -> Set[str]:
    """The ids of the tests that a daily run takes."""
    families = defaultdict(set)
    for place in places.values():
        if not place.full_only:
            families[place.family].add(place.member)
    turns = {family: turn(family, members, day) for family, members in families.items() if family}
    return {id for id, place in places.items() if not place.full_only and (not place.family or place.member in turns[place.family])}
