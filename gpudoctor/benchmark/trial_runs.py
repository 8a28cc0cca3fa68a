"""Measures known fixes: runs with and without alternate (ABBA), each in its own process, so that a drift affects both equally."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from gpudoctor.benchmark.significance import ratio_of_times
from gpudoctor.benchmark.worker_client import SKIPPED, Ask, Line, Said
from gpudoctor.model.facts import Facts
from gpudoctor.model.trials import BY_HAND, FAILED, HARMS, HELPS, NOT_POSSIBLE, SAME, UNCLEAR, WRONG, Trial, TrialResult
from gpudoctor.rules.templates import fill

BLOCKS = 2
"""ABBA blocks: each has two runs with and two without. What looks like help is measured once more, with as many: of ten fixes without any
effect one would look like help by chance every few runs, two times in a row next to never."""
ROUND = "ABBA"
WORTH = 1.02
"""A speed-up below this is not worth a line in anybody's configuration, however sure it is."""
HIDDEN = 1.1
"""While the interval still includes such a speed-up, the result is unclear rather than 'no difference'."""
NOISE = "the runs differ too much from each other; try again on a quiet machine"
LUCK = "it helped in a first round of runs and not in a second"
AT_START = ("LD_PRELOAD",)
"""Variables that the dynamic loader reads at the start: a worker cannot unset them for itself, but an empty value has that effect."""
Progress = Callable[[str, int, int], None]
"""(id of the trial, runs that are done, all runs of it)"""


class Setting(Struct, frozen=True):
    """One side of a comparison: the request to a worker, and its environment variables."""

    request: Line
    variables: Mapping[str, str] = field(default_factory=dict)

    def with_fix(self, trial: Trial, facts: Facts) -> Setting:
        request, variables = dict(self.request), {name: fill(text, facts) for name, text in trial.environment.items()}
        if trial.settings:
            request["settings"] = {**self.request.get("settings", {}), **trial.settings}
        if trial.compile:
            request["compile"] = trial.compile
        if trial.dtype:
            request["dtype"] = trial.dtype
        if trial.threads:
            request["threads"] = facts.value("trial.cores" if trial.threads == "physical" else "trial.processors")
        if trial.batch > 1:
            options = self.request.get("options", {})
            request["options"] = {**options, "batch": trial.batch * options.get("batch", 1)}
        if trial.unset:
            request["unset"] = [*self.request.get("unset", ()), *trial.unset]
            variables.update({name: "" for name in trial.unset if name in AT_START})
        return Setting(request, {**self.variables, **variables})


