"""Published tables on this processor, in small sizes: each is measured and has its published numbers beside it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from environments import build

pytestmark = [pytest.mark.alone, pytest.mark.rotates("a published table")]


def table(name: str, environment: str, *more: str) -> dict[str, Any]:
    words = [sys.executable, "-m", "gpudoctor", "validate", "--python", str(build(environment)), "--table", name, "--quick", "-q"]
    done = subprocess.run([*words, *more, "--format", "json"], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)["table"]
    return found


@pytest.mark.parametrize("name, environment, more, rows", [
    ("dlprimitives", "torch-cpu", ("--workload", "resnet18"), 2), ("graphcore-c2", "torch-cpu", ("--device", "cpu"), 1),
    ("arc-a770", "openvino", ("--workload", "yolox_tiny"), 2),
])  # fmt: skip
def test_a_table_is_measured_beside_its_published_numbers(name: str, environment: str, more: tuple[str, ...], rows: int) -> None:
    found = table(name, environment, *more)
    assert found["id"] == name and len(found["rows"]) == rows and not found["interrupted"]
    for row in found["rows"]:
        assert row["measured"]["status"] == "ok" and row["measured"]["correctness"]["passed"], row["measured"]
        assert row["published"] and all(one["source"].startswith("http") for one in row["published"])
        assert any(one["differs"] for one in row["published"]), "another device, size and version: that is said"
    if name != "arc-a770":  # whose numbers for the detector are scores
        assert any(one["ratio"] and one["ratio"] < 1 for row in found["rows"] for one in row["published"])
