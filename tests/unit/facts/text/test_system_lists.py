"""Packages of rpm, pacman and apt, conda's builds, generations of WSL, docker inspect, dxdiag, `transformers env`."""

from __future__ import annotations

import pytest
from pasted_text import read


def test_rpm_rows_are_packages_with_version_and_release() -> None:
    facts = read(
        "$ rpm -qa | grep -i intel\nintel-compute-runtime-24.39.31294.12-1.fc41.x86_64\nintel-level-zero-24.39.31294.12-1.fc41.x86_64\n"
    )
    assert facts.value("packages")["intel-compute-runtime"] == "24.39.31294.12-1.fc41"
    assert facts.value("intel.compute_runtime.version") == "24.39.31294.12"


def test_pacman_rows_count_where_installed_packages_were_asked_for() -> None:
    asked = "$ pacman -Qs opencl\nlocal/clinfo 3.0.23.01.25-1\n    A program\nlocal/intel-compute-runtime 24.39.31294.12-1\n    A driver\n"
    assert set(read(asked).value("packages")) >= {"clinfo", "intel-compute-runtime"}
    assert read(asked.replace("-Qs", "-Ss").replace("local/", "extra/")).value("packages") is None


def test_apt_list_tells_installed_packages_only() -> None:
    facts = read("intel-opencl-icd/noble,now 23.43.27642.40-1ubuntu3 amd64 [installed]\nlibze1/noble 1.16.1-1 amd64\n")
    assert dict(facts.value("packages")) == {"intel-opencl-icd": "23.43.27642.40-1ubuntu3"}


def test_the_build_in_conda_list_tells_which_torch_it_is() -> None:
    head = "# packages in environment at /opt/conda/envs/p:\n#\n# Name                    Version                   Build  Channel\n"
    rows = "python           3.11.9           h955ad1f_0\npytorch          2.3.0           py3.11_cuda12.1_cudnn8.9.2_0\n"
    cuda = read(head + rows)
    assert cuda.value("torch.build") == "cuda" and cuda.value("python.version") == "3.11.9"
    assert read(head + "pytorch                   2.5.1           cpu_mkl_py312_hab1234_0    conda-forge\n").value("torch.build") == "cpu"


def test_wsl_list_tells_the_generation_of_the_default_distribution() -> None:
    table = (
        "PS C:\\Users\\me> wsl -l -v\n  NAME              STATE           VERSION\n"
        "  docker-desktop    Stopped         2\n* Debian            Running         {}\n"
    )
    assert read(table.format(2)).value("platform.kind") == "wsl2"
    assert read(table.format(1)).value("wsl.version") == 1


def test_docker_inspect_is_a_container_with_its_variables() -> None:
    facts = read(
        '[\n    {\n        "Config": {\n            "Env": [\n                "HSA_OVERRIDE_GFX_VERSION=10.3.0"\n'
        "            ]\n        }\n    }\n]\n"
    )
    assert facts.value("platform.kind") == "container" and facts.value("env.HSA_OVERRIDE_GFX_VERSION") == "10.3.0"
    assert "xpu-smi" not in facts.value("text.readers")


def test_dxdiag_names_card_driver_and_windows() -> None:
    facts = read(
        "         Operating System: Windows 11 Pro 64-bit (10.0, Build 22631) (22621.ni_release.220506-1250)\n"
        "           Card name: NVIDIA GeForce RTX 3060\n          Chip type: NVIDIA GeForce RTX 3060\n      Driver Version: 31.0.15.5186\n"
    )
    assert [gpu["name"] for gpu in facts.value("gpus")] == ["NVIDIA GeForce RTX 3060"]
    assert facts.value("nvidia.driver.version") == "551.86" and facts.value("windows.build") == 22631


def test_transformers_and_accelerate_env_name_packages_in_backticks() -> None:
    facts = read(
        "- `transformers` version: 4.40.1\n- Platform: Linux-6.5.0-28-generic-x86_64-with-glibc2.35\n"
        "- PyTorch version (GPU?): 2.3.0+cu121 (True)\n"
    )
    assert facts.value("python.distributions.transformers") == "4.40.1" and facts.value("torch.build") == "cuda"


def test_system_profiler_names_the_chip() -> None:
    facts = read("Graphics/Displays:\n    Apple M2 Pro:\n      Chipset Model: Apple M2 Pro\n      System Version: macOS 14.4 (23E214)\n")
    assert facts.value("gpu.vendors") == ["apple"] and facts.value("platform.kind") == "macos"


@pytest.mark.parametrize(
    "line",
    [
        "nvidia 0000:01:00.0: Direct firmware load for nvidia/580.95.05/gsp_ga10x.bin failed with error -2",
        "[    5.123456] nvidia 0000:01:00.0: Direct firmware load for nvidia/580.95.05/gsp_ga10x.bin failed with error -2",
        "amdgpu 0000:03:00.0: amdgpu: GPU reset begin!",
        "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x62:0xffff:2457)",
    ],
)
def test_lines_of_drivers_are_of_the_kernel_log(line: str) -> None:
    (kept,) = read(f"What is this?\n\n{line}\n").value("kernel.log")
    assert kept.endswith(line.rpartition("] ")[2])


@pytest.mark.parametrize(
    ("text", "family", "count"),
    [
        ("triton-windows 3.5.1.post22, torch 2.9.1", "triton", 1),
        ("Package        Version\n-------------- -------\nnumpy          1.26.4\ntriton-windows 3.5.1.post22\n", "triton", 1),
        ("triton==3.5.1\ntriton-windows==3.5.1.post22\n", "triton", 2),
        ("tensorflow   2.17.0\ntf-nightly   2.18.0.dev20240901\n", "tensorflow", 2),
        ("tensorflow   2.17.0\ntf-keras   2.17.0\n", "tensorflow", 1),
    ],
)
def test_distributions_with_the_same_modules_are_counted_as_they_are_called(text: str, family: str, count: int) -> None:
    assert read(text).value(f"python.{family}_family_count") == count
