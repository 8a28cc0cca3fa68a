"""What a document of another program says of one host, and safe reading of fields of any type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from gpudoctor.model.fleet_row import OUTCOMES, PASS, SKIP, RowVerdict

MOST = 10_000
"""The items of one list of a document that are read."""
LONGEST_DETAIL, LONGEST_NAME = 200, 100
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,9})?(?:Z|\+00:00)")


class Result(Struct, frozen=True, kw_only=True):
    """One host in one document. `host` and `created` are empty where the document does not say them."""

    program: str
    verdicts: tuple[RowVerdict, ...]
    """What failed comes first, so that a row which is cut keeps it."""
    version: str = ""
    host: str = ""
    created: str = ""


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: object) -> list[Mapping[str, Any]]:
    """The objects in the value if it is a list; at most MOST of its items are read."""
    return [each for each in value[:MOST] if isinstance(each, dict)] if isinstance(value, list) else []


def words(value: object, longest: int = LONGEST_DETAIL) -> str:
    """A text or number as one line of printable characters; empty for anything else."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    line = " ".join("".join(char if char.isprintable() else " " for char in str(value)[: 4 * longest]).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def moment(value: object) -> str:
    """A time in UTC as rows have it; empty for anything else."""
    found = _TIME.fullmatch(value) if isinstance(value, str) else None
    return f"{found[1]}Z" if found else ""


def verdict(program: str, test: object, outcome: str, card: object = "", detail: object = "") -> RowVerdict:
    named = words(test, LONGEST_NAME) or "unnamed test"
    return RowVerdict(program=program, test=named, outcome=outcome, card=words(card, LONGEST_NAME), detail=words(detail))


def ordered(verdicts: Iterable[RowVerdict]) -> tuple[RowVerdict, ...]:
    """The verdicts without repetition, the worst first."""
    return tuple(sorted(dict.fromkeys(verdicts), key=lambda each: OUTCOMES.index(each.outcome)))


def folded(found: Sequence[RowVerdict]) -> list[RowVerdict]:
    """The verdicts of one test over cards: each that is no pass; where all passed or were skipped, one for the host."""
    other = [each for each in found if each.outcome not in (PASS, SKIP)]
    if other or not found:
        return other
    best = next((each for each in found if each.outcome == PASS), found[0])
    return [RowVerdict(program=best.program, test=best.test, outcome=best.outcome)]
