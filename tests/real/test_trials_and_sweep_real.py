"""Known fixes and the batch sweep on this processor: small networks, short runs. What comes out as faster depends on the day."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from environments import build
from msgspec.structs import replace

from gpudoctor.benchmark import known_fixes, sweep, trial_runs, worker_client, workers
from gpudoctor.model.facts import Facts, Known
from gpudoctor.system.local_host import LocalHost

pytestmark = pytest.mark.alone

SMALL = {
    "framework": "torch", "device": "cpu", "workload": "resnet18", "task": "inference", "dtype": "float32",
    "options": {"batch": 1, "height": 64, "width": 64}, "duration": 0.5, "warm_up": 0.5,
}  # fmt: skip


def python() -> str:
    return str(build("torch-cpu") / "bin" / "python")


def facts(host: LocalHost) -> Facts:
    flags = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith(("flags", "Features"))), ":")
    return known_fixes.facts_of_run(Facts({"cpu.flags": Known(flags.partition(":")[2].split())}), SMALL, "cpu", host)


@pytest.mark.rotates("a measured difference")
def test_at_least_four_known_fixes_run_on_this_processor() -> None:
    host = LocalHost()
    known = facts(host)
    ask = worker_client.through(host, python(), 200, on_processor=True)
    chosen = [trial for trial in known_fixes.applicable(known, {}) if trial.id in (
        "channels-last", "threads-pinned", "threads-wait-awake", "glibc-keeps-memory", "flush-denormals")]  # fmt: skip
    found = [trial_runs.run(ask, SMALL, trial, known, blocks=1) for trial in chosen]
    assert len(found) >= 4 and {one.outcome for one in found} <= {"helps", "harms", "no difference", "unclear"}, found
    assert all(one.low is not None and one.high is not None and one.low <= (one.speed_up or 0) <= one.high for one in found)
    assert all(one.runs >= 2 and (one.without_ms or 0) > 0 and (one.with_ms or 0) > 0 for one in found)


VECTORS = {"ONEDNN_MAX_CPU_ISA": "SSE41", "ATEN_CPU_CAPABILITY": "default", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2"}
"""Convolutions without the vector units of this processor take several times as long, whatever else goes on."""
WIDE = {**SMALL, "options": {"batch": 4, "height": 96, "width": 96}, "threads": 1}


def row(**changes: Any) -> Any:
    return replace(next(trial for trial in known_fixes.trials() if trial.id == "threads-pinned"), **changes)


def need_vectors(known: Facts) -> None:
    if "avx2" not in known.value("cpu.flags"):
        pytest.skip("a processor without AVX2 has nothing to lose")


@pytest.mark.rotates("a measured difference")
def test_a_setting_that_makes_it_slower_is_told() -> None:
    host = LocalHost()
    known = facts(host)
    need_vectors(known)
    found = trial_runs.run(worker_client.through(host, python(), 200), WIDE, row(environment=VECTORS), known)
    assert found.speed_up is not None and found.speed_up < 0.8 and found.outcome in ("harms", "unclear") and not found.recommended


@pytest.mark.rotates("a measured difference")
def test_a_fix_that_certainly_helps_is_recommended_with_its_interval() -> None:
    """A machine where somebody once switched the vector units off, and a fix that gives them back."""
    host = LocalHost()
    known = facts(host)
    need_vectors(known)
    through = worker_client.through(host, python(), 200)

    def crippled(request: Mapping[str, Any], variables: Mapping[str, str]) -> worker_client.Said:
        return through(request, {**VECTORS, **variables})

    fix = row(environment={"ONEDNN_MAX_CPU_ISA": "DEFAULT", "ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"})
    tries = []
    while len(tries) < 4 and (not tries or tries[-1].outcome == "unclear"):  # as its reason says: a neighbour on the machine spoils a try
        tries.append(trial_runs.run(crippled, WIDE, fix, known))
    found = tries[-1]
    assert found.outcome == "helps" and found.recommended and found.runs == 2 * 2 * trial_runs.BLOCKS, tries
    assert found.speed_up is not None and found.low is not None and found.speed_up > 1.5 and found.low > 1.1


@pytest.mark.rotates("a measured difference")
def test_a_harmful_variable_is_found_by_taking_it_away() -> None:
    """One thread, so that the other work of this machine hits both sides alike."""
    host = LocalHost()
    known = facts(host)
    need_vectors(known)
    through = worker_client.through(host, python(), 200)

    def with_variable(request: Mapping[str, Any], variables: Mapping[str, str]) -> worker_client.Said:
        return through(request, {"ONEDNN_MAX_CPU_ISA": "SSE41", **variables})

    fix = next(trial for trial in known_fixes.applicable(known, {"ONEDNN_MAX_CPU_ISA": "SSE41"}) if trial.unset)
    tries = []
    while len(tries) < 4 and (not tries or tries[-1].outcome == "unclear"):
        tries.append(trial_runs.run(with_variable, WIDE, fix, known))
    assert tries[-1].recommended and tries[-1].advice == "Unset ONEDNN_MAX_CPU_ISA (it is SSE41 here)", tries


@pytest.mark.rotates("a measured difference")
def test_a_fix_that_changes_nothing_is_not_recommended() -> None:
    host = LocalHost()
    nothing = row(environment={"A_VARIABLE_THAT_NOBODY_READS": "1"})
    found = trial_runs.run(worker_client.through(host, python(), 200), WIDE, nothing, facts(host))
    assert found.outcome in ("no difference", "unclear", "helps", "harms") and not found.recommended, found
    assert found.low is not None and found.high is not None and found.low < 1.1 and found.high > 0.9


@pytest.mark.rotates("a measured difference")
def test_the_end_of_memory_is_found_without_a_swap_or_a_kill() -> None:
    host = LocalHost()

    def ask(request: Mapping[str, Any], variables: Mapping[str, str]) -> worker_client.Said:
        answer = workers.ask(host, python(), request, limit=200, variables=variables, address_space=1200 << 20)
        return worker_client.Said(status=answer.status, result=answer.result, reason=answer.reason, out_of_memory=answer.out_of_memory)

    options = {"height": 64, "width": 64}
    request = {**SMALL, "workload": "mobilenet_v2", "task": "training", "options": options, "verify": False, "threads": 1}
    found = sweep.sweep(ask, request, device="cpu", longest=60.0, most=512)
    assert found.ended_by == "memory" and found.limit is not None and found.limit >= 4
    assert found.knee is not None and found.knee <= found.limit
    over = [point for point in found.points if point.status == "memory"]
    assert over and all("allocate" in point.reason for point in over)
