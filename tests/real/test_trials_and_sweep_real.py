"""Known fixes and the batch sweep on this processor: small networks, short runs. What comes out as faster depends on the day."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from environments import build

from gpudoctor.host.local import LocalHost
from gpudoctor.model.facts import Facts, Known
from gpudoctor.validate import asking, sweep, trials, workers

SMALL = {
    "framework": "torch", "device": "cpu", "workload": "resnet18", "task": "inference", "dtype": "float32",
    "options": {"batch": 1, "height": 64, "width": 64}, "duration": 0.5, "warm_up": 0.5,
}  # fmt: skip


def python() -> str:
    return str(build("torch-cpu") / "bin" / "python")


def facts(host: LocalHost) -> Facts:
    flags = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith(("flags", "Features"))), ":")
    return trials.facts_of_run(Facts({"cpu.flags": Known(flags.partition(":")[2].split())}), SMALL, "cpu", host)


def test_at_least_four_known_fixes_run_on_this_processor() -> None:
    host = LocalHost()
    known = facts(host)
    ask = asking.through(host, python(), 200, on_processor=True)
    chosen = [trial for trial in trials.applicable(known, dict(os.environ)) if trial.id in (
        "channels-last", "threads-pinned", "threads-wait-awake", "glibc-keeps-memory", "flush-denormals")]  # fmt: skip
    found = [trials.run(ask, SMALL, trial, known, blocks=1) for trial in chosen]
    assert len([one for one in found if one.outcome in ("helps", "harms", "no difference", "unclear")]) >= 4
    assert all(one.low is None or one.high is None or one.low <= (one.speed_up or 0) <= one.high for one in found)


def test_a_setting_that_makes_it_slower_is_told() -> None:
    """Without the vector units of this processor convolutions take several times as long."""
    host = LocalHost()
    known = facts(host)
    if "avx2" not in known.value("cpu.flags"):
        pytest.skip("a processor without AVX2 has nothing to lose")
    row = next(trial for trial in trials.trials() if trial.id == "threads-pinned")
    slow = replace(row, environment={"ONEDNN_MAX_CPU_ISA": "SSE41", "ATEN_CPU_CAPABILITY": "default"})
    request = {**SMALL, "options": {"batch": 4, "height": 96, "width": 96}, "threads": 1}
    found = trials.run(asking.through(host, python(), 200), request, slow, known)
    assert found.speed_up is not None and found.speed_up < 0.8 and found.outcome in ("harms", "unclear") and not found.recommended


def test_the_end_of_memory_is_found_without_a_swap_or_a_kill() -> None:
    host = LocalHost()

    def ask(request: Mapping[str, Any], variables: Mapping[str, str]) -> asking.Said:
        answer = workers.ask(host, python(), request, limit=200, variables=variables, address_space=1200 << 20)
        return asking.Said(status=answer.status, result=answer.result, reason=answer.reason, out_of_memory=answer.out_of_memory)

    options = {"height": 64, "width": 64}
    request = {**SMALL, "workload": "mobilenet_v2", "task": "training", "options": options, "verify": False, "threads": 1}
    found = sweep.sweep(ask, request, device="cpu", longest=60.0, most=512)
    assert found.ended_by == "memory" and found.limit is not None and found.limit >= 4
    assert found.knee is not None and found.knee <= found.limit
    over = [point for point in found.points if point.status == "memory"]
    assert over and all("allocate" in point.reason for point in over)
