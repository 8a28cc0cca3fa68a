from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from gpudoctor.benchmark import fixes_together, known_fixes, trial_runs
from gpudoctor.benchmark.job_plan import ABILITIES
from gpudoctor.benchmark.significance import Ratio, discoveries, ratio_of_times, student
from gpudoctor.benchmark.worker_client import FAILED, SKIPPED, Said
from gpudoctor.benchmark.workload_list import TASKS
from gpudoctor.facts import vocabulary
from gpudoctor.model.facts import Facts, Known
from gpudoctor.model.trials import TrialResult
from gpudoctor.reporters.measurement import known_fixes_text
from gpudoctor.rules.conditions import facts_of
from gpudoctor.rules.templates import fields_of
from gpudoctor.system.host import Text

REQUEST = {"framework": "torch", "device": "cpu", "workload": "resnet18", "task": "inference", "dtype": "float32", "options": {"batch": 4}}
CPUINFO = "".join(f"processor\t: {number}\nphysical id\t: 0\ncore id\t: {number // 2}\n\n" for number in range(8))


class Box:
    """A machine with eight threads on four cores, and some libraries."""

    def __init__(self, *paths: str) -> None:
        self.paths = {"/lib64/ld-linux-x86-64.so.2", *paths}

    def exists(self, path: str) -> bool:
        return path in self.paths

    def read(self, path: str) -> Text:
        return Text({"/proc/cpuinfo": CPUINFO, "/sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]\n"}.get(path, ""))


def facts(backend: str = "cpu", *paths: str, flags: Sequence[str] = (), **changes: Any) -> Facts:
    machine = Facts({"cpu.flags": Known(list(flags))})
    return known_fixes.facts_of_run(machine, {**REQUEST, **changes}, backend, Box(*paths))


def names(found: Facts, variables: Mapping[str, str] | None = None) -> set[str]:
    return {trial.id for trial in known_fixes.applicable(found, variables)}


def test_each_trial_says_what_it_sets_and_reads_only_facts_that_there_are() -> None:
    known = set(vocabulary.specs())
    of_run = set(facts().names())
    assert len(known_fixes.trials()) >= 15 and len({trial.id for trial in known_fixes.trials()}) == len(known_fixes.trials())
    for trial in known_fixes.trials():
        changes = (trial.environment, trial.unset, trial.settings, trial.threads, trial.compile, trial.dtype, trial.batch > 1)
        assert any(changes) != bool(trial.by_hand), trial.id
        assert trial.source and trial.date and trial.costs and trial.measures in ("step", "first"), trial.id
        assert trial.advice or trial.unset, trial.id
        unread = set(trial.unread.split("; ")) - {""}
        assert unread <= set(trial.source.split("; ")) and bool(trial.read) == (unread != set(trial.source.split("; "))), trial.id
        read = facts_of(trial.applies) | {name for text in (*trial.environment.values(), trial.advice) for name in fields_of(text)}
        read -= {"gpu.name"}  # of an item of gpus
        assert {name for name in read if name.startswith("trial.")} <= of_run, trial.id
        assert {name for name in read if not name.startswith("trial.")} <= known, trial.id


def test_which_fix_is_for_which_machine() -> None:
    assert {"channels-last", "threads-pinned", "threads-physical", "flush-denormals", "glibc-keeps-memory"} <= names(facts())
    assert not {"tcmalloc", "huge-pages", "onednn-bfloat16", "tf32"} & names(facts())
    assert "tcmalloc" in names(facts("cpu", "/usr/lib64/libtcmalloc.so.4"))
    assert "onednn-bfloat16" in names(facts(flags=["avx512_bf16"]))
    assert {"tf32", "cudnn-benchmark", "expandable-segments", "torch-compile"} <= names(facts("cuda"))
    assert "ipex-onednn-layout" in names(facts("xpu", framework="ipex")) and "ipex-onednn-layout" not in names(facts("xpu"))
    assert "expandable-segments" not in names(facts("rocm"))
    assert "channels-last" not in names(facts(workload="transformer"))


def test_what_is_set_already_is_not_tried() -> None:
    assert "threads-wait-awake" not in names(facts(), {"OMP_WAIT_POLICY": "ACTIVE"})
    assert "threads-wait-awake" in names(facts(), {"OMP_WAIT_POLICY": "PASSIVE"})


