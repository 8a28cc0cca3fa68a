"""Two real reports beside each other: a run beside itself, and one in which somebody switched the vector units off."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Two threads on a core that somebody else wants wait for each other: a run then takes thirty times as long."""
SLOW = {"ONEDNN_MAX_CPU_ISA": "SSE41", "ATEN_CPU_CAPABILITY": "default", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2"}


def doctor(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "gpudoctor", "validate", *words]
    return subprocess.run(argv, capture_output=True, text=True, timeout=400, env={**os.environ, **ONE_THREAD, **(env or {})})


PLANTED = Path(__file__).parents[2] / "benchmarks" / "planted_slowness"


@pytest.mark.rotates("a measured difference")
@pytest.mark.alone
@pytest.mark.timeout(1500)
def test_an_identical_run_is_no_other_and_slower_steps_are_found(environment: Callable[[str], Path], tmp_path: Path) -> None:
    common = ("--python", str(environment("torch-cpu")), "--device", "cpu", "--format", "json", "--workload", "matmul,launch",
              "--duration", "2")  # fmt: skip
    paths = {name: str(tmp_path / f"{name}.json") for name in ("first", "second", "slower")}

    def measure() -> None:
        for name, path in paths.items():
            planted = {"PYTHONPATH": str(PLANTED), "PLANTED_SLOWNESS": "3"} if name == "slower" else None
            ran = doctor(*common, "-o", path, env=planted)
            assert ran.returncode in (0, 1), ran.stderr

    def compared(here: str, there: str) -> dict[str, dict[str, Any]]:
        ran = doctor("--compare", paths[here], "--compare", paths[there], "--format", "json")
        assert ran.returncode == 0, ran.stderr
        return {row["workload"]: row for row in json.loads(ran.stdout)["comparison"]["rows"]}

    measure()
    for _ in range(3):
        if any(row["verdict"] != "slower" for row in compared("slower", "first").values()):  # others took much of the processor
            measure()
    for row in compared("slower", "first").values():
        assert row["verdict"] == "slower" and row["processes"] >= 3 and row["speed"] < 0.6, row
    for row in compared("second", "first").values():
        assert row["verdict"] in ("same", "unknown") and row["seen_from"] > 1.03, row
    latency = [each["latency_ms"] for each in json.loads(Path(paths["first"]).read_text("utf-8"))["measurements"]]
    assert all(each["p10"] <= each["median"] and len(each["processes_p10"]) >= 3 for each in latency)


@pytest.mark.rotates("a measured difference")
@pytest.mark.alone
@pytest.mark.timeout(1200)
def test_two_runs_beside_each_other(environment: Callable[[str], Path], tmp_path: Path) -> None:
    common = ("--python", str(environment("torch-cpu")), "--device", "cpu", "--format", "json", "--workload", "launch,resnet18",
              "--task", "micro,inference", "--batch", "1", "--duration", "6")  # fmt: skip
    reports = [str(tmp_path / name) for name in ("usual.json", "slow.json")]

    def measure() -> None:
        for path, variables in zip(reports, ({}, SLOW), strict=True):
            ran = doctor(*common, "-o", path, env=variables)
            assert ran.returncode in (0, 1), ran.stderr

    def compared(first: str, second: str) -> dict[str, Any]:
        ran = doctor("--compare", first, "--compare", second, "--format", "json")
        assert ran.returncode == 0, ran.stderr
        return {row["workload"]: row for row in json.loads(ran.stdout)["comparison"]["rows"]}

    measure()
    same = compared(reports[0], reports[0])
    assert set(same) == {"launch", "resnet18"} and all(
        row["speed"] == 1.0 and row["verdict"] in ("same", "unknown") for row in same.values()
    )
    for _ in range(3):
        if compared(*reports)["resnet18"]["verdict"] != "faster":  # something else on the machine spoilt one of the runs
            measure()
    found = compared(*reports)["resnet18"]
    assert found["speed"] > 1.3 and found["verdict"] == "faster", found
    assert any("ONEDNN_MAX_CPU_ISA=SSE41 there" in text for text in found["differs"])
    text = doctor("--compare", reports[0], "--compare", reports[1]).stdout
    assert "usual.json" in text and "slow.json" in text and "resnet18 inference" in text
