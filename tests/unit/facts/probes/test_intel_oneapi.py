"""sycl-ls in all its styles, and which oneAPI a shell has."""

from __future__ import annotations

import pytest

from gpudoctor.facts.probes import intel_oneapi

OLD = """[opencl:acc:0] Intel(R) FPGA Emulation Platform for OpenCL(TM), Intel(R) FPGA Emulation Device 1.2 [2023.15.3.0.20_160000]
[opencl:cpu:1] Intel(R) OpenCL, 12th Gen Intel(R) Core(TM) i5-12400 3.0 [2023.15.3.0.20_160000]
[opencl:gpu:2] Intel(R) OpenCL Graphics, Intel(R) Arc(TM) A380 Graphics 3.0 [23.05.25593.18]
[ext_oneapi_level_zero:gpu:0] Intel(R) Level-Zero, Intel(R) Arc(TM) A380 Graphics 1.3 [1.3.25593]
"""
NEW = """[level_zero:gpu][level_zero:0] Intel(R) oneAPI Unified Runtime over Level-Zero, Intel(R) Arc(TM) B570 Graphics 20.1 [1.6.33578+11]
[opencl:gpu][opencl:0] Intel(R) OpenCL Graphics, Intel(R) Arc(TM) B570 Graphics OpenCL 3.0 NEO  [25.18.33578]
"""


def test_old_style() -> None:
    devices = intel_oneapi.parse_sycl_ls(OLD)
    assert [(d["backend"], d["type"], d["index"]) for d in devices] == [
        ("opencl", "accelerator", 0), ("opencl", "cpu", 1), ("opencl", "gpu", 2), ("level_zero", "gpu", 0),
    ]  # fmt: skip
    assert devices[3]["name"] == "Intel(R) Arc(TM) A380 Graphics"
    assert devices[2]["driver"] == "23.05.25593.18"


def test_new_style() -> None:
    first, second = intel_oneapi.parse_sycl_ls(NEW)
    assert (first["backend"], first["type"], first["index"], first["driver"]) == ("level_zero", "gpu", 0, "1.6.33578+11")
    assert first["name"] == second["name"] == "Intel(R) Arc(TM) B570 Graphics"


@pytest.mark.parametrize("text", ["", "\x00", "[", "[opencl:gpu:x] y", "Platforms: 0"])
def test_odd_output_lists_nothing(text: str) -> None:
    assert intel_oneapi.parse_sycl_ls(text) == []


def test_versions_are_sorted_by_number() -> None:
    assert intel_oneapi.versions_in(["latest", "2024.2", "2023.1.0", "2024.10.1", "env"]) == ["2023.1.0", "2024.2", "2024.10.1"]


def test_active_version_from_paths() -> None:
    assert intel_oneapi.active_version(None, "/opt/intel/oneapi/compiler/2023.1.0/linux/lib:/usr/lib") == "2023.1.0"
    assert intel_oneapi.active_version("/opt/intel/oneapi/compiler/latest", None) is None
