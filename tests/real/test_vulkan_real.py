"""Vulkan on this machine: Mesa's lavapipe computes on the processor, and everything on the way to it is real."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from environments import build

LAVAPIPE = next(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"), None)


def check(**variables: str) -> dict[str, object]:
    if LAVAPIPE is None or shutil.which("vulkaninfo") is None:
        pytest.fail("lavapipe or vulkaninfo is missing; .ci/packages installs mesa-vulkan-drivers and vulkan-tools")
    ran = subprocess.run(
        [sys.executable, "-m", "gpudoctor", "check", "--stack", "vulkan", "--format", "json"], capture_output=True, text=True,
        env={**os.environ, **variables}, check=False,
    )  # fmt: skip
    found = json.loads(ran.stdout)
    assert isinstance(found, dict)
    return found


def test_lavapipe_is_found_by_its_manifest_with_its_limits() -> None:
    report = check(VK_DRIVER_FILES=str(LAVAPIPE), VK_ICD_FILENAMES=str(LAVAPIPE))
    facts = report["facts"]["vulkan"]  # type: ignore[index]
    (device,) = facts["devices"]
    assert (device["driver"], device["type"], device["vendor"]) == ("lavapipe", "cpu", "cpu")
    assert device["storage_16bit"] is True and device["max_alloc_bytes"] >= 1 << 30 and device["memory_bytes"] > 0
    active = [icd for icd in facts["icds"] if icd["active"]]
    assert [(icd["file"], icd["exists"]) for icd in active] == [(str(LAVAPIPE), True)]


def test_a_manifest_whose_library_is_gone_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "radeon_icd.x86_64.json"
    broken.write_text(
        json.dumps({"file_format_version": "1.0.0", "ICD": {"library_path": str(tmp_path / "gone.so"), "api_version": "1.3.0"}})
    )
    files = f"{LAVAPIPE}:{broken}"
    report = check(VK_DRIVER_FILES=files, VK_ICD_FILENAMES=files)
    said = {finding["id"]: finding for finding in report["findings"]}  # type: ignore[attr-defined]
    assert str(broken) in said["vulkan-driver-library-missing"]["title"]


def test_a_variable_that_names_no_file_is_named(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone.json")
    report = check(VK_DRIVER_FILES=gone, VK_ICD_FILENAMES=gone)
    said = [finding["id"] for finding in report["findings"]]  # type: ignore[attr-defined]
    assert "vulkan-variable-names-no-file" in said


@pytest.mark.rotates("slow", member="Vulkan by wgpu")
def test_lavapipe_multiplies_and_adds_rightly_by_wgpu() -> None:
    asked = ["--device", "vulkan:0", "--workload", "matmul,memory_bandwidth,launch,resnet18", "--duration", "0.5", "--format", "json"]
    ran = subprocess.run(
        [sys.executable, "-m", "gpudoctor", "validate", *asked, "--python", str(build("wgpu"))], capture_output=True, text=True,
        env={**os.environ, "VK_DRIVER_FILES": str(LAVAPIPE), "VK_ICD_FILENAMES": str(LAVAPIPE)}, check=False,
    )  # fmt: skip
    rows = {row["workload"]: row for row in json.loads(ran.stdout)["measurements"]}
    assert {row["backend"] for row in rows.values()} == {"vulkan"} and "llvmpipe" in rows["matmul"]["device_name"]
    assert [rows[name]["status"] for name in ("matmul", "memory_bandwidth", "launch")] == ["ok"] * 3, ran.stdout
    assert 0 <= rows["matmul"]["correctness"]["max_relative_error"] < rows["matmul"]["correctness"]["tolerance"] < 1e-4
    assert rows["memory_bandwidth"]["correctness"]["max_relative_error"] == 0 and rows["launch"]["throughput"]["unit"] == "launches/s"
    skipped = {row["task"]: row["status"] for row in json.loads(ran.stdout)["measurements"] if row["workload"] == "resnet18"}
    assert set(skipped.values()) == {"skipped"}