@pytest.mark.parametrize("name, value, fix", [
    ("OMP_NUM_THREADS", "1", "without-thread-limits"), ("ONEDNN_MAX_CPU_ISA", "SSE41", "without-instruction-limit"),
    ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "0", "without-onednn-cache-limit"), ("LD_PRELOAD", "/lib/x.so", "without-preload"),
])  # fmt: skip
def test_a_variable_that_somebody_set_is_taken_away_first(name: str, value: str, fix: str) -> None:
    assert fix not in names(facts())
    first = known_fixes.applicable(facts(), {name: value, "HOME": "/root"})[0]
    assert first.id == fix and first.unset == (name,) and f"{name} (it is {value} here)" in first.advice
    machine = Machine(10.0, 5.0)
    found = trial_runs.run(machine, REQUEST, first, facts())
    assert found.outcome == "helps" and found.recommended and found.unset == (name,)
    assert machine.requests[1]["unset"] == [name] and "unset" not in machine.requests[0]
    assert machine.requests[1]["variables"] == ({name: ""} if name == "LD_PRELOAD" else {})  # the loader reads it before the worker can act


FRAMEWORKS = [
    ("torch", ("cpu", "cuda", "rocm", "xpu", "mps", "directml")), ("ipex", ("xpu",)), ("torch-directml", ("directml",)),
    ("torch-opencl", ("ocl",)), ("opencl", ("cpu", "opencl")), ("poptorch", ("ipu",)), ("popart", ("ipu",)),
    ("openvino", ("cpu", "gpu", "npu")), ("onnxruntime", ("cpu", "cuda", "rocm", "directml", "openvino")),
    ("tensorflow", ("cpu", "cuda", "directml")), ("jax", ("cuda", "rocm")),
]  # fmt: skip


MEASURED = [("matmul", "micro"), ("resnet50", "training"), ("gpt2_decode", "inference")]
SLOW = [
    (framework, backend, workload, task) for framework, backends in FRAMEWORKS for backend in backends for workload, task in MEASURED
    if task in ABILITIES.get(framework, TASKS)
]  # fmt: skip


@pytest.mark.parametrize("framework, backend, workload, task", SLOW)
def test_findings_send_nobody_to_an_empty_list(framework: str, backend: str, workload: str, task: str) -> None:
    """Slow measurements advise --try-fixes: then there is something to try, or to do by hand, on each framework and device."""
    assert known_fixes.applicable(facts(backend, framework=framework, workload=workload, task=task)), (framework, backend)


def trial(name: str) -> Any:
    return next(each for each in known_fixes.trials() if each.id == name)


class Machine:
    """Runs that take `plain` ms without and `changed` ms with, spread by 1 %; remembers the sides."""

    def __init__(self, plain: float, changed: float, spread: float = 0.01, drift: float = 1.0) -> None:
        self.plain, self.changed, self.spread, self.drift = plain, changed, spread, drift
        self.random, self.sides, self.verified = random.Random(5), "", 0
        self.requests: list[dict[str, Any]] = []

    def __call__(self, request: Mapping[str, Any], variables: Mapping[str, str]) -> Said:
        with_it = bool(variables or any(request.get(name) for name in ("settings", "threads", "unset")))
        self.sides += "B" if with_it else "A"
        self.verified += bool(request.get("verify"))
        self.requests.append({**request, "variables": dict(variables)})
        middle = (self.changed if with_it else self.plain) * self.random.gauss(1, self.spread) * self.drift ** len(self.sides)
        return Said(result={"latency_ms": {"median": middle}, "first_ms": middle * 10, "outputs": [{"name": "output", "passed": True}]})


def test_a_fix_that_helps_is_recommended_with_its_interval() -> None:
    machine = Machine(10.0, 8.0)
    found = trial_runs.run(machine, REQUEST, trial("channels-last"), facts())
    assert machine.sides == "ABBAABBA" * 2 and machine.verified == 2  # measured once more, because it looked like help
    assert found.outcome == "helps" and found.recommended and found.runs == 8
    assert found.speed_up is not None and found.low is not None and found.high is not None
    assert found.low < 1.25 < found.high and found.speed_up == pytest.approx(1.25, rel=0.03) and found.low > 1.15
    assert machine.requests[1]["settings"] == {"channels_last": True} and "settings" not in machine.requests[0]


