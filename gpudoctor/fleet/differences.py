"""What differs within a cohort: equal hosts as one group, the odd ones with what is unlike the others and whether it matters.

Each fact is judged by itself, since hosts with one odd fact each would otherwise leave no majority:
- a value that more than half of the hosts have is usual, as long as no other has more than KIND_SHARE of them; other values are odd;
- otherwise the values that LARGE of the hosts or more have make kinds, of which none is odd;
- a fact with nearly as many values as hosts is each host's own, and is not compared. What a row does not say is not compared either.
Hosts with the same values of all such facts are a kind. Within a kind of ENOUGH hosts or more, the majority of the kind is usual.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from gpudoctor.fleet import units
from gpudoctor.fleet.cohorts import LABELS, Division
from gpudoctor.fleet.robust import KIND_SHARE, LEAST
from gpudoctor.model.fleet_row import FleetRow
from gpudoctor.model.fleet_view import Cohort, Difference, HostGroup
from gpudoctor.model.node_sets import fold, natural

LARGE = 0.1
COVERED = 2 / 3
"""The share of the hosts that the large groups must have, for the small ones to be odd."""
ENOUGH = 3
ELSEWHERE = 0.1
"""A check matters to a difference where it speaks on the hosts with the difference, and on less than this share of the others."""
FOLLOWS = 0.8
"""A difference follows a rack where it has this share of the rack's hosts, and such racks have this share of the hosts with the
difference."""
_MOST_SHOWN = 5
Facts = Mapping[str, str]
_Odd = tuple[tuple[str, str, str], ...]
"""Facts, each with the value of the host and with the usual one."""


class _Group(Struct, frozen=True):
    """The key by which equal hosts meet. The first group of a kind has no odd facts."""

    kind: int
    odd: _Odd
    findings: tuple[str, ...]


def cohort(division: Division, facts: Sequence[Facts], reads: Callable[[str], Collection[str]]) -> Cohort:
    """The groups of a cohort. `facts` are the compared facts of each host, in the order of division.rows; `reads` gives for the id of a
    check the facts that it reads."""
    usual, several = _judged(facts)
    kinds = _kinds(facts, several)
    members: dict[int, list[int]] = {}
    for number, (kind, _) in enumerate(kinds.of_host):
        members.setdefault(kind, []).append(number)
    groups: dict[_Group, list[int]] = {}
    for kind, numbers in members.items():
        within = {**usual, **_majorities([facts[number] for number in numbers], usual)} if len(numbers) >= ENOUGH else usual
        for number in numbers:
            odd = {(fact, value, within[fact]) for fact, value in facts[number].items() if fact in within and value != within[fact]}
            odd |= {(fact, facts[number][fact], kinds.values[kind][fact]) for fact in kinds.of_host[number][1]}
            kept = units.without_covered({fact for fact, _, _ in odd})
            findings = tuple(sorted({each.id for each in division.rows[number].findings}))
            key = _Group(kind, tuple(sorted(each for each in odd if each[0] in kept)), findings)
            groups.setdefault(key, []).append(number)
    return Cohort(
        name=division.name, key=division.key, hosts=len(division.rows), kind="several" if len(kinds.large) > 1 else "one",
        groups=tuple(_described(groups, kinds, division, reads)),
    )  # fmt: skip


def _judged(facts: Sequence[Facts]) -> tuple[dict[str, str], dict[str, set[str]]]:
    """The usual value of each fact that has one, and the values of each fact that makes kinds."""
    usual: dict[str, str] = {}
    several: dict[str, set[str]] = {}
    for fact, counts in _counted(facts).items():
        known = counts.total()
        ranked = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
        first, second = ranked[0][1], ranked[1][1] if len(ranked) > 1 else 0
        if known >= LEAST and len(ranked) > known / 2:
            continue
        if first > known / 2 and second <= KIND_SHARE * known:
            usual[fact] = ranked[0][0]
            continue
        large = {value for value, count in ranked if count >= LARGE * known}
        if sum(counts[value] for value in large) >= COVERED * known:
            several[fact] = large
    return usual, several


def _counted(facts: Iterable[Facts]) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for each in facts:
        for fact, value in each.items():
            counts.setdefault(fact, Counter())[value] += 1
    return counts


def _majorities(facts: Sequence[Facts], usual: Facts) -> dict[str, str]:
    """The value that more than half of these hosts have, of each fact that is compared."""
    found = {}
    for fact, counts in _counted(facts).items():
        value, count = max(counts.items(), key=lambda each: (each[1], each[0]))
        if fact in usual and count > counts.total() / 2:
            found[fact] = value
    return found


class _Kinds(Struct, frozen=True):
    """The kinds of a cohort: for each its values of the facts that make kinds, which of them are large, and for each host its kind with the
    facts in which it is unlike it."""

    values: Sequence[Facts]
    large: Sequence[int]
    of_host: Sequence[tuple[int, tuple[str, ...]]]


def _kinds(facts: Sequence[Facts], several: Mapping[str, set[str]]) -> _Kinds:
    names = sorted(several)
    combinations = [tuple(each.get(name) for name in names) for each in facts]
    counts = Counter(combinations)
    ranked = sorted(counts, key=lambda each: (-counts[each], tuple(map(str, each))))
    large = [
        each for each in ranked
        if counts[each] >= LARGE * len(facts) and all(value in several[name] for name, value in zip(names, each, strict=True))
    ]  # fmt: skip
    if sum(counts[each] for each in large) < COVERED * len(facts):
        large = ranked
    places = {each: number for number, each in enumerate(large)}
    homes = {each: (places[each], ()) if each in places else _nearest(each, large, names) for each in ranked}
    values = [{name: value for name, value in zip(names, each, strict=True) if value is not None} for each in large]
    return _Kinds(values, range(len(large)), [homes[each] for each in combinations])


def _nearest(one: tuple[str | None, ...], large: Sequence[tuple[str | None, ...]], names: Sequence[str]) -> tuple[int, tuple[str, ...]]:
    """The kind that a host is most like, and the facts in which it is unlike it."""
    unlike = [
        tuple(name for name, mine, its in zip(names, one, kind, strict=True) if mine is not None and mine != its)
        for kind in large
    ]  # fmt: skip
    nearest = min(range(len(large)), key=lambda number: (len(unlike[number]), number))
    return nearest, unlike[nearest]


def _described(
    groups: Mapping[_Group, Sequence[int]], kinds: _Kinds, division: Division, reads: Callable[[str], Collection[str]]
) -> Iterator[HostGroup]:  # fmt: skip
    """The groups, the largest first."""
    ranked = sorted(groups, key=lambda each: (-len(groups[each]), each.kind, each.odd, each.findings))
    firsts: dict[int, _Group] = {}
    for each in ranked:
        if not each.odd:
            firsts.setdefault(each.kind, each)
    apart = {each: each.odd for each in ranked}
    for number, first in firsts.items():
        base = kinds.values[0]
        facts = {fact for fact, value in kinds.values[number].items() if base.get(fact) not in (None, value)}
        apart[first] = tuple((fact, kinds.values[number][fact], base[fact]) for fact in sorted(units.without_covered(facts)))
    judge = _Judge(division, {each: (apart[each], groups[each]) for each in ranked}, reads)
    for each in ranked:
        hosts = tuple(sorted((division.rows[number].host for number in groups[each]), key=natural))
        yield HostGroup(
            hosts=hosts, folded=fold(hosts), findings=each.findings, odd=firsts.get(each.kind) != each,
            differences=tuple(judge.difference(*one, each.findings) for one in apart[each]),
        )  # fmt: skip


class _Judge:
    """Says of a difference which checks object to it, and which label it follows: counts over the whole cohort, taken once."""

    def __init__(
        self, division: Division, groups: Mapping[_Group, tuple[_Odd, Sequence[int]]], reads: Callable[[str], Collection[str]]
    ) -> None:
        self._reads = reads
        self._hosts = len(division.rows)
        self._speaking = Counter(check for each, (_, numbers) in groups.items() for check in each.findings for _ in numbers)
        self._labelled = Counter(label for row in division.rows for label in _site(row))
        self._choices = Counter(name for name, _ in self._labelled)
        self._having: Counter[tuple[str, str]] = Counter()
        self._both: Counter[tuple[str, str, str]] = Counter()
        self._places: dict[tuple[str, str], Counter[tuple[str, str]]] = {}
        self._follows: dict[tuple[str, str], str] = {}
        for each, (odd, numbers) in groups.items():
            for fact, value, _ in odd:
                self._having[fact, value] += len(numbers)
                self._both.update({(fact, value, check): len(numbers) for check in each.findings})
                place = self._places.setdefault((fact, value), Counter())
                for number in numbers:
                    place.update(_site(division.rows[number]))

    def difference(self, fact: str, value: str, usual: str, findings: Sequence[str]) -> Difference:
        matters = tuple(check for check in findings if self._objects(check, fact, value))
        if (fact, value) not in self._follows:
            self._follows[fact, value] = self._following(fact, value)
        return Difference(
            fact=fact, value=value, usual=usual, matters=matters, unit=units.unit(fact), follows=self._follows[fact, value]
        )  # fmt: skip

    def _objects(self, check: str, fact: str, value: str) -> bool:
        others = self._hosts - self._having[fact, value]
        elsewhere = self._speaking[check] - self._both[fact, value, check]
        return elsewhere <= ELSEWHERE * others and any(_reads(name, fact) for name in self._reads(check))

    def _following(self, fact: str, value: str) -> str:
        counts = self._places[fact, value]
        racks: dict[str, list[str]] = {}
        inside: Counter[str] = Counter()
        for (name, place), count in counts.items():
            if count > 1 and count >= FOLLOWS * self._labelled[name, place]:
                racks.setdefault(name, []).append(place)
                inside[name] += count
        for name in sorted(racks, key=lambda each: (each != "rack", each)):
            if inside[name] >= FOLLOWS * self._having[fact, value] and len(racks[name]) < self._choices[name]:
                places = sorted(racks[name], key=natural)
                more = f" and {len(places) - _MOST_SHOWN} more" if len(places) > _MOST_SHOWN else ""
                return f"{name} {', '.join(places[:_MOST_SHOWN])}{more}"
        return ""


def _site(row: FleetRow) -> list[tuple[str, str]]:
    """The labels of a host by which no cohort is made: rack, switch and others."""
    return [(name, value) for name, value in row.labels.items() if name not in LABELS and value]


def _reads(read: str, fact: str) -> bool:
    """Whether a check that reads `read` reads the fact, a part of it, or a whole that it is a part of; of a hash, anything of its
    category."""
    if fact.startswith(units.HASH):
        return units.category(read) == units.category(fact)
    return read == fact or fact.startswith(f"{read}.") or read.startswith(f"{fact}.")
