"""The service of `fleet show`: rows of the store, merged to one view."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

from msgspec import Struct

from gpudoctor.diagnosis.change_ranks import leader
from gpudoctor.fleet.merging import merge
from gpudoctor.model.check import Check
from gpudoctor.model.fleet_row import FleetRow
from gpudoctor.model.fleet_view import FleetView
from gpudoctor.model.node_sets import NodeSetError, expand
from gpudoctor.services import checking
from gpudoctor.services.diffing import reads_of
from gpudoctor.system.fleet_index import RunInfo
from gpudoctor.system.fleet_store import FleetStore

EARLIER = 4
"""The runs before the shown one in which hosts are looked up that did not answer; and as many that measured, for suspicions."""
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 604800}


class ShowError(ValueError):
    """A question that the store cannot answer: why, and what to give."""


class ShowRequest(Struct, frozen=True, kw_only=True):
    """`run`: an id, or None for the newest. `since`: the earlier moment of --diff. `expected`: a node set."""

    store: Path
    run: str | None = None
    since: str | None = None
    expected: str = ""


def show(request: ShowRequest) -> FleetView:
    """The view of the newest run, or of the one that was asked for. Raises ShowError, OSError."""
    store = FleetStore(request.store)
    runs = store.runs()
    if not runs:
        raise ShowError(f"{request.store}: it holds no rows; begin with gpudoctor fleet run --hosts NODES, or gpudoctor fleet add FILES")
    place = _place(runs, request.run)
    run = runs[place].run
    since = _since(store, request.since, runs) if request.since else None
    try:
        expected = expand(request.expected) if request.expected else ()
    except NodeSetError as error:
        raise ShowError(f"--expect-hosts: {error}") from error
    former = runs[place + 1 :]
    return merge(
        store.rows(run=run),
        run=run,
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        earlier=(store.rows(run=each.run, measured=True) for each in [run for run in former if run.measured][:EARLIER]),
        since=since,
        expected=expected,
        refused=store.refused(),
        known={host: made for each in reversed(former[:EARLIER]) for host, made in store.last_rows(each.run).items()},
        reads=_reads(),
    )


def _place(runs: Sequence[RunInfo], wanted: str | None) -> int:
    if wanted is None:
        return 0
    for number, each in enumerate(runs):
        if each.run == wanted:
            return number
    raise ShowError(f"--run {wanted}: there is no such run; the newest are {', '.join(each.run for each in runs[:5])}")


def _reads() -> Callable[[str], frozenset[str]]:
    """For the id of a check: the facts that its conditions read, and those that computed ones of them repeat. The catalogue is opened when
    the first check is asked for."""

    @functools.cache
    def checks() -> dict[str, Check]:
        return {check.id: check for check in checking.catalogue().checks}

    @functools.cache
    def facts(name: str) -> frozenset[str]:
        check = checks().get(name)
        return frozenset(_led(reads_of(check))) if check is not None else frozenset()

    return facts


def _led(facts: Iterable[str]) -> Iterator[str]:
    for fact in facts:
        yield fact
        first = leader(fact)
        if first is not None:
            yield first


def _since(store: FleetStore, text: str, runs: Sequence[RunInfo]) -> tuple[str, Iterator[FleetRow]]:
    """The earlier moment in words, and of each host the last row before it. Raises ShowError."""
    if any(each.run == text for each in runs):
        return f"run {text}", store.rows(run=text)
    moment = moment_of(text, time.time())
    shown = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(moment))
    return shown, store.rows(until=moment)


def moment_of(text: str, now: float) -> float:
    """Seconds since 1970 of '2026-11-17', '2026-11-17T08:00', '3d', '12h' or 'tuesday' (the last one, from its beginning), in UTC. Raises
    ShowError."""
    if ago := re.fullmatch(r"(\d{1,5})([mhdw])", text):
        return now - int(ago[1]) * UNITS[ago[2]]
    today = datetime.fromtimestamp(now, timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0)
    if text.lower() in ("today", "yesterday"):
        return (today - timedelta(days=int(text.lower() == "yesterday"))).timestamp()
    if text.lower() in DAYS:
        return (today - timedelta(days=(today.weekday() - DAYS.index(text.lower())) % 7 or 7)).timestamp()
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise ShowError(f"--diff {text}: expected a run, a date (2026-11-17), a time before now (3d, 12h) or a day of the week") from None
    return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()
