"""On what a pasted text runs: the host of Docker, a container, a pod, LXC, Windows or a Mac."""

from __future__ import annotations

import pytest
from pasted_text import read

_NO_DRIVER = 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].'


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"PS C:\\Users\\jo> docker run --gpus all ubuntu nvidia-smi\n{_NO_DRIVER}", "windows"),
        (f"Fedora 42\n$ docker run --gpus all nvidia/cuda:12.4.0-base-ubuntu22.04 nvidia-smi\n{_NO_DRIVER}", "linux"),
        (f"$ docker run --gpus all ubuntu nvidia-smi\n{_NO_DRIVER}", None),
        (f"MacBook Pro Intel 2019, Docker Desktop 4.30\n$ docker run --gpus all ubuntu\n{_NO_DRIVER}", "macos"),
        ("My MacBook Pro Intel with Docker Desktop: docker run ends with RuntimeError: No CUDA GPUs are available", "macos"),
        ("$ docker run --rm --gpus all ubuntu:22.04 python train.py\nRuntimeError: No CUDA GPUs are available", "container"),
        ("$ docker exec -it web bash\nroot@3f2a9c1b7d10:/# nvidia-smi\nFailed to initialize NVML: Unknown Error", "container"),
        ("root@3f2a9c1b7d10:/workspace# python a.py\nRuntimeError: No CUDA GPUs are available", "container"),
        ("root@pod:/app# python a.py\nRuntimeError: No CUDA GPUs are available", "container"),
        ("root@llm-7d9f8b6c5d-x2x9z:/# nvidia-smi\nFailed to initialize NVML: Unknown Error", "container"),
        ("$ kubectl exec -it llm-0 -- nvidia-smi\nFailed to initialize NVML: Unknown Error", "container"),
        ("I run ollama in an unprivileged LXC on Proxmox 8", "container"),
        ("My Proxmox host has no LXC, all is on the bare machine", None),
        ("root@gpu01:/home/jo# nvidia-smi\nFailed to initialize NVML: Unknown Error", None),
        ("jo@podium:~$ nvidia-smi\nFailed to initialize NVML: Unknown Error", None),
        ("C:/Program Files/CMake/share/cmake-3.29/Modules/FindCUDA.cmake:883 (message): could not find CUDA", "windows"),
        ("a.cu(3): fatal error C1083: Cannot open include file: 'cuda.h': No such file or directory", "windows"),
        ("Exception from src\\plugins\\intel_npu\\backends.cpp:90:\nno device", "windows"),
        ("Exception from src/plugins/intel_npu/backends.cpp:90:\nno device", None),
        ("a.cu:3:10: fatal error: cuda.h: No such file or directory", None),
    ],
)
def test_the_system_at_hand(text: str, kind: str | None) -> None:
    assert read(text).value("platform.kind") == kind


def test_the_host_of_a_container_does_not_have_the_system_of_the_image() -> None:
    facts = read(f"Fedora 42\n$ docker run --gpus all nvidia/cuda:12.4.0-base-ubuntu22.04 nvidia-smi\n{_NO_DRIVER}")
    assert facts.value("os.id") == "fedora"
    assert read(f"$ docker run --gpus all ubuntu:22.04 nvidia-smi\n{_NO_DRIVER}").value("os.id") is None
    assert read("$ docker run ubuntu:22.04 python a.py\nRuntimeError: No CUDA GPUs are available").value("os.id") == "ubuntu"


def test_lxc_is_named_as_such() -> None:
    assert read("Jellyfin in a privileged LXC container, RX 7900 XTX").value("container.kind") == "lxc"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("RX 7900 XTX, torch 2.9.1+rocm6.4", None),
        ("pip install torch --index-url https://download.pytorch.org/whl/rocm6.4", None),
        ("RX 7900 XTX, torch 2.9.1+rocm6.4, ROCm 7.1", "7.1"),
        ("RX 7900 XTX with ROCm 6.4.1", "6.4.1"),
    ],
)
def test_the_rocm_of_a_wheel_is_not_the_installed_one(text: str, version: str | None) -> None:
    assert read(text).value("rocm.version") == version
