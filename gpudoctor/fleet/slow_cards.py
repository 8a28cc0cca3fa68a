"""Cards that are slower than those of their cohort, judged card by card.

The rule: the modified z-score is at or below the negative limit of robust.limit (3.5 and more), and the value is LEAST_BELOW or more
below the median of the cohort, and it is repeated. Where several processes measured the card, more than half of them must be that low;
where one did, a further run has to agree (suspicions). At least robust.LEAST cards of the cohort were measured alike. Values that fall
into two groups are named as two groups, and each card is then judged within its own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.fleet import robust
from gpudoctor.model.fleet_row import FleetRow, RowMeasurement, metric

LEAST_BELOW = 0.035
"""Two healthy cards of one model differ by less in compute-bound work."""
FASTEST = 1e30
"""A figure beyond it is no measurement."""
UNIT = 6
Metric = tuple[str, ...]
Key = tuple[str, Metric]
"""The card (its uuid, else host and address) and what was measured."""


class Sample(Struct, frozen=True, gc=False):
    """One card, measured once. `place` is the address of the card, or the two ends of a link."""

    host: str
    place: str
    card: str
    """The uuid of the card, else its host and place: by this it is found again in other runs."""
    metric: Metric
    """What was measured, with the unit as item UNIT; what follows it divides links of unlike positions."""
    value: float
    processes: tuple[float, ...]

    @property
    def key(self) -> Key:
        return self.card, self.metric


class Slow(Struct, frozen=True):
    """A sample that the rule accuses, with what it was held against."""

    sample: Sample
    reference: robust.Reference
    cohort: str

    @property
    def below_percent(self) -> float:
        return 100 * (1 - self.sample.value / self.reference.median)

    @property
    def z(self) -> float:
        return self.reference.z(self.sample.value)


class TwoGroups(Struct, frozen=True):
    """A measurement in which a cohort falls into two groups. `low` and `high` are their medians."""

    cohort: str
    metric: Metric
    border: float
    low: float
    high: float


class Judgement(Struct, frozen=True):
    """What one run says of its cards."""

    slow: Mapping[Key, Slow]
    measured: Mapping[Key, Slow]
    """Every card that was judged, with what it was held against; those of `slow` too."""
    two_groups: Sequence[TwoGroups]


def words(measured: Metric) -> str:
    """What was measured, for a person: 'matmul float32'."""
    workload, task, framework, _, dtype, batch = measured[:UNIT]
    named = [workload, "" if task in ("micro", workload) else task, dtype]
    named += [f"batch {batch}" if batch not in ("0", "1") else "", f"by {framework}" if framework else ""]
    return " ".join(filter(None, named))


def samples(row: FleetRow) -> Iterator[Sample]:
    """The measurements of a row that count as evidence: those that gave a number and that nothing disturbed, and the links among them.
    What a row says of one card several times counts once, with its median."""
    uuids = {card.address: card.uuid for card in row.cards if card.uuid}
    found: dict[tuple[str, Metric], list[RowMeasurement]] = {}
    for each in (one for whole in row.measurements for one in (whole, *_links(whole))):
        if each.status == "ok" and each.value is not None and each.value < FASTEST and not each.disturbed:
            found.setdefault((each.card, (*map(str, metric(each)), each.unit)), []).append(each)
    for (place, what), several in found.items():
        values = sorted(each.value for each in several if each.value is not None)
        processes = tuple(value for each in several for value in each.samples if math.isfinite(value))
        if len(several) > 1:
            processes = processes or tuple(values)
        card = uuids.get(place) or f"{row.host} {place}"
        yield Sample(row.host, place, card, what, robust.middle(values), processes if len(processes) > 1 else ())


def _links(measured: RowMeasurement) -> Iterator[RowMeasurement]:
    """Each link of a measurement as one of its own."""
    for ends, rate in measured.links.items():
        yield replace(
            measured, workload=f"{measured.workload} link", card=ends, value=rate, unit="GB/s", samples=(), links={}, ci95_percent=None
        )  # fmt: skip


def judge(found: Iterable[Sample], cohorts: Mapping[str, str]) -> Judgement:
    """Judges all samples of one run. `cohorts` has the cohort of each host; samples of other hosts are passed over."""
    alike: dict[tuple[str, Metric], list[Sample]] = {}
    for each in found:
        if each.host in cohorts:
            alike.setdefault((cohorts[each.host], each.metric), []).append(each)
    alike = {key: members for key, members in alike.items() if len(members) >= robust.LEAST}
    comparisons = sum(len(members) for members in alike.values())
    slow: dict[Key, Slow] = {}
    measured: dict[Key, Slow] = {}
    groups: list[TwoGroups] = []
    for (cohort, what), members in alike.items():
        members.sort(key=lambda each: each.value)
        at = robust.split([each.value for each in members], LEAST_BELOW)
        if at is not None:
            groups.append(_two_groups(cohort, what, members, at))
        for part in (members,) if at is None else _by_hosts(members, groups[-1].border):
            judged = list(_judged(part, cohort, comparisons))
            accused = [one for one, is_slow in judged if is_slow]
            if len(accused) > robust.KIND_SHARE * len(part):
                groups.append(_two_groups(cohort, what, part, len(accused)))
                accused = []
            measured.update({one.sample.key: one for one, _ in judged})
            slow.update({one.sample.key: one for one in accused})
    return Judgement(slow, measured, groups)


def _by_hosts(ordered: Sequence[Sample], border: float) -> tuple[list[Sample], list[Sample]]:
    """The samples of hosts most of whose cards are in the lower group, and the others: what makes two groups is a matter of the host, and
    a slow card of a fast host may be as fast as the cards of a slow one."""
    higher = Counter(each.host for each in ordered if each.value > border)
    counts = Counter(each.host for each in ordered)
    low: list[Sample] = []
    high: list[Sample] = []
    for each in ordered:
        (high if 2 * higher[each.host] >= counts[each.host] else low).append(each)
    return low, high


def _two_groups(cohort: str, what: Metric, ordered: Sequence[Sample], at: int) -> TwoGroups:
    low, high = (robust.middle([each.value for each in part]) for part in (ordered[:at], ordered[at:]))
    return TwoGroups(cohort, what, (ordered[at - 1].value + ordered[at].value) / 2, low, high)


def _judged(ordered: Sequence[Sample], cohort: str, comparisons: int) -> Iterator[tuple[Slow, bool]]:
    """Every sample with what it was held against, and whether the rule accuses it."""
    if len(ordered) < robust.LEAST:
        return
    below = robust.limit(len(ordered), comparisons)
    usual = robust.reference([each.value for each in ordered], below)
    if usual.median <= 0:
        return
    border = min((1 - LEAST_BELOW) * usual.median, usual.median - below * usual.mad / robust.TO_SIGMA)
    for each in ordered:
        yield Slow(each, usual, cohort), each.value <= border and _repeated(each, border)


def _repeated(sample: Sample, border: float) -> bool:
    low = sum(value <= border for value in sample.processes)
    return not sample.processes or 2 * low > len(sample.processes)


def speeds(found: Sequence[Sample], groups: Mapping[Metric, TwoGroups]) -> dict[str, str]:
    """For each measurement in which the cohort falls into two groups: in which of them most cards of the host are, as a fact."""
    fast: dict[Metric, list[bool]] = {}
    for each in found:
        if each.metric in groups:
            fast.setdefault(each.metric, []).append(each.value > groups[each.metric].border)
    return {
        f"measured:{words(what)}": f"about {groups[what].high if 2 * sum(cards) >= len(cards) else groups[what].low:.4g} {what[UNIT]}"
        for what, cards in fast.items()
    }
