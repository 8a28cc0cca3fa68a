"""Tests that need a device: `benchmarks/on_device` runs them, with its name in ON_DEVICE and a Python with torch in ON_DEVICE_PYTHON.

By hand: ON_DEVICE=cuda:0 ON_DEVICE_PYTHON=/path/to/venv/bin/python .venv/bin/pytest tests/on_device
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from gpudoctor.benchmark.flop_model import WORKER

Ask = Callable[..., dict[str, Any]]


def pytest_configure(config: pytest.Config) -> None:
    missing = [name for name in ("ON_DEVICE", "ON_DEVICE_PYTHON") if not os.environ.get(name)]
    if missing:
        raise pytest.UsageError(f"tests/on_device: set {' and '.join(missing)}, or run benchmarks/on_device, which does")


@pytest.fixture(scope="session")
def device() -> str:
    return os.environ["ON_DEVICE"]


@pytest.fixture(scope="session")
def ask(device: str) -> Ask:
    """The last line of a worker on the device, with those before it under `lines`."""

    def one(**request: Any) -> dict[str, Any]:
        whole = {
            "framework": "torch", "device": device, "dtype": "float32", "options": {}, "duration": 0.5, "warm_up": 0.5,
            "workload": "resnet18", "task": "inference", **request,
        }  # fmt: skip
        words = [os.environ["ON_DEVICE_PYTHON"], "-X", "utf8", WORKER]
        ran = subprocess.run(words, input=json.dumps(whole), capture_output=True, text=True, timeout=120, check=False)
        lines = [json.loads(line.partition(" ")[2]) for line in ran.stdout.splitlines() if line.startswith("@gpudoctor ")]
        assert lines, ran.stderr[-2000:]
        return {**lines[-1], "lines": lines}

    return one
