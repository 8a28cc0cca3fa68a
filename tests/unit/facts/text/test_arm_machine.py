"""An Arm processor is known by what a tool answers or by the board; one that is only named beside is none."""

from __future__ import annotations

import pytest
from pasted_text import read


@pytest.mark.parametrize(
    "text",
    [
        "$ uname -m\naarch64\nImportError: libcuda.so.1: cannot open shared object file",
        "uname -m: aarch64\nno wheel is found",
        "Linux node 6.8.0-1018 #20 SMP aarch64 aarch64 aarch64 GNU/Linux\nit fails",
        "Architecture:                         aarch64\nit fails",
        "Raspberry Pi 5, Debian 12: it fails",
        "It fails on my Orange Pi 5",
        "It fails on an arm64 server",
        "Windows on ARM, Snapdragon X: it fails",
        "An instance with Graviton 4: it fails",
    ],
)
def test_the_processor_is_a_fact(text: str) -> None:
    assert read(text).value("platform.machine") in ("aarch64", "arm64")


@pytest.mark.parametrize(
    "text",
    [
        "It fails on my desktop, unlike my Raspberry Pi 5",
        "Feature request: support for aarch64",
        "docker buildx build --platform linux/amd64,linux/arm64 fails on an arm64 server",
        "pip install torch-2.9.0-cp312-cp312-manylinux_2_28_aarch64.whl fails",
        "x86_64 workstation, I also have an arm64 board",
    ],
)
def test_a_processor_that_is_only_named_is_none(text: str) -> None:
    assert not read(text).known("platform.machine")
