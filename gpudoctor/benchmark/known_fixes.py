"""Known fixes, measured: each in turns with and without (ABBA), every run in a process of its own, so that a drift hits both alike."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Protocol

from gpudoctor.benchmark.significance import ratio_of_times
from gpudoctor.benchmark.worker_client import Ask, Line, Said
from gpudoctor.facts.derive._tables import table
from gpudoctor.model.facts import Absent, Facts, Known
from gpudoctor.model.trials import FAILED, HARMS, HELPS, SAME, UNCLEAR, WRONG, Trial, TrialResult
from gpudoctor.rules.conditions import parse
from gpudoctor.rules.evaluate import evaluate
from gpudoctor.rules.templates import fill

BLOCKS = 2
"""ABBA blocks: each has two runs with and two without. What looks like help is measured once more, with as many: of ten fixes without any
effect one would look like help by chance every few runs, two times in a row next to never."""
WORTH = 1.02
"""A speed-up below this is not worth a line in anybody's configuration, however sure it is."""
HIDDEN = 1.1
"""Where such a speed-up could still hide in the interval, nobody can say that there is none."""
NOISE = "the runs differ too much from each other; try again on a quiet machine"
CONVOLUTIONS = (
    "alexnet", "resnet18", "resnet50", "vgg16", "mobilenet_v2", "resnext101_32x4d", "style_transfer", "yolox_tiny", "unet_sd15",
    "unet_sd21",
)  # fmt: skip
LIBRARIES = {
    "tcmalloc": ("libtcmalloc.so.4", "libtcmalloc_minimal.so.4"),
    "jemalloc": ("libjemalloc.so.2",),
}
FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")
Progress = Callable[[str, int, int], None]
"""(id of the trial, runs that are done, all runs of it)"""


class TrialHost(Protocol):
    """What is asked of a host here."""

    def exists(self, path: str) -> bool: ...
    def read(self, path: str) -> Any: ...


@lru_cache(maxsize=1)
def trials() -> tuple[Trial, ...]:
    """All rows. Raises rules.conditions.ConditionError with the place of a malformed condition."""
    found = []
    for row in table("trials")["trial"]:
        condition = parse(row["applies"], f"trials.toml {row['id']}.applies", {})
        found.append(Trial(**{**row, "applies": condition, "date": str(row["date"])}))
    return tuple(found)


def facts_of_run(facts: Facts, request: Line, backend: str, host: TrialHost, prefix: str = "") -> Facts:
    """The facts of the machine, and those of the run that trials ask for. `prefix`: folder of the target environment."""
    found = Facts(dict(facts.items()))
    cores, processors = _cores(host)
    known = {
        "framework": request["framework"], "backend": backend, "task": request["task"], "dtype": request.get("dtype", "float32"),
        "workload": request["workload"], "convolutions": request["workload"] in CONVOLUTIONS, "cores": cores, "processors": processors,
        "glibc": host.exists("/lib64/ld-linux-x86-64.so.2") or host.exists("/lib/ld-linux-aarch64.so.1"),
        "huge_pages": _chosen(host.read("/sys/kernel/mm/transparent_hugepage/enabled").text),
        **{name: _library(host, files, prefix) for name, files in LIBRARIES.items()},
    }  # fmt: skip
    for name, value in known.items():
        found.set(f"trial.{name}", Absent() if value is None else Known(value, "validate"))
    return found


def _cores(host: TrialHost) -> tuple[int | None, int | None]:
    """(physical, logical) of this machine, as /proc/cpuinfo says."""
    cores, processors, package = set(), 0, "0"
    for line in host.read("/proc/cpuinfo").text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "processor":
            processors += 1
        elif name.strip() == "physical id":
            package = value.strip()
        elif name.strip() == "core id":
            cores.add((package, value.strip()))
    return len(cores) or processors or None, processors or None


def _chosen(text: str) -> str | None:
    """'always [madvise] never' is madvise."""
    return next((word.strip("[]") for word in text.split() if word.startswith("[")), None)


def _library(host: TrialHost, names: Sequence[str], prefix: str) -> str | None:
    folders = ([f"{prefix}/lib"] if prefix else []) + list(FOLDERS)
    return next((path for folder in folders for name in names if host.exists(path := f"{folder}/{name}")), None)


def applicable(facts: Facts, variables: Mapping[str, str] | None = None) -> list[Trial]:
    """The trials whose condition holds for `facts` (of facts_of_run). What is set already (`variables`: the environment) is not tried."""
    there = variables or {}
    found = []
    for trial in trials():
        wanted = {name: fill(text, facts) for name, text in trial.environment.items()}
        if evaluate(trial.applies, facts).truth == "true" and not (
            wanted and all(there.get(name) == text for name, text in wanted.items())
        ):
            found.append(trial)
    return found


