"""Tries fixes together that help one by one: each next one in addition to those that are kept, beginning with the most helpful.

Two that help alone need not help together (both may give back the same threads), and two that set the same thing cannot be together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from gpudoctor.benchmark.trial_runs import Progress, Setting, run
from gpudoctor.benchmark.worker_client import Ask, Line
from gpudoctor.model.facts import Facts
from gpudoctor.model.trials import Trial, TrialResult

MOST = 3
"""Fixes on top of the first: each costs as many runs as a trial."""
Keep = Callable[[TrialResult], None]
SETS = ("compile", "dtype", "threads")


def try_together(
    ask: Ask, request: Line, helped: Sequence[TrialResult], trials: Mapping[str, Trial], facts: Facts, keep: Keep,
    progress: Progress | None = None,
) -> list[str]:  # fmt: skip
    """The ids of the fixes that a person should not set. `helped`: recommended results of one workload, best first;
    `trials` by id. `keep` gets each result when it is there."""
    chosen = [trials[result.id] for result in helped if result.speed_up is not None and trials[result.id].measures == "step"]
    kept, left_out, setting = chosen[:1], [], Setting(request)
    for trial in kept:
        setting = setting.with_fix(trial, facts)
    for trial in chosen[1 : 1 + MOST]:
        if any(excludes(trial, other) for other in kept):
            left_out.append(trial.id)
            continue
        beside = tuple(other.id for other in kept)
        found = replace(run(ask, setting, trial, facts, progress=progress), id=f"{trial.id} with {' and '.join(beside)}", beside=beside)
        if found.recommended:
            setting, kept = setting.with_fix(trial, facts), [*kept, trial]
        else:
            left_out.append(trial.id)
        keep(replace(found, recommended=False))
    return left_out + [trial.id for trial in chosen[1 + MOST :]]


def excludes(one: Trial, other: Trial) -> bool:
    """Whether two trials set the same variable or option, or one sets what the other unsets."""
    here, there = (
        {*trial.environment, *trial.settings, *trial.unset, *(name for name in SETS if getattr(trial, name))} for trial in (one, other)
    )
    return bool(here & there) or (one.batch > 1 and other.batch > 1)
