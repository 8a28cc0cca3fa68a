"""The life of a suspicion: one run makes a card a suspect, a further run that agrees confirms it, and one that does not agree clears it.

A run that did not measure the card, or measured it while somebody else used it, changes nothing: it is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from gpudoctor.fleet.slow_cards import UNIT, Judgement, Key, Slow, words
from gpudoctor.model.fleet_view import CLEARED, CONFIRMED, SUSPECT, Suspicion


class Former(Struct, frozen=True):
    """What is remembered of a former run: whom it accused, and whom it measured."""

    slow: Mapping[Key, Slow]
    measured: frozenset[Key]


def remembered(judged: Judgement) -> Former:
    return Former(judged.slow, frozenset(judged.measured))


def lives(now: Judgement, former: Sequence[Former]) -> list[Suspicion]:
    """The suspicions of this run and those that it inherits, confirmed ones first; `former` are the runs before it, the newest first."""
    runs = (remembered(now), *former)
    keys: dict[Key, None] = {key: None for run in runs for key in run.slow}
    found = [suspicion for key in keys if (suspicion := _life(key, now, runs)) is not None]
    ranks = (CONFIRMED, SUSPECT, CLEARED)
    return sorted(found, key=lambda each: (ranks.index(each.life), -each.below_percent, each.host, each.card, each.workload))


def _life(key: Key, now: Judgement, runs: Sequence[Former]) -> Suspicion | None:
    """The suspicion of one card; None where a former run cleared it. The first of `runs` is that of now."""
    cleared = key in now.measured and key not in now.slow
    accusing: list[Slow] = []
    for run in runs[1:] if cleared else runs:
        if key in run.slow:
            accusing.append(run.slow[key])
        elif key in run.measured:
            break
    if not accusing:
        return None
    if cleared:
        return _suspicion(now.measured[key], len(accusing), CLEARED)
    return _suspicion(accusing[0], len(accusing), CONFIRMED if len(accusing) > 1 else SUSPECT)


def _suspicion(slow: Slow, runs: int, life: str) -> Suspicion:
    sample, usual = slow.sample, slow.reference
    return Suspicion(
        host=sample.host, card=sample.place, workload=words(sample.metric), value=sample.value, median=usual.median,
        unit=sample.metric[UNIT], below_percent=round(slow.below_percent, 2), z=round(slow.z, 2), cohort=slow.cohort,
        samples=usual.samples, runs=runs, life=life,
    )  # fmt: skip
