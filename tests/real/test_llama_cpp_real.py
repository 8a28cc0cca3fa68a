"""llama-cpp-python as pip builds it: for the processor. Its libraries are read, and a card beside it makes the build a fault."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from environments import build, compiled, site_packages
from loopback_server import LoopbackServer

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


@pytest.fixture
def index(tmp_path: Path) -> Iterator[str]:
    """An index of the wheel that was compiled, with a folder for each build as the one of its makers has."""
    folder = tmp_path / "index" / "whl" / "cpu" / "llama-cpp-python"
    folder.mkdir(parents=True)
    wheel = compiled("llama-cpp-python==0.3.36")
    (folder / wheel.name).symlink_to(wheel)
    with LoopbackServer(tmp_path / "index") as server:
        yield f"{server.url}/whl"


def test_set_up_from_an_index_verified_and_taken_back(index: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()

    def setup(*words: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "gpudoctor", "setup", *words]
        return subprocess.run(argv, capture_output=True, text=True, env={**os.environ, "HOME": str(home)}, check=False)

    done = setup("llama-cpp", "--yes", "--mirror", f"llama-cpp-python={index}")
    assert done.returncode == 0 and "Done and verified: computed on llama:cpu" in done.stdout, done.stdout + done.stderr
    assert (site_packages(home / "gpudoctor" / "llama-cpp") / "llama_cpp").is_dir()
    undone = setup("--undo")
    assert undone.returncode == 0 and not (home / "gpudoctor").exists(), undone.stdout


@pytest.fixture(scope="module")
def measured(environment: Path) -> dict[str, Any]:
    """Reading a prompt and writing tokens, by name of the workload."""
    asked = ["--workload", "llama_prefill,llama_decode", "--duration", "1", "--format", "json", "--python", str(environment)]
    argv = [sys.executable, "-m", "gpudoctor", "validate", *asked]
    ran = subprocess.run(argv, capture_output=True, text=True, check=False)
    report = json.loads(ran.stdout)
    return {row["workload"]: row for row in report["measurements"]}


@pytest.mark.parametrize("workload", ["llama_prefill", "llama_decode"])
def test_scores_are_those_of_float64_and_tokens_a_second_are_counted(measured: dict[str, Any], workload: str) -> None:
    row = measured[workload]
    assert (row["framework"], row["device"], row["dtype"], row["status"]) == ("llama-cpp", "llama:cpu", "float16", "ok"), row
    assert row["throughput"]["unit"] == "tokens/s" and row["throughput"]["value"] > 0
    right = row["correctness"]
    assert right["passed"] and 0 < right["max_relative_error"] < 5e-3 < right["tolerance"] == 0.05


def test_a_prompt_is_read_faster_than_tokens_are_written(measured: dict[str, Any]) -> None:
    """Reading computes all tokens with weights that are loaded once; writing loads them for each token."""
    prefill, decode = (measured[name]["throughput"]["value"] for name in ("llama_prefill", "llama_decode"))
    assert prefill > decode