def test_noise_is_no_speed_up_and_a_small_one_is_not_worth_it() -> None:
    noisy = trial_runs.run(Machine(10.0, 9.5, spread=0.2), REQUEST, trial("threads-pinned"), facts())
    assert noisy.outcome == "unclear" and not noisy.recommended and "quiet machine" in noisy.reason
    small = trial_runs.run(Machine(10.0, 9.9, spread=0.0005), REQUEST, trial("threads-pinned"), facts())
    assert small.outcome == "helps" and not small.recommended and small.reason
    slower = trial_runs.run(Machine(10.0, 12.0), REQUEST, trial("threads-pinned"), facts())
    assert slower.outcome == "harms" and not slower.recommended


def test_what_helps_in_the_first_round_alone_is_not_recommended() -> None:
    """Half as long in the first runs, then no different: chance, or somebody else's work that ended."""

    class Lucky(Machine):
        def __call__(self, request: Mapping[str, Any], variables: Mapping[str, str]) -> Said:
            if len(self.sides) == 8:
                self.changed = self.plain
            return super().__call__(request, variables)

    machine = Lucky(10.0, 5.0)
    found = trial_runs.run(machine, REQUEST, trial("threads-pinned"), facts())
    assert len(machine.sides) == 16 and found.outcome == "unclear" and not found.recommended and "second" in found.reason


def test_a_fix_without_effect_is_hardly_ever_recommended() -> None:
    """Each of 400 experiments of runs that spread by 5 %."""
    said = []
    for seed in range(400):
        machine = Machine(10.0, 10.0, spread=0.05)
        machine.random = random.Random(seed)
        said.append(trial_runs.run(machine, REQUEST, trial("threads-pinned"), facts()).recommended)
    assert sum(said) <= 2


def test_a_drift_of_the_machine_does_not_look_like_a_speed_up() -> None:
    """Each run is 2 % slower than the one before: what comes second always loses, unless the order alternates."""
    found = trial_runs.run(Machine(10.0, 10.0, spread=0.001, drift=1.02), REQUEST, trial("threads-pinned"), facts())
    assert found.outcome == "no difference" and found.speed_up == pytest.approx(1.0, abs=0.005)


def test_what_certainly_does_nothing_costs_half_the_runs() -> None:
    machine = Machine(10.0, 10.0, spread=0.002)
    found = trial_runs.run(machine, REQUEST, trial("threads-pinned"), facts())
    assert machine.sides == "ABBA" and found.outcome == "no difference" and found.runs == 2
    noisy = Machine(10.0, 10.0, spread=0.1)
    trial_runs.run(noisy, REQUEST, trial("threads-pinned"), facts())
    assert len(noisy.sides) >= 8


def test_a_fast_but_wrong_result_is_never_recommended() -> None:
    def ask(request: Mapping[str, Any], variables: Mapping[str, str]) -> Said:
        row = {"name": "output 0", "passed": not variables, "max_relative_error": 0.02, "tolerance": 0.002}
        return Said(result={"latency_ms": {"median": 1.0 if variables else 10.0}, "outputs": [row]})

    found = trial_runs.run(ask, REQUEST, trial("onednn-bfloat16"), facts())
    assert found.outcome == "wrong" and not found.recommended and "off by 0.02, allowed is 0.002" in found.reason


def test_a_run_that_dies_ends_its_trial_only() -> None:
    found = trial_runs.run(lambda *_: Said(status=FAILED, reason="import: died of SIGSEGV"), REQUEST, trial("threads-pinned"), facts())
    assert found.outcome == "failed" and found.reason == "without it: import: died of SIGSEGV"


def test_what_a_backend_lacks_is_no_failure() -> None:
    def ask(request: Mapping[str, Any], variables: Mapping[str, str]) -> Said:
        if request["dtype"] == "bfloat16":
            return Said(status=SKIPPED, reason="no bfloat16 on dml:0")
        return Said(result={"latency_ms": {"median": 10.0}})

    found = trial_runs.run(ask, REQUEST, trial("bfloat16"), facts("cuda"))
    assert found.outcome == "not possible" and found.reason == "with it: no bfloat16 on dml:0" and not found.recommended


