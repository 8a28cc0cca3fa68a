"""A Jetson is known by its board, its JetPack or the release of its Linux; one that is only named beside is none."""

from __future__ import annotations

import pytest
from pasted_text import read


@pytest.mark.parametrize(
    ("text", "module", "jetpack"),
    [
        ("Jetson Orin Nano with JetPack 6.2, the loader stops", "Jetson Orin Nano", "6.2"),
        ("My Jetson AGX Xavier, L4T 35.4.1", "Jetson AGX Xavier", "5"),
        ("$ cat /etc/nv_tegra_release\n# R36 (release), REVISION: 4.0, GCID: 1, BOARD: generic", "Jetson", "6"),
        ("Linux orin 5.15.148-tegra #1 SMP PREEMPT aarch64 GNU/Linux\ntorch.cuda.is_available() is False", "Jetson", None),
        ("It fails on the AGX Orin (JetPack: 5.1.2)", "Jetson AGX Orin", "5.1.2"),
    ],
)
def test_the_board_is_a_fact(text: str, module: str, jetpack: str | None) -> None:
    facts = read(text)
    assert facts.value("jetson.module") == module
    assert facts.value("jetson.jetpack") == jetpack
    assert facts.value("platform.kind") == "linux"


@pytest.mark.parametrize(
    "text",
    [
        "RTX 3060, the loader stops",
        "The RTX 3060 is slow, unlike my Jetson Orin",
        "Feature request: support for Jetson",
        "pip install onnxruntime-gpu --index-url https://pypi.jetson-ai-lab.io/jp6/cu126",
    ],
)
def test_a_board_that_is_only_named_is_none(text: str) -> None:
    assert not read(text).known("jetson.module")


def test_a_jetson_gets_no_wheel_and_no_driver_of_the_desktop() -> None:
    facts = read("Jetson Orin Nano with JetPack 6.2 on Ubuntu 22.04, the loader stops")
    assert facts.value("index.cuda") == "https://pypi.jetson-ai-lab.io/jp6/cu126"
    assert not facts.known("nvidia.want.command")
    assert not read("Jetson Xavier NX with JetPack 5.1 on Ubuntu 20.04").known("index.cuda")
    assert "pytorch.org" in read("Jetson AGX Thor with JetPack 7.0").value("index.cuda")
    assert read("GeForce RTX 3060 on Ubuntu 22.04").known("nvidia.want.command")
