"""Hosts that should be alike, so that a majority means something.

The key is what the site ordered and decided: the cards (model, number, memory) and the labels `role` and `image` where they are set. The
rack is no part of it: two hosts of a rack have no majority. Hosts are compared across racks, and a difference that follows a rack says
so.

Two things must not move a host into a cohort of its own, where nothing would be compared:
- the memory of one model is reported a little differently by each driver, so sizes of one model within SAME_SIZE are one size;
- a host that lost a card has a number of cards that few others have. A number that fewer than FEW hosts or less than FEW_SHARE of those
with the same models and labels have is a difference within the larger cohort. A host without any card joins the only cohort with its
labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from gpudoctor.fleet.row_facts import cards_in_words
from gpudoctor.model.fleet_row import FleetRow, RowCard

LABELS = ("role", "image")
FEW = 3
FEW_SHARE = 0.1
SAME_SIZE = 1.04
"""The largest ratio of two neighbouring sizes that are one: 79.3 and 80 GiB are, 40 and 80 are not, nor are 8 and 10."""
_GIB = 2**30
_Models = tuple[tuple[str, int], ...]
_Labels = tuple[tuple[str, str], ...]


class Division(Struct, frozen=True, kw_only=True):
    """The hosts of one cohort. `cards` has the words for the cards of each host, in the order of `rows`."""

    name: str
    key: Mapping[str, str]
    rows: Sequence[FleetRow]
    cards: Sequence[str]


def divide(rows: Sequence[FleetRow]) -> list[Division]:
    """The cohorts of the rows, the largest first."""
    sizes = _Sizes(card for row in rows for card in row.cards)
    models = [_models(row, sizes) for row in rows]
    labels = [_labels(row) for row in rows]
    found: dict[tuple[_Labels, _Models], list[int]] = {}
    for number, key in enumerate(_joined(labels, models)):
        found.setdefault(key, []).append(number)
    divisions = [
        Division(
            name=", ".join((cards_in_words(cards), *(f"{label} {value}" for label, value in named))),
            key={"cards": cards_in_words(cards), **dict(named)},
            rows=[rows[number] for number in members], cards=[cards_in_words(models[number]) for number in members],
        )
        for (named, cards), members in found.items()
    ]  # fmt: skip
    return sorted(divisions, key=lambda each: (-len(each.rows), each.name))


def _joined(labels: Sequence[_Labels], models: Sequence[_Models]) -> list[tuple[_Labels, _Models]]:
    """The key of each host, in which a number of cards that few hosts have is replaced by that of the cohort that it joins."""
    alike: dict[tuple[_Labels, tuple[str, ...]], Counter[_Models]] = {}
    for named, cards in zip(labels, models, strict=True):
        alike.setdefault((named, tuple(name for name, _ in cards)), Counter())[cards] += 1
    homes: dict[tuple[_Labels, _Models], _Models] = {}
    by_labels: dict[_Labels, set[_Models]] = {}
    for (named, _), counts in alike.items():
        total = counts.total()
        ranked = sorted(counts, key=lambda cards: (-counts[cards], [-count for _, count in cards]))
        large = [cards for cards in ranked if counts[cards] >= max(FEW, FEW_SHARE * total)] or ranked[:1]
        for cards in counts:
            homes[named, cards] = cards if cards in large else _home(cards, large)
        by_labels.setdefault(named, set()).update(each for each in large if each)
    for named, choices in by_labels.items():
        if (named, ()) in homes and named and len(choices) == 1:
            homes[named, ()] = next(iter(choices))
    return [(named, homes[named, cards]) for named, cards in zip(labels, models, strict=True)]


def _home(cards: _Models, large: Sequence[_Models]) -> _Models:
    """The most frequent choice from which the host may have lost a card, else the most frequent one."""
    return next((each for each in large if all(here <= there for (_, here), (_, there) in zip(cards, each, strict=True))), large[0])


def _labels(row: FleetRow) -> _Labels:
    return tuple((label, row.labels[label]) for label in LABELS if row.labels.get(label))


def _models(row: FleetRow, sizes: _Sizes) -> _Models:
    return tuple(sorted(Counter(sizes.name(card) for card in row.cards).items()))


class _Sizes:
    """The names of models with their memory, in which nearly equal sizes are one."""

    def __init__(self, cards: Iterable[RowCard]) -> None:
        found: dict[str, Counter[int]] = {}
        for card in cards:
            sizes = found.setdefault(card.model or card.vendor, Counter())
            if card.memory_bytes:
                sizes[card.memory_bytes] += 1
        self._names = {model: _named(sizes) for model, sizes in found.items()}

    def name(self, card: RowCard) -> str:
        model = card.model or card.vendor
        names = self._names[model]
        size = names.get(card.memory_bytes or 0, "")
        if not size and len(set(names.values())) == 1:
            size = next(iter(names.values()))
        return f"{model} {size}".strip()


def _named(sizes: Counter[int]) -> dict[int, str]:
    """The words for each size: those of the most frequent of its neighbours."""
    groups: list[list[int]] = []
    for size in sorted(sizes):
        if groups and size <= groups[-1][-1] * SAME_SIZE:
            groups[-1].append(size)
        else:
            groups.append([size])
    return {size: f"{max(group, key=lambda each: (sizes[each], each)) / _GIB:.0f} GB" for group in groups for size in group}