def test_what_runs_with_a_fix_alone_is_recommended() -> None:
    def ask(request: Mapping[str, Any], variables: Mapping[str, str]) -> Said:
        if not variables:
            return Said(status=FAILED, reason="first: NotImplementedError: aten::grid_sampler_3d")
        return Said(result={"latency_ms": {"median": 10.0}})

    found = trial_runs.run(ask, REQUEST, trial("mps-fallback"), facts("mps"))
    assert found.outcome == "helps" and found.recommended and "grid_sampler" in found.reason and found.speed_up is None
    assert trial_runs.run(ask, REQUEST, trial("mps-metal"), facts("mps")).outcome == "failed"  # that one promises no repair


def test_a_variable_that_crashes_the_framework_is_found() -> None:
    def ask(request: Mapping[str, Any], variables: Mapping[str, str]) -> Said:
        if "LRU_CACHE_CAPACITY" not in request.get("unset", ()):
            return Said(status=FAILED, reason="correctness: died of SIGSEGV")
        return Said(result={"latency_ms": {"median": 10.0}})

    first = known_fixes.applicable(facts(), {"LRU_CACHE_CAPACITY": "0"})[0]
    found = trial_runs.run(ask, REQUEST, first, facts())
    assert found.recommended and "SIGSEGV" in found.reason and "Unset LRU_CACHE_CAPACITY" in found.advice


@pytest.mark.parametrize(
    "fix, changed", [("openvino-throughput", {"settings": {"hint": "throughput"}}), ("larger-batch", {"options": {"batch": 16}})]
)
def test_a_step_that_does_more_is_compared_by_its_work(fix: str, changed: dict[str, Any]) -> None:
    """Four times the work in five times the time is no help, in twice the time it is."""

    def machine(factor: float) -> Any:
        def ask(request: Mapping[str, Any], variables: Mapping[str, str]) -> Said:
            with_it = all(request.get(name) == value for name, value in changed.items())
            return Said(result={"latency_ms": {"median": 10.0 * (factor if with_it else 1.0)}, "items_per_step": 16 if with_it else 4})

        return ask

    known = facts("gpu", framework="openvino")
    assert trial_runs.run(machine(5.0), REQUEST, trial(fix), known).outcome == "harms"
    better = trial_runs.run(machine(2.0), REQUEST, trial(fix), known)
    assert better.recommended and better.speed_up == pytest.approx(2.0) and better.costs


def test_two_that_help_are_tried_together() -> None:
    """channels_last and pinned threads add up; glibc's memory helps alone and adds nothing to them."""
    gains = {"channels_last": 0.5, "OMP_PROC_BIND": 0.8, "MALLOC_MMAP_MAX_": 0.85}

    def ask(request: Mapping[str, Any], variables: Mapping[str, str]) -> Said:
        there = {*request.get("settings", {}), *variables} & set(gains)
        if "channels_last" in there:
            there -= {"MALLOC_MMAP_MAX_"}
        return Said(result={"latency_ms": {"median": 10.0 * math.prod(gains[name] for name in there)}})

    known, results = facts(), []
    for name in ("channels-last", "threads-pinned", "glibc-keeps-memory"):
        results.append(trial_runs.run(ask, REQUEST, trial(name), known))
    helped = trial_runs.best_first(results)
    kept: list[TrialResult] = []
    left_out = fixes_together.try_together(ask, REQUEST, helped, {each.id: each for each in known_fixes.trials()}, known, kept.append)
    assert [result.id for result in kept] == [
        "threads-pinned with channels-last",
        "glibc-keeps-memory with channels-last and threads-pinned",
    ]
    assert kept[0].speed_up == pytest.approx(1.25) and kept[0].beside == ("channels-last",) and left_out == ["glibc-keeps-memory"]
    assert kept[1].outcome == "no difference"


def test_what_sets_the_same_thing_is_not_tried_together() -> None:
    assert fixes_together.excludes(trial("level-zero-immediate"), trial("level-zero-batched"))
    assert fixes_together.excludes(trial("bfloat16"), trial("float16"))
    assert not fixes_together.excludes(trial("channels-last"), trial("cudnn-benchmark"))


