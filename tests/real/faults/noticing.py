"""Whether validate notices a fault: by the worker's jobs that find it, or by a whole run of the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from environments import build

from faults.corpus import DEVICES, Fault
from faults.environment import NAMES, faulty
from gpudoctor.benchmark import workers
from gpudoctor.benchmark.results import judged
from gpudoctor.model.measurement import OK
from gpudoctor.system.local_host import LocalHost

TRAINING = ("--workload", "resnet18", "--task", "training", "--batch", "1", "--device", "cpu", "--duration", "6")


def noticed(fault: Fault, folder: Path) -> str:
    """What is said of it by the job that must find it; '' is nothing."""
    python = str(faulty(build(NAMES[fault.framework]), folder, fault.framework, fault.name))
    if fault.job == "training":
        return by_command(python, *TRAINING)
    answer = by_operators(python, fault.framework)
    wrong = [row for row in answer.result.get("operators", ()) if row["verdict"] in ("wrong", "crash")]
    if answer.status != OK:
        raise RuntimeError(answer.reason)
    return f"{wrong[0]['operator']}: {wrong[0]['note']}" if wrong else ""


def by_operators(python: str, framework: str) -> workers.WorkerAnswer:
    """The quick set of operators, as the default run asks for it."""
    request: dict[str, Any] = {
        "framework": framework, "device": DEVICES[framework], "workload": "operators", "task": "micro", "job": "operators", "set": "quick",
        "threads": 1,
    }  # fmt: skip
    return workers.ask(LocalHost(), python, request, limit=300)


def by_network(python: str, task: str) -> str:
    """What is wrong with a small resnet18 of torch."""
    request: dict[str, Any] = {
        "framework": "torch", "device": "cpu", "workload": "resnet18", "task": task, "dtype": "float32", "job": "verify", "threads": 1,
        "options": {"batch": 1, "height": 64, "width": 64},
    }  # fmt: skip
    return judged(workers.ask(LocalHost(), python, request, limit=300).result.get("outputs"))[1]


def by_command(python: str, *words: str) -> str:
    """The reasons of what failed in a run of `gpudoctor validate`, and the findings against the device."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "gpudoctor", "validate", "--python", python, "--format", "json", "-o", str(report), *words]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=900, env={**os.environ, "GPUDOCTOR_HISTORY": "0"})
        if not report.exists():
            raise RuntimeError(ran.stderr[-1000:])
        told = json.loads(report.read_text())
    failed = [f"{row['workload']}: {row.get('reason')}" for row in told.get("measurements", ()) if row["status"] == "failed"]
    return "; ".join(failed) or ("; ".join(_findings(told)) if ran.returncode == 1 else "")


def _findings(told: dict[str, Any]) -> list[str]:
    return [
        str(each.get("title") or each.get("check")) for each in told.get("findings", ()) if each.get("severity") in ("error", "critical")
    ]
