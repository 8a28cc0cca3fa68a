"""Rows of many hosts to one view. The time is linear in the rows but for sorting, and of a row only what is compared is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from gpudoctor.fleet import clocks, cohorts, differences, drift, fleet_findings, host_states, slow_cards, slow_links, suspicions, units
from gpudoctor.fleet.node_sets import is_name, natural
from gpudoctor.model.fleet_row import FleetRow
from gpudoctor.model.fleet_view import FleetView

_T = TypeVar("_T")
_NO_NAME = "expected the name of a host (letters, digits, '.', '_', '-')"


class _Run(Struct):
    """The rows of one run. `rows` has those with a result; measurements leave the rows and are kept as samples."""

    rows: dict[str, FleetRow] = field(default_factory=dict)
    failed: dict[str, FleetRow] = field(default_factory=dict)
    older: dict[str, FleetRow] = field(default_factory=dict)
    samples: dict[str, tuple[slow_cards.Sample, ...]] = field(default_factory=dict)
    busy: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unnamed: dict[str, str] = field(default_factory=dict)


def merge(
    rows: Iterable[FleetRow], *, run: str, created: str, earlier: Sequence[Iterable[FleetRow]] = (),
    since: tuple[str, Iterable[FleetRow]] | None = None, expected: Sequence[str] = (), refused: Mapping[str, str] = {},
    reads: Mapping[str, frozenset[str]] = {},
) -> FleetView:  # fmt: skip
    """The view of a fleet.

    `rows` are those of the run that is shown: a row of another run is stale, whatever its clock says. `created` is the time of the view
    (UTC). `earlier` are the rows of former runs, the newest run first. `since` is an earlier moment, in words, with its rows. `expected`
    are the hosts that should have answered; where they are given, hosts that only former runs know are left out. `refused` are the places
    of rows that could not be read, with the reasons. `reads` gives for the id of a check the facts that its conditions read.
    """
    pool: dict[object, object] = {}
    now = _gathered(rows, run, pool)
    divisions = cohorts.divide(list(now.rows.values()))
    judged = _slow(now, divisions)
    older = dict(now.older)
    runs = [judged]
    for former in earlier:
        then = _gathered(former, "", pool)
        runs.append(_slow(then, cohorts.divide(list(then.rows.values()))))
        for host, row in {**then.failed, **then.rows}.items():
            older.setdefault(host, row)
    wanted = set(expected)
    older = {host: row for host, row in older.items() if not wanted or host in wanted or host in now.older}
    found = fleet_findings.fleet_findings(list(now.rows.values()), divisions)
    lives = suspicions.lives(runs)
    answers = host_states.Answers(
        fresh=now.rows, failed=now.failed, older=older, silent=sorted(filter(is_name, wanted), key=natural),
        refused=host_states.refused_hosts(refused, {*wanted, *older}),
    )  # fmt: skip
    busy = {(host, card) for host, cards in now.busy.items() for card in cards}
    clock = clocks.compared({host: row.created for host, row in now.rows.items()}, created)
    return FleetView(
        created=created, run=run, hosts=host_states.states(answers, divisions, found, lives, busy),
        cohorts=tuple(differences.cohort(each, _facts(each, clock, now, judged.two_groups), reads) for each in divisions),
        findings=found, suspicions=tuple(lives), verdicts=fleet_findings.fleet_verdicts(list(now.rows.values())),
        drift=drift.drift(now.rows, since[1]) if since else (), since=since[0] if since else "", refused={**refused, **now.unnamed},
        versions=_versions(now.rows.values()),
    )  # fmt: skip


def _gathered(rows: Iterable[FleetRow], run: str, pool: dict[object, object]) -> _Run:
    """The newest row of each host; a row with a result counts before one that says why there is none. An empty `run` takes any."""
    found = _Run()
    for row in rows:
        if not is_name(row.host):
            found.unnamed[f"row of {row.host[:40]!r}"] = f"host: {_NO_NAME}"
        elif run and row.run != run:
            _keep(found.older, _slim(row, pool))
        elif row.failed:
            _keep(found.failed, _slim(row, pool))
        elif _keep(found.rows, _slim(row, pool)):
            found.samples[row.host] = tuple(_pooled_samples(row, pool))
            found.busy[row.host] = tuple({each.card for each in row.measurements if each.disturbed})
    return found


def _keep(rows: dict[str, FleetRow], row: FleetRow) -> bool:
    """Keeps the newest row of a host: by its own clock, since both rows are of one host."""
    if row.host in rows and rows[row.host].created > row.created:
        return False
    rows[row.host] = row
    return True


def _slim(row: FleetRow, pool: dict[object, object]) -> FleetRow:
    """The row without measurements, in which equal texts and findings of all hosts are one object."""
    cards = (replace(each, vendor=_one(pool, each.vendor), model=_one(pool, each.model), kind=_one(pool, each.kind)) for each in row.cards)
    return replace(
        row, measurements=(), run=_one(pool, row.run), tool=_one(pool, row.tool), catalogue=_one(pool, row.catalogue),
        labels=_texts(pool, row.labels), groups=_texts(pool, row.groups), values=_texts(pool, row.values),
        cards=tuple(cards), findings=tuple(_one(pool, each) for each in row.findings),
        verdicts=tuple(_one(pool, each) for each in row.verdicts),
        incomplete=(),
    )  # fmt: skip


def _one(pool: dict[object, object], value: _T) -> _T:
    return pool.setdefault(value, value)  # type: ignore[return-value]  # an equal object is of the same type


def _texts(pool: dict[object, object], texts: Mapping[str, str]) -> dict[str, str]:
    return {_one(pool, name): _one(pool, text) for name, text in texts.items()}


def _pooled_samples(row: FleetRow, pool: dict[object, object]) -> Iterator[slow_cards.Sample]:
    for each in slow_cards.samples(row):
        metric = tuple(_one(pool, word) for word in each.metric)
        yield slow_cards.Sample(each.host, each.place, each.card, _one(pool, metric), each.value, each.processes)


def _slow(run: _Run, divisions: Sequence[cohorts.Division]) -> slow_cards.Judgement:
    """What a run says of its cards and of its links."""
    homes = {row.host: each.name for each in divisions for row in each.rows}
    ends = {row.host: tuple(card.address for card in row.cards) for each in divisions for row in each.rows}
    cards, links = [], []
    for samples in run.samples.values():
        for each in samples:
            if slow_links.is_link(each):
                links.append(slow_links.placed(each, ends[each.host]))
            else:
                cards.append(each)
    of_cards = slow_cards.judge(cards, homes)
    of_links = slow_links.attributed(slow_cards.judge(links, homes))
    return slow_cards.Judgement(
        {**of_cards.slow, **of_links.slow}, {**of_cards.measured, **of_links.measured}, of_cards.two_groups,
    )  # fmt: skip


def _facts(
    division: cohorts.Division, clock: Mapping[str, str], run: _Run, two_groups: Sequence[slow_cards.TwoGroups]
) -> list[dict[str, str]]:  # fmt: skip
    """What is compared of each host of a cohort: values, hashes, its cards, its clock, and to which of two groups its speed belongs."""
    groups = {each.metric: each for each in two_groups if each.cohort == division.name}
    facts = []
    for row, cards in zip(division.rows, division.cards, strict=True):
        found = {"cards": cards, "clock": clock[row.host], **row.values}
        found |= {units.HASH + name: value for name, value in row.groups.items()}
        if groups:
            found |= slow_cards.speeds(run.samples.get(row.host, ()), groups)
        facts.append(found)
    return facts


def _versions(rows: Iterable[FleetRow]) -> dict[str, int]:
    counts = Counter(f"{row.tool}, checks {row.catalogue}" if row.catalogue else row.tool for row in rows)
    return dict(sorted(counts.items()))