def test_a_cache_is_filled_before_the_first_step_is_timed() -> None:
    machine = Machine(100.0, 10.0)
    found = trial_runs.run(machine, REQUEST, trial("sycl-cache"), facts("xpu"))
    assert machine.sides == "B" + "ABBAABBA" * 2 and found.measures == "first" and found.with_ms == pytest.approx(100, rel=0.05)


def test_threads_and_templates_come_from_the_machine() -> None:
    machine = Machine(10.0, 8.0)
    assert trial_runs.run(machine, REQUEST, trial("threads-physical"), facts()).advice.startswith("torch.set_num_threads(4)")
    assert machine.requests[1]["threads"] == 4
    machine = Machine(10.0, 8.0)
    trial_runs.run(machine, REQUEST, trial("tcmalloc"), facts("cpu", "/usr/lib64/libtcmalloc.so.4"))
    assert machine.requests[1]["variables"] == {"LD_PRELOAD": "/usr/lib64/libtcmalloc.so.4"}


def test_students_points_are_those_of_the_tables() -> None:
    assert student(1) == 12.706 and student(6) == 2.447 and student(30) == pytest.approx(2.042)
    assert student(1e9) == pytest.approx(1.960, abs=1e-3)
    assert 2.447 < student(5.5) < 2.571 and student(60) == pytest.approx(2.000, abs=3e-3)


def test_the_interval_covers_the_truth_in_about_95_of_100_experiments() -> None:
    source, hits, wanted = random.Random(1), 0, 1.1
    for _ in range(2000):
        without, with_it = ([middle * math.exp(source.gauss(0, 0.05)) for _ in range(4)] for middle in (wanted, 1.0))
        ratio = ratio_of_times(without, with_it)
        assert ratio is not None
        hits += ratio.low <= wanted <= ratio.high
    assert 0.935 <= hits / 2000 <= 0.975


def test_ratios_of_nothing_are_none() -> None:
    assert ratio_of_times([1.0], [1.0, 2.0]) is None and ratio_of_times([1.0, 0.0], [1.0, 2.0]) is None


@pytest.mark.parametrize(
    ("t", "freedom", "chance"), [(2.776, 4, 0.05), (4.604, 4, 0.01), (2.228, 10, 0.05), (3.169, 10, 0.01), (1.96, 1e9, 0.05), (0.0, 5, 1.0)]
)
def test_the_chance_of_students_t_is_that_of_the_tables(t: float, freedom: float, chance: float) -> None:
    assert Ratio(math.exp(0.1 * t), 1.0, 2.0, 0.1, freedom).chance(1.0) == pytest.approx(chance, abs=0.002)


def test_a_difference_that_does_not_matter_has_no_small_chance() -> None:
    sure = Ratio(1.02, 1.019, 1.021, 0.0005)
    assert sure.chance(1.0) < 1e-6 and sure.chance(1.03) > 0.99


def test_many_questions_are_answered_together() -> None:
    assert discoveries([]) == [] and discoveries([0.04]) == [True]
    assert discoveries([0.04, *[0.5] * 9]) == [False] * 10, "one of ten is below 5 % by chance"
    assert discoveries([0.04] * 10) == [True] * 10 and discoveries([0.004, 0.3, 0.009]) == [True, False, True]


def test_the_screen_says_what_to_do() -> None:
    none = TrialResult(
        id="a", title="", workload="w", outcome="no difference", speed_up=1.01, low=0.9, high=1.1, without_ms=10, with_ms=9.9
    )
    helps = replace(none, id="b", outcome="helps", speed_up=1.3, low=1.2, high=1.4, recommended=True, advice="Set B=1")
    results = trial_runs.best_first([none, helps])
    text = known_fixes_text.render(results)
    assert "interrupted" not in text and "interrupted" in known_fixes_text.render(results, interrupted=True)
    assert "--sweep-batch" in known_fixes_text.render([])
    assert [result.id for result in results] == ["b", "a"] and "Do: Set B=1" in text and "1.300x (1.200 to 1.400)" in text
