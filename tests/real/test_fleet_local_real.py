"""`fleet run --engine local --validate quick` on this machine, with a real PyTorch for the processor."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from debian_root import REPOSITORY

from gpudoctor.system.fleet_store import FleetStore

pytestmark = pytest.mark.real


def test_this_machine_is_measured_into_its_row(environment: Callable[[str], Path], tmp_path: Path) -> None:
    place = environment("torch-cpu")
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY), "VIRTUAL_ENV": str(place), "PATH": f"{place / 'bin'}:{os.environ['PATH']}"}
    words = [
        "fleet",
        "run",
        "--engine",
        "local",
        "--hosts",
        "here",
        "--validate",
        "quick",
        "--labels",
        "role=test",
        "--store",
        str(tmp_path),
    ]
    done = subprocess.run([sys.executable, "-m", "gpudoctor", *words], env=env, capture_output=True, text=True, timeout=320)
    assert done.returncode == 0 and done.stdout.startswith("1 of 1 host answered."), done.stdout + done.stderr
    (row,) = FleetStore(tmp_path).rows()
    assert (row.host, row.labels, row.failed, row.left_out) == ("here", {"role": "test"}, "", {})
    found = {each.workload: each for each in row.measurements if each.status == "ok" and each.value}
    assert {"matmul", "memory_bandwidth"} <= found.keys()
    for each in found.values():
        assert (each.framework, each.backend, each.card) == ("torch", "cpu", ""), each
    assert not [each for each in row.measurements if each.status == "failed"]
    assert FleetStore(tmp_path).runs()[0].measured == 1
