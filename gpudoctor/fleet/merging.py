"""Rows of many hosts to one view. The time is linear in the rows but for sorting, and of a row only what is compared is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from gpudoctor.fleet import clocks, cohorts, differences, drift, fleet_findings, host_states, row_facts, slow_cards, slow_links, suspicions
from gpudoctor.model.fleet_row import FAIL, OURS, FleetRow, program
from gpudoctor.model.fleet_view import FleetView
from gpudoctor.model.node_sets import EXPECTED, is_name, natural

_T = TypeVar("_T")


def _nothing(check: str) -> Collection[str]:
    return ()


class _Run(Struct):
    """The rows of one run. `rows` has those with a result; measurements leave the rows and are kept as samples."""

    rows: dict[str, FleetRow] = field(default_factory=dict)
    failed: dict[str, FleetRow] = field(default_factory=dict)
    older: dict[str, str] = field(default_factory=dict)
    """The hosts with a row of another run, and when it was made."""
    others: dict[str, FleetRow] = field(default_factory=dict)
    """Hosts of which only other programs gave a result: their verdicts alone. They belong to no cohort."""
    samples: dict[str, tuple[slow_cards.Sample, ...]] = field(default_factory=dict)
    busy: set[str] = field(default_factory=set)
    """The hosts on which something disturbed a measurement."""
    unnamed: dict[str, str] = field(default_factory=dict)


def merge(
    rows: Iterable[FleetRow], *, run: str, created: str, earlier: Iterable[Iterable[FleetRow]] = (),
    since: tuple[str, Iterable[FleetRow]] | None = None, expected: Sequence[str] = (), refused: Mapping[str, str] = {},
    known: Mapping[str, str] = {}, reads: Callable[[str], Collection[str]] = _nothing,
) -> FleetView:  # fmt: skip
    """The view of a fleet.

    `rows` are those of the run that is shown: a row of another run is stale, whatever its clock says. `created` is the time of the view
    (UTC). `earlier` are rows with measurements of former runs, the newest run first, by which suspicions are confirmed. `since` is an
    earlier moment, in words, with its rows. `expected` are the hosts that should have answered, and `known` those that answered in former
    runs, with the time of their last row; where hosts are expected, others that are only known are left out. `refused` are the places of
    rows that could not be read, with the reasons. `reads` gives for the id of a check the facts that its conditions read.

    All rows are read once, one after the other.
    """
    pool: dict[object, object] = {}
    now = _gathered(rows, run, pool)
    divisions = cohorts.divide(list(now.rows.values()))
    judged = _slow(now, divisions)
    wanted = set(expected)
    older = {**{host: made for host, made in known.items() if host in wanted or not wanted}, **now.older}
    runs = [suspicions.remembered(_judged(former, pool)) for former in earlier]
    found = fleet_findings.fleet_findings(list(now.rows.values()), divisions)
    lives = suspicions.lives(judged, runs)
    fresh = {**now.rows, **now.others}
    answers = host_states.Answers(
        fresh=fresh, failed=now.failed, older=older, silent=sorted(filter(is_name, wanted), key=natural),
        refused=host_states.refused_hosts(refused, {*wanted, *older}), busy=now.busy,
    )  # fmt: skip
    hosts = host_states.states(answers, divisions, found, lives)
    shown = {each.host for each in hosts}
    clock = clocks.compared({host: row.created for host, row in now.rows.items()}, created)
    moment, before = since or ("", ())
    return FleetView(
        created=created, run=run, hosts=hosts,
        cohorts=tuple(differences.cohort(each, _facts(each, clock, now, judged.two_groups), reads) for each in divisions),
        findings=found,
        suspicions=tuple(each for each in lives if each.host in shown),
        verdicts=fleet_findings.fleet_verdicts([*fresh.values(), *now.failed.values()]),
        drift=drift.drift(now.rows, _gathered(before, "", pool, measured=False).rows.values()), since=moment,
        refused={**refused, **now.unnamed}, versions=_versions(now.rows.values()),
    )  # fmt: skip


def _judged(rows: Iterable[FleetRow], pool: dict[object, object]) -> slow_cards.Judgement:
    """What a former run says of its cards and links; of its rows only what makes cohorts is kept meanwhile."""
    bare = (replace(row, groups={}, values={}, findings=(), verdicts=(), incomplete=()) for row in rows)
    then = _gathered(bare, "", pool)
    return _slow(then, cohorts.divide(list(then.rows.values())))


def _gathered(rows: Iterable[FleetRow], run: str, pool: dict[object, object], *, measured: bool = True) -> _Run:
    """The newest row of each host; a row with a result counts before one that says why there is none. An empty `run` takes any.
    `measured`: whether measurements are kept."""
    found, others = _Run(), dict[tuple[str, str], FleetRow]()
    for row in rows:
        if not is_name(row.host):
            found.unnamed[f"row of {row.host[:40]!r}"] = f"host: {EXPECTED}"
        elif run and row.run != run:
            found.older[row.host] = max(found.older.get(row.host, ""), row.created)
        elif (made_by := program(row.tool)) != OURS:
            if (row.host, made_by) not in others or others[row.host, made_by].created <= row.created:
                others[row.host, made_by] = _verdicts_of(row, pool)
        elif row.failed:
            _keep(found.failed, _slim(row, pool))
        elif _keep(found.rows, _slim(row, pool)) and measured:
            found.samples[row.host] = tuple(_pooled_samples(row, pool))
            (found.busy.add if any(each.disturbed for each in row.measurements) else found.busy.discard)(row.host)
    _join(found, others.values())
    return found


def _verdicts_of(row: FleetRow, pool: dict[object, object]) -> FleetRow:
    """All that is taken of a row that another program made."""
    verdicts = tuple(_one(pool, each) for each in row.verdicts)
    return FleetRow(host=row.host, run=_one(pool, row.run), created=row.created, tool=_one(pool, row.tool), verdicts=verdicts)


def _join(run: _Run, others: Iterable[FleetRow]) -> None:
    """Adds what other programs found to the host's own row. Where its own examination failed, a pass of another program does not replace
    it, but a failure counts; where there is no row of its own, the host is known by the other programs."""
    for row in others:
        host, verdicts = row.host, row.verdicts
        if host in run.rows:
            run.rows[host] = replace(run.rows[host], verdicts=(*run.rows[host].verdicts, *verdicts))
        elif host in run.others:
            run.others[host] = replace(run.others[host], verdicts=(*run.others[host].verdicts, *verdicts))
        elif host not in run.failed or any(each.outcome == FAIL for each in verdicts):
            run.others[host] = row
        else:
            run.failed[host] = replace(run.failed[host], verdicts=(*run.failed[host].verdicts, *verdicts))


def _keep(rows: dict[str, FleetRow], row: FleetRow) -> bool:
    """Keeps the newest row of a host: by its own clock, since both rows are of one host."""
    if row.host in rows and rows[row.host].created > row.created:
        return False
    rows[row.host] = row
    return True


def _slim(row: FleetRow, pool: dict[object, object]) -> FleetRow:
    """The row without measurements, in which equal texts, mappings and findings of all hosts are one object."""
    texts = ("address", "vendor", "model", "kind")
    cards = (replace(each, **{name: _one(pool, getattr(each, name)) for name in texts}) for each in row.cards)
    return replace(
        row, measurements=(), run=_one(pool, row.run), tool=_one(pool, row.tool), catalogue=_one(pool, row.catalogue),
        labels=_texts(pool, row.labels), groups=_texts(pool, row.groups), values=_texts(pool, row.values),
        cards=tuple(cards), findings=tuple(_one(pool, each) for each in row.findings),
        verdicts=tuple(_one(pool, each) for each in row.verdicts),
        incomplete=tuple(_one(pool, each) for each in row.incomplete),
    )  # fmt: skip


def _one(pool: dict[object, object], value: _T) -> _T:
    return pool.setdefault(value, value)  # type: ignore[return-value]  # an equal object is of the same type


def _texts(pool: dict[object, object], texts: Mapping[str, str]) -> Mapping[str, str]:
    """The mapping, one object for all hosts with equal ones: most hosts of a cohort have the same values and hashes."""
    items = tuple(sorted(texts.items()))
    if (same := pool.get(items)) is None:
        same = pool[items] = {_one(pool, name): _one(pool, text) for name, text in texts.items()}
    return same  # type: ignore[return-value]  # only mappings are kept by tuples of pairs


def _pooled_samples(row: FleetRow, pool: dict[object, object]) -> Iterator[slow_cards.Sample]:
    for each in slow_cards.samples(row):
        metric = tuple(_one(pool, word) for word in each.metric)
        yield slow_cards.Sample(row.host, _one(pool, each.place), _one(pool, each.card), _one(pool, metric), each.value, each.processes)


def _slow(run: _Run, divisions: Sequence[cohorts.Division]) -> slow_cards.Judgement:
    """What a run says of its cards and of its links."""
    homes = {row.host: each.name for each in divisions for row in each.rows}
    ends = {row.host: tuple(card.address for card in row.cards) for each in divisions for row in each.rows}
    claims = Counter(card.uuid for each in divisions for row in each.rows for card in row.cards if card.uuid)
    cards, links = [], []
    for samples in run.samples.values():
        for each in samples:
            if claims[each.card] > 1:  # two hosts call a card of theirs by the same id
                each = replace(each, card=f"{each.host} {each.place}")
            if slow_links.is_link(each):
                links.append(slow_links.placed(each, ends[each.host]))
            else:
                cards.append(each)
    of_cards = slow_cards.judge(cards, homes)
    of_links = slow_links.attributed(slow_cards.judge(links, homes), homes)
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
        found = {"clock": clock[row.host], **row_facts.of_row(row, cards)}
        if groups:
            found |= slow_cards.speeds(run.samples.get(row.host, ()), groups)
        facts.append(found)
    return facts


def _versions(rows: Iterable[FleetRow]) -> dict[str, int]:
    counts = Counter(f"{row.tool}, checks {row.catalogue}" if row.catalogue else row.tool for row in rows)
    return dict(sorted(counts.items()))
