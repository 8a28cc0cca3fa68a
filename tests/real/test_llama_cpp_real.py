"""llama-cpp-python as pip builds it: for the processor. Its libraries are read, and a card beside it makes the build a fault."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from environments import build, site_packages

pytestmark = pytest.mark.full_only("pip compiles llama.cpp for many minutes")


@pytest.fixture(scope="module")
def environment() -> Path:
    return build("llama-cpp-python")


def facts_of(environment: Path, **variables: str) -> dict[str, object]:
    ran = subprocess.run(
        [sys.executable, "-m", "gpudoctor", "check", "--stack", "llama-cpp", "--python", str(environment), "--format", "json"],
        capture_output=True, text=True, env={**os.environ, **variables}, check=False,
    )  # fmt: skip
    report = json.loads(ran.stdout)
    found = report["facts"]["llama_cpp"]
    assert isinstance(found, dict)
    return {**found, "said": [finding["id"] for finding in report["findings"]]}


def test_a_build_for_the_processor_holds_no_backend_for_a_gpu(environment: Path) -> None:
    found = facts_of(environment)["python"]
    assert isinstance(found, dict)
    assert found["version"] == "0.3.36" and found["backends"] == []
    held = {library["backend"]: Path(library["file"]) for library in found["libraries"]}
    assert {"base", "cpu"} <= set(held) and all(file.is_file() for file in held.values())
    assert {file.parent for file in held.values()} == {site_packages(environment) / "llama_cpp" / "lib"}


def test_a_library_path_without_the_library_is_a_fault(environment: Path, tmp_path: Path) -> None:
    assert "llama-cpp-python-library-path-wrong" in facts_of(environment, LLAMA_CPP_LIB_PATH=str(tmp_path))["said"]  # type: ignore[operator]
