"""What changed on each host between an earlier moment and now, folded over the hosts that changed alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from gpudoctor.fleet import row_facts, units
from gpudoctor.model.fleet_row import FleetRow
from gpudoctor.model.fleet_view import Drift
from gpudoctor.model.node_sets import fold, natural


def drift(now: Mapping[str, FleetRow], before: Iterable[FleetRow]) -> tuple[Drift, ...]:
    """The changes from the rows `before` to those of now, by host. What one of the two rows does not say is no change; the changes that
    concern the most hosts come first."""
    found: dict[tuple[str, str, str], dict[str, None]] = {}
    for row in before:
        if row.host in now and not row.failed:
            for change in _changes(row, now[row.host]):
                found.setdefault(change, {})[row.host] = None
    drifts = [
        Drift(hosts=(names := tuple(sorted(hosts, key=natural))), folded=fold(names), what=what, before=was, after=after)
        for (what, was, after), hosts in found.items()
    ]  # fmt: skip
    return tuple(sorted(drifts, key=lambda each: (-len(each.hosts), each.what, each.before, each.after)))


def _changes(was: FleetRow, now: FleetRow) -> Iterator[tuple[str, str, str]]:
    before, after = _facts(was), _facts(now)
    changed = {fact for fact, value in before.items() if fact in after and after[fact] != value}
    for fact in sorted(units.without_covered(changed)):
        yield fact, before[fact], after[fact]
    if not (was.left_out.get("findings") or now.left_out.get("findings")):
        had, has = ({each.id: each.severity for each in row.findings} for row in (was, now))
        for name in sorted(had.keys() ^ has.keys()):
            yield name, had.get(name, ""), has.get(name, "")


def _facts(row: FleetRow) -> dict[str, str]:
    models = Counter(card.model or card.vendor for card in row.cards)
    return row_facts.of_row(row, row_facts.cards_in_words(sorted(models.items())))