def run(ask: Ask, request: Line, trial: Trial, facts: Facts, *, blocks: int = BLOCKS, progress: Progress | None = None) -> TrialResult:
    """`request`: as a worker takes it. Both sides are verified once; a result that is wrong ends the trial."""
    changed, variables = _with(request, trial, facts)
    if trial.prime:
        ask({**changed, "verify": False}, variables)
    sides = Sides(ask, request, changed, variables, trial)
    whole = len(ROUND) * blocks
    for number in range(2 * whole):
        if number == whole and not sides.judged(trial, variables, facts).recommended:
            break
        if (ended := sides.run(ROUND[number % len(ROUND)])) is not None:
            outcome, reason = ended
            return _ended(trial, request, outcome, reason, variables, facts)
        if progress is not None:
            progress(trial.id, number + 1, whole * (1 + number // whole))
    found = sides.judged(trial, variables, facts)
    again = sides.judged(trial, variables, facts, since=whole // 2)
    if found.recommended and not again.recommended:
        return replace(found, outcome=UNCLEAR, recommended=False, reason="it helped in a first round of runs and not in a second")
    return found


ROUND = "ABBA"


@dataclass(slots=True)
class Sides:
    """The runs without (A) and with it (B) so far."""

    ask: Ask
    request: Line
    changed: Line
    variables: Mapping[str, str]
    trial: Trial
    times: dict[str, list[float]] = field(default_factory=lambda: {"A": [], "B": []})

    def run(self, side: str) -> tuple[str, str] | None:
        """One more run; (outcome, reason) where it ends the trial."""
        words, extra = (self.request, {}) if side == "A" else (self.changed, self.variables)
        answer = self.ask({**words, "verify": not self.times[side] and bool(self.request.get("verify", True))}, extra)
        if not answer.ok:
            return FAILED, f"{_side(side)}: {answer.reason}"
        if broken := wrong(answer):
            where = "already without it" if side == "A" else "with it"
            return WRONG if side == "B" else FAILED, f"the result is wrong {where}: {broken}"
        took = time_of(answer, self.trial.measures)
        if took is None:
            return FAILED, f"{_side(side)}: no time was reported"
        self.times[side].append(took)
        return None

    def judged(self, trial: Trial, variables: Mapping[str, str], facts: Facts, since: int = 0) -> TrialResult:
        """Of the runs from number `since` on, of each side."""
        times = [self.times[side][since:] or self.times[side] for side in "AB"]
        return judged(trial, self.request, times[0], times[1], variables, fill(trial.advice, facts))


def _with(request: Line, trial: Trial, facts: Facts) -> tuple[dict[str, Any], dict[str, str]]:
    changed = dict(request)
    if trial.settings:
        changed["settings"] = {**request.get("settings", {}), **trial.settings}
    if trial.compile:
        changed["compile"] = trial.compile
    if trial.threads:
        changed["threads"] = facts.value("trial.cores")
    return changed, {name: fill(text, facts) for name, text in trial.environment.items()}


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


def judged(
    trial: Trial, request: Line, without: Sequence[float], with_it: Sequence[float], variables: Mapping[str, str], advice: str
) -> TrialResult:
    """Milliseconds of the runs of both sides to a result. Pure."""
    ratio = ratio_of_times(without, with_it)
    assert ratio is not None
    outcome = HELPS if ratio.low > 1 else HARMS if ratio.high < 1 else UNCLEAR if ratio.high > HIDDEN else SAME
    recommended = outcome == HELPS and ratio.value > WORTH
    return TrialResult(
        id=trial.id, title=trial.title, workload=words(request), outcome=outcome, speed_up=ratio.value, low=ratio.low, high=ratio.high,
        without_ms=statistics.geometric_mean(without), with_ms=statistics.geometric_mean(with_it), runs=len(with_it),
        recommended=recommended, advice=advice, measures=trial.measures,
        reason=NOISE if outcome == UNCLEAR else "too little to be worth it" if outcome == HELPS and not recommended else "",
        environment=dict(variables), source=trial.source, date=trial.date,
    )  # fmt: skip


def _ended(trial: Trial, request: Line, outcome: str, reason: str, variables: Mapping[str, str], facts: Facts) -> TrialResult:
    return TrialResult(
        id=trial.id, title=trial.title, workload=words(request), outcome=outcome, reason=reason, advice=fill(trial.advice, facts),
        measures=trial.measures, environment=dict(variables), source=trial.source, date=trial.date,
    )  # fmt: skip


def words(request: Line) -> str:
    batch = request.get("options", {}).get("batch")
    return f"{request['workload']} {request['task']} {request.get('dtype', 'float32')}" + (f" batch {batch}" if batch else "")


def _side(side: str) -> str:
    return "without it" if side == "A" else "with it"


def best_first(results: Iterable[TrialResult]) -> list[TrialResult]:
    """Recommended ones by their speed-up, then the rest in order."""
    return sorted(results, key=lambda result: (not result.recommended, -(result.speed_up or 0) if result.recommended else 0))
