"""The system of another computer, of a page or of a list is not that of the machine at hand."""

from __future__ import annotations

import pytest
from pasted_text import read


@pytest.mark.parametrize(
    "text",
    [
        "I ssh from my MacBook into the box. torch.cuda.is_available() returns False.",
        "The README says macOS and Linux are supported. My RTX 3060 is not found.",
        "Supported platforms: Linux, macOS, Windows",
        "On my MacBook the same script works, on the server with an A100 it fails",
        "I use VS Code on macOS with the remote extension, the node runs Slurm",
        "It works on macOS. On my desktop it crashes.",
        "The docs mention Windows only; the card is an RX 7900 XTX",
        "I connect with PuTTY from Windows 11 to the server, nvidia-smi there says no devices",
        "My laptop runs Windows 11, the training is on a cluster node",
        "The server is reached from a Mac mini over ssh; the card is an RTX 3090",
        "Is there a wheel for Windows?",
        "Unlike Windows, the loader stops",
    ],
)
def test_a_system_that_is_elsewhere_is_no_fact(text: str) -> None:
    facts = read(text)
    assert not facts.known("platform.kind")
    assert "apple" not in facts.value("text.vendors")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("MacBook Pro M3, mps is slow", "macos"),
        ("macOS 14.5, torch 2.4: the run stops", "macos"),
        ("OS: macOS 14.5 (arm64)", "macos"),
        ("I get 'MPS backend out of memory' with every image", "macos"),
        ("It does not work on Windows 11", "windows"),
        ("Nothing works on Windows 11", "windows"),
        ("The build on Windows 11 fails", "windows"),
        ("Tested on Ubuntu 22.04 with an RTX 3060", "linux"),
        ("It works in WSL2 but not on native Ubuntu 22.04", "linux"),
        ("I ran it on Windows 11 and it stops", "windows"),
        ("not WSL, plain Ubuntu", "linux"),
        ("I'm on WSL2 with an RTX 3080", "wsl2"),
        ("Windows 11 with WSL2 and Ubuntu 22.04", "wsl2"),
    ],
)
def test_the_system_at_hand_is(text: str, kind: str) -> None:
    assert read(text).value("platform.kind") == kind


def test_what_is_not_in_a_container_is_in_none() -> None:
    assert not read("Not in a container. I run it in a venv.").known("container.kind")
    assert read("It stops inside the container").value("platform.kind") == "container"
    assert read("It stops in an nvidia-docker container").value("platform.kind") == "container"


def test_the_prompt_says_where_a_message_comes_from_although_the_text_describes_the_host() -> None:
    host = "Operating System: Debian GNU/Linux 12\n  Kernel: Linux 6.1.0-18-amd64\n"
    assert read(f"{host}(container) $ clinfo -l\n").value("platform.kind") == "container"
    assert read(f"{host}$ clinfo -l\n").value("platform.kind") == "linux"