def run(
    ask: Ask, request: Line | Setting, trial: Trial, facts: Facts, *, blocks: int = BLOCKS, progress: Progress | None = None,
) -> TrialResult:  # fmt: skip
    """`request`: as a worker takes it. Both sides are verified once; a result that is wrong ends the trial."""
    plain = request if isinstance(request, Setting) else Setting(request)
    changed = plain.with_fix(trial, facts)
    if trial.by_hand:
        return replace(_result(trial, plain, changed, facts, BY_HAND), reason=trial.by_hand)
    if trial.prime:
        ask({**changed.request, "verify": False}, changed.variables)
    sides = Sides(ask, plain, changed, trial, facts)
    whole = len(ROUND) * blocks
    for number in range(2 * whole):
        if number == whole and not sides.judged().recommended:
            break
        if number == len(ROUND) and sides.settled():
            break
        if (ended := sides.run(ROUND[number % len(ROUND)])) is not None:
            outcome, reason = ended
            return replace(_result(trial, plain, changed, facts, outcome), reason=reason, recommended=outcome == HELPS)
        if progress is not None:
            progress(trial.id, number + 1, whole * (1 + number // whole))
    found = sides.judged()
    if found.recommended and not sides.judged(since=whole // 2).recommended:
        return replace(found, outcome=UNCLEAR, recommended=False, reason=LUCK)
    return found


class Sides(Struct):
    """The runs without (A) and with it (B) so far."""

    ask: Ask
    plain: Setting
    changed: Setting
    trial: Trial
    facts: Facts
    times: dict[str, list[float]] = field(default_factory=lambda: {"A": [], "B": []})
    items: float = 1.0
    """Items of one step without the fix; times of both sides are scaled to this number."""

    def run(self, side: str) -> tuple[str, str] | None:
        """Makes one more run. Returns (outcome, reason) where it ends the trial, else None."""
        answer = self._answer(side)
        if not answer.ok:
            if side == "A" and (self.trial.repairs or self.trial.unset) and answer.status != SKIPPED and not self.times["A"]:
                return self._repaired(answer)
            return NOT_POSSIBLE if answer.status == SKIPPED else FAILED, f"{_side(side)}: {answer.reason}"
        if broken := wrong(answer):
            where = "already without it" if side == "A" else "with it"
            return WRONG if side == "B" else FAILED, f"the result is wrong {where}: {broken}"
        took = time_of(answer, self.trial.measures)
        if took is None:
            return FAILED, f"{_side(side)}: no time was reported"
        if self.trial.measures == "step":
            items = items_of(answer)
            if side == "A":
                self.items = items
            took *= self.items / items
        self.times[side].append(took)
        return None

    def _answer(self, side: str) -> Said:
        setting = self.plain if side == "A" else self.changed
        verify = not self.times[side] and bool(setting.request.get("verify", True))
        return self.ask({**setting.request, "verify": verify}, setting.variables)

    def _repaired(self, without: Said) -> tuple[str, str]:
        """The result where the workload does not run without the fix: whether it runs with it."""
        answer = self._answer("B")
        if not answer.ok:
            return FAILED, f"without it: {without.reason}; with it: {answer.reason}"
        if broken := wrong(answer):
            return WRONG, f"it runs with it alone, and the result is wrong: {broken}"
        return HELPS, f"it runs with it alone; without it: {without.reason}"

    def settled(self) -> bool:
        """Whether the first block already rules out a worthwhile speed-up, so that more runs are not needed."""
        found = self.judged()
        return found.outcome in (SAME, HARMS) and found.speed_up is not None and found.speed_up < WORTH

    def judged(self, since: int = 0) -> TrialResult:
        """The result of the runs from number `since` on, of each side."""
        without, with_it = (self.times[side][since:] or self.times[side] for side in "AB")
        return judged(_result(self.trial, self.plain, self.changed, self.facts, SAME), without, with_it)


def wrong(answer: Said) -> str:
    """Which output of a run is not right; '' where none is known to be wrong."""
    outputs = answer.result.get("outputs")
    for row in outputs if isinstance(outputs, list) else ():
        if isinstance(row, Mapping) and row.get("passed") is False:
            error, allowed = row.get("max_relative_error"), row.get("tolerance")
            numbers = isinstance(error, int | float) and isinstance(allowed, int | float)
            return f"{row.get('name')} {f'off by {error:.2g}, allowed is {allowed:.2g}' if numbers else row.get('note') or ''}".strip()
    return ""


def time_of(answer: Said, measures: str) -> float | None:
    """The measured time in milliseconds, None where there is none."""
    latency = answer.result.get("latency_ms")
    value = answer.result.get("first_ms") if measures == "first" else latency.get("median") if isinstance(latency, Mapping) else None
    return float(value) if isinstance(value, int | float) and value > 0 else None


def items_of(answer: Said) -> float:
    """The number of items of one step; a round of several requests has more than one."""
    value: Any = answer.result.get("items_per_step")
    return float(value) if isinstance(value, int | float) and value > 0 else 1.0


def judged(empty: TrialResult, without: Sequence[float], with_it: Sequence[float]) -> TrialResult:
    """`empty`, completed with the comparison of both sides' times (milliseconds). Pure."""
    ratio = ratio_of_times(without, with_it)
    assert ratio is not None
    outcome = HELPS if ratio.low > 1 else HARMS if ratio.high < 1 else UNCLEAR if ratio.high > HIDDEN else SAME
    recommended = outcome == HELPS and ratio.value > WORTH
    return replace(
        empty, outcome=outcome, speed_up=ratio.value, low=ratio.low, high=ratio.high, without_ms=statistics.geometric_mean(without),
        with_ms=statistics.geometric_mean(with_it), runs=len(with_it), recommended=recommended,
        reason=NOISE if outcome == UNCLEAR else "too little to be worth it" if outcome == HELPS and not recommended else "",
    )  # fmt: skip


def _result(trial: Trial, plain: Setting, changed: Setting, facts: Facts, outcome: str) -> TrialResult:
    """A result that has no times yet."""
    return TrialResult(
        id=trial.id, title=trial.title, workload=words(plain.request), outcome=outcome, advice=fill(trial.advice, facts),
        costs=trial.costs, measures=trial.measures, unset=trial.unset, source=trial.source, date=trial.date,
        environment={name: value for name, value in changed.variables.items() if name in trial.environment},
    )  # fmt: skip


def words(request: Line) -> str:
    batch = request.get("options", {}).get("batch")
    return f"{request['workload']} {request['task']} {request.get('dtype', 'float32')}" + (f" batch {batch}" if batch else "")


def _side(side: str) -> str:
    return "without it" if side == "A" else "with it"


def best_first(results: Iterable[TrialResult]) -> list[TrialResult]:
    """Recommended fixes by their speed-up, then the rest in order, and last those that a person has to try by hand."""
    return sorted(
        results,
        key=lambda result: (not result.recommended, -(result.speed_up or 0) if result.recommended else 0, result.outcome == BY_HAND),
    )
