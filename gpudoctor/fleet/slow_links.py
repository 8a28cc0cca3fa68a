"""Links between cards and hosts that are slow, and the end that is to blame.

A link is judged as a card is (slow_cards), among the links between the same positions on the other hosts of the cohort, since those
between other cards may be built otherwise. An end is blamed where most of its links are slow, or where the middle of its links is slow
among those of the other ends; what is slow besides is a matter of that one link.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from gpudoctor.fleet.robust import Reference
from gpudoctor.fleet.slow_cards import UNIT, Judgement, Key, Metric, Sample, Slow, judge
from gpudoctor.model.node_sets import natural

LEAST_LINKS = 3
"""An end with fewer measured links is not blamed."""
BLAMED = 0.8
LEAST_LEFT = 2
"""The links to ends that are not to blame themselves, of an end that is."""
BETWEEN_HOSTS = "between hosts"
Link = tuple[str, str]


def is_link(sample: Sample) -> bool:
    """Whether the sample was measured between two ends: 'cuda:0 cuda:1', 'cuda:0 gpu02:cuda:0'."""
    return sample.place.count(" ") == 1


def placed(sample: Sample, cards: Sequence[str]) -> Sample:
    """The sample with both ends in full, in a fixed order, and with its position as the last item of its metric. `cards` are the
    addresses of the host's cards in the order of its row."""
    one, other = sample.place.split(" ")
    ends = sorted((one, other), key=natural)
    if _is_far(one, cards) or _is_far(other, cards):
        position = BETWEEN_HOSTS
        full = sorted((each if _is_far(each, cards) else f"{sample.host}:{each}" for each in ends), key=natural)
    else:
        position = "-".join(str(cards.index(each)) if each in cards else each for each in ends)
        full = [f"{sample.host}:{each}" for each in ends]
    place = "-".join(full)
    return replace(sample, place=place, card=" ".join(full), metric=(*sample.metric, position))


def _is_far(end: str, cards: Sequence[str]) -> bool:
    """Whether an end names its host: cuda:0 and 0000:81:00.0 do not, gpu02:mlx5_0, gpu02:cuda:0 and gpu02:0000:81:00.0 do."""
    if end in cards:
        return False
    number, last = end.count(":"), end.rpartition(":")[2]
    return number == 3 or (number == 2 and "." not in last) or (number == 1 and not last.isdigit())


def attributed(judged: Judgement, cohorts: Mapping[str, str]) -> Judgement:
    """The judgement of links, in which the links of an end that is to blame are one entry of that end. `cohorts` has the cohort of each
    host."""
    measured: dict[Key, Slow] = dict(judged.measured)
    slow: dict[Key, Slow] = dict(judged.slow)
    alike: dict[tuple[Metric, bool], dict[Link, Key]] = {}
    for key, each in judged.measured.items():
        what = each.sample.metric
        alike.setdefault((what[: UNIT + 1], what[-1] == BETWEEN_HOSTS), {})[_ends(each.sample)] = key
    for (metric, _), links in alike.items():
        of_end: dict[str, list[Key]] = {}
        for link, key in links.items():
            for end in link:
                of_end.setdefault(end, []).append(key)
        of_end = {end: keys for end, keys in of_end.items() if len(keys) >= LEAST_LINKS}
        entries = {end: _middle(end, [judged.measured[key] for key in keys], metric) for end, keys in of_end.items()}
        to_blame = blamed(links, {link for link, key in links.items() if key in judged.slow})
        to_blame |= _slow_ends(entries, {link: _share(judged.measured[key]) for link, key in links.items()}, cohorts)
        for end, keys in of_end.items():
            entry = entries[end]
            measured[entry.sample.key] = entry
            if end in to_blame:
                slow[entry.sample.key] = entry
                for key in keys:
                    slow.pop(key, None)
    return Judgement(slow, measured, ())


def _share(link: Slow) -> float:
    """The rate of a link as a share of what is usual for its position."""
    return link.sample.value / link.reference.median


def _middle(end: str, links: Sequence[Slow], metric: Metric) -> Slow:
    """What stands for all links of an end: the one in their middle, under the name of the end."""
    middle = sorted(links, key=_share)[len(links) // 2]
    host, _, card = end.partition(":")
    return replace(middle, sample=replace(middle.sample, host=host, place=card, card=f"links of {end}", metric=metric))


def _slow_ends(entries: dict[str, Slow], shares: Mapping[Link, float], cohorts: Mapping[str, str]) -> set[str]:
    """The ends whose middle link is slow among those of all ends of the cohort, and the reference of `entries` is then that of the ends.

    The middle of many links varies less than one link does, so that an end is found whose links are not slow enough each. An end is not
    blamed for its links to a worse one: the middle of the others must be as low too.
    """
    samples = {end: replace(each.sample, value=_share(each), processes=()) for end, each in entries.items()}
    ends = judge(samples.values(), cohorts)
    borders: dict[str, float] = {}
    for found in ends.slow.values():
        borders[found.cohort] = max(borders.get(found.cohort, 0.0), found.sample.value)
    of_end: dict[str, list[Link]] = {}
    for link in shares:
        for end in link:
            of_end.setdefault(end, []).append(link)
    blame: set[str] = set()
    for end in sorted((end for end, each in samples.items() if each.key in ends.slow), key=lambda end: (samples[end].value, end)):
        left = sorted(shares[link] for link in of_end[end] if not blame & set(link))
        if len(left) >= LEAST_LEFT and left[len(left) // 2] <= borders[ends.slow[samples[end].key].cohort]:
            blame.add(end)
    for end, each in samples.items():
        if each.key in ends.measured:
            usual, among = entries[end].reference.median, ends.measured[each.key].reference
            entries[end] = replace(entries[end], reference=Reference(usual * among.median, usual * among.mad, among.samples))
    return blame


def _ends(sample: Sample) -> Link:
    """The ends that may be blamed: cards of one host, else hosts."""
    one, other = sample.card.split(" ")
    if sample.metric[-1] == BETWEEN_HOSTS:
        return one.partition(":")[0], other.partition(":")[0]
    return one, other


def blamed(links: Iterable[Link], slow: set[Link]) -> set[str]:
    """The ends most of whose links are slow, the worst first: a link of an end that is to blame says nothing about its other end."""
    left: dict[str, set[Link]] = {}
    bad: dict[str, set[Link]] = {}
    for link in links:
        for end in link:
            left.setdefault(end, set()).add(link)
            if link in slow:
                bad.setdefault(end, set()).add(link)
    queue = [(-len(found) / len(left[end]), -len(found), end) for end, found in bad.items()]
    heapq.heapify(queue)
    found: set[str] = set()
    while queue:
        share, count, end = heapq.heappop(queue)
        if not bad[end] or (share, count) != (-len(bad[end]) / len(left[end]), -len(bad[end])):
            continue  # an older entry
        if -count < LEAST_LINKS or -share < BLAMED:
            continue
        found.add(end)
        for link in left.pop(end):
            other = link[1] if link[0] == end else link[0]
            if other in left:
                left[other].discard(link)
                bad.get(other, set()).discard(link)
                if bad.get(other):
                    heapq.heappush(queue, (-len(bad[other]) / len(left[other]), -len(bad[other]), other))
        bad[end] = set()
    return found
