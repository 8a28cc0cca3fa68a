"""The life of a suspicion: one run makes a card a suspect, a further run that agrees confirms it, and one that does not agree clears it.

A run that did not measure the card, or measured it while somebody else used it, changes nothing: it is passed over.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.fleet.slow_cards import UNIT, Judgement, Key, Slow, words
from gpudoctor.model.fleet_view import LIVES, Suspicion

SUSPECT, CONFIRMED, CLEARED = LIVES


def lives(runs: Sequence[Judgement]) -> list[Suspicion]:
    """The suspicions of the newest run and those that it inherits; `runs` are the newest first. The worst ones come first."""
    keys: dict[Key, None] = {key: None for run in runs for key in run.slow}
    found = [suspicion for key in keys if (suspicion := _life(key, runs)) is not None]
    return sorted(found, key=lambda each: (-LIVES.index(each.life) % len(LIVES), -each.below_percent, each.host, each.card, each.workload))


def _life(key: Key, runs: Sequence[Judgement]) -> Suspicion | None:
    """The suspicion of one card, or None where it was cleared before the newest run that measured it."""
    spoke = [run for run in runs if key in run.measured]
    accused = 0
    cleared = key not in spoke[0].slow
    for run in spoke[1:] if cleared else spoke:
        if key not in run.slow:
            break
        accused += 1
    if cleared and (not accused or spoke[0] is not runs[0]):
        return None
    return _suspicion(spoke[0].measured[key], accused, CLEARED if cleared else CONFIRMED if accused > 1 else SUSPECT)


def _suspicion(slow: Slow, runs: int, life: str) -> Suspicion:
    sample, usual = slow.sample, slow.reference
    return Suspicion(
        host=sample.host, card=sample.place, workload=words(sample.metric), value=sample.value, median=usual.median,
        unit=sample.metric[UNIT], below_percent=round(slow.below_percent, 2), z=round(slow.z, 2), cohort=slow.cohort,
        samples=usual.samples, runs=runs, life=life,
    )  # fmt: skip
