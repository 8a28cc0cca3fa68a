"""`validate --quick` ends within its minute on a machine whose cores all do something else, and says what it had no time for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.reporters.shared.schema import complaints

LIMIT, SLACK = 60.0, 6.0
"""Seconds; the interpreter itself starts slowly there."""


@pytest.mark.rotates("slow", member="a minute under load")
@pytest.mark.alone
@pytest.mark.timeout(200)
def test_a_minute_is_a_minute_under_load(environment: Callable[[str], Path], tmp_path: Path) -> None:
    load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        began = time.monotonic()
        argv = [sys.executable, "-m", "gpudoctor", "validate", "--quick", "--python", str(environment("torch-cpu")), "--device", "cpu"]
        own = {**os.environ, "TMPDIR": str(tmp_path)}
        ran = subprocess.run([*argv, "--format", "json"], capture_output=True, text=True, timeout=150, env=own)
        took = time.monotonic() - began
    finally:
        for each in load:
            each.kill()
            each.wait()
    assert took <= LIMIT + SLACK and ran.returncode in (0, 1), (took, ran.stderr)
    document = json.loads(ran.stdout)
    assert complaints(document) == []
    states = {f"{each['workload']} {each['task']}": each for each in document["measurements"]}
    assert states["matmul micro"]["status"] == "ok" and "other processes took" in states["matmul micro"]["noisy"]
    skipped = [each for each in states.values() if each["status"] == "skipped"]
    assert skipped and all(each["reason"].startswith("out of time") for each in skipped)
    assert len(states) > 8 and not list(tmp_path.iterdir())
