"""What a text says of versions and cards that are not those of the machine at hand gives no facts of it."""

from __future__ import annotations

import pytest
from pasted_text import read


def packages(text: str) -> dict[str, str]:
    return dict(read(text).value("python.distributions") or {})


def cards(text: str) -> list[str]:
    return [gpu["name"] for gpu in read(text).value("gpus") or []]


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("I changed from a RX 6800 to an RX 7900 XT", ["RX 7900 XT"]),
        ("I switched to an RX 7900 XT from an RX 6800", ["RX 7900 XT"]),
        ("I replaced my GTX 1080 with an RTX 4070", ["RTX 4070"]),
        ("I upgraded the driver of my RTX 3090 to 570", ["RTX 3090"]),
        ("I moved my RTX 3090 to another slot", ["RTX 3090"]),
    ],
)
def test_a_card_that_was_exchanged_is_no_more_there(text: str, there: list[str]) -> None:
    assert cards(text) == there


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("**GPU:** Radeon RX 7900 XTX** (24 GB)", "Radeon RX 7900 XTX"),
        ("GPU: NVIDIA GeForce RTX 4090 (24 GB)", "NVIDIA GeForce RTX 4090"),
        ("- GPU: **RTX 5090**(laptop)", "RTX 5090"),
        ("GPU: DG2 (Arc A770)", "DG2 (Arc A770)"),
    ],
)
def test_a_product_ends_at_an_emphasis_or_a_remark(text: str, name: str) -> None:
    assert cards(text) == [name]


def test_a_table_of_releases_is_no_list_of_what_is_installed() -> None:
    table = "Which releases go together:\nplayer 3.4  torch 2.0.1  torchvision 0.15.2\nplayer 3.2  torch 1.13.1  torchvision 0.14.1\n"
    assert not packages(table)
    assert packages(table + "\nHere is torch 2.0.1 with transformers 4.30.2.") == {"torch": "2.0.1", "transformers": "4.30.2"}


def test_pins_of_several_releases_are_no_fact() -> None:
    assert not packages("pip install torch==2.0.1\nor\npip install torch==1.13.1")
    assert packages("pip install torch==2.0.1") == {"torch": "2.0.1"}


def test_the_version_in_a_title_is_not_of_the_listed_installation() -> None:
    assert packages("torch 2.6 breaks my loader\n\ntorchvision==0.20.1\nnumpy==2.1.0") == {"torchvision": "0.20.1", "numpy": "2.1.0"}
    assert packages("torch 2.6 breaks my loader\n\nIt stops at once.") == {"torch": "2.6"}


def test_how_a_package_came_is_no_second_package() -> None:
    form = "- TensorFlow installed from (source or binary): pip install tensorflow-gpu==1.14\n- TensorFlow version: 1.14.0"
    assert packages(form) == {"tensorflow": "1.14.0"}


def test_a_module_below_an_installed_package_is_a_matter_of_versions() -> None:
    def families(module: str) -> list[str]:
        place = '  File "/usr/lib/python3/site-packages/optimum/onnxruntime.py", line 3, in <module>'
        text = f"Traceback (most recent call last):\n{place}\nModuleNotFoundError: No module named '{module}'"
        return [failure["family"] for failure in read(text).value("python.import_failures") or []]

    assert families("optimum.version") == ["missing-part"]
    assert families("sympy") == families("google.protobuf") == families("nvidia.cublas") == ["missing-module"]


def test_the_torch_of_the_partner_that_a_resolver_was_asked_for() -> None:
    facts = read("ERROR: Could not find a version that satisfies the requirement torchvision==0.14.1+cu117 (from versions: none)")
    assert (facts.value("pairs.torch"), facts.value("pairs.index")) == ("1.13.1", "https://download.pytorch.org/whl/cu117")
    assert read("ERROR: No matching distribution found for torchaudio==2.5.1").value("pairs.torch") == "2.5.1"
    assert read("ERROR: No matching distribution found for torchaudio==99.1").value("pairs.torch") is None


def test_a_runtime_of_any_language_is_no_python_package() -> None:
    for text in ("I use onnxruntime 1.11.0 in Java", "onnxruntime: 1.11.0", "ONNX Runtime Version: 1.11.0"):
        assert "onnxruntime" not in packages(f"The model runs on the CPU.\n{text}")
    for text in ("onnxruntime==1.11.0", "Package Version\n------- -------\nonnxruntime 1.11.0", "onnxruntime   1.11.0"):
        assert packages(f"The model runs on the CPU.\n{text}") == {"onnxruntime": "1.11.0"}
    assert packages("Both:\nonnxruntime 1.2.0\nonnxruntime-gpu 1.2.0") == {"onnxruntime": "1.2.0", "onnxruntime-gpu": "1.2.0"}
    assert packages("It runs on the CPU.\nonnxruntime-directml: 1.17.0") == {"onnxruntime-directml": "1.17.0"}


def test_a_build_is_supplied_for_releases_of_ipex_alone() -> None:
    name = "intel-extension-for-pytorch"
    assert packages("IPEX 2.1.10 fails on my Arc A770") == {name: "2.1.10+xpu"}
    assert packages("IPEX 1.11.08 fails on my Arc A770") == {name: "1.11.08"}


def test_one_card_in_two_spellings_is_one_card() -> None:
    assert cards("My RTX 4090 is slow\n\nThe NVIDIA GeForce RTX 4090 has 24 GB.") == ["RTX 4090"]
    assert cards("An Arc A770 is here\n\nIntel(R) Arc(TM) A770 Graphics is slow.") == ["Arc A770"]
    assert len(cards("My RTX 4090 and RTX 4080 are slow")) == 2


def test_the_module_names_the_processor() -> None:
    assert read("torch.cuda.is_available() is False on my Jetson Orin").value("platform.machine") == "aarch64"
    assert not read("A Jetson Orin and an RTX 4090, both fail").known("platform.machine")
    assert not read("My RTX 4090 fails").known("platform.machine")


def test_the_system_is_known_where_one_is_named() -> None:
    for text in ("I use Windows 11 and an RTX 4090", "Docker Desktop, Windows 11", "It fails on Windows 11 with an RTX 4090."):
        assert read(f"The loader stops\n{text}").value("platform.kind") == "windows"
    assert read("It works on Windows 11 and fails on Ubuntu 22.04").value("platform.kind") == "linux"
    assert not read("It was seen on Windows 11 and on Ubuntu 22.04").known("platform.kind")
    assert read("Ubuntu 22.04 in WSL2 on Windows 11").value("platform.kind") == "wsl2"


@pytest.mark.parametrize(
    ("command", "version"),
    [
        ("pip install torch==2.7.0 --index-url https://download.pytorch.org/whl/xpu", "2.7.0+xpu"),
        ("pip install torch==2.9.1 -i https://download.pytorch.org/whl/cu128/", "2.9.1+cu128"),
        ("pip install torch==2.8.0 --index-url=https://download.pytorch.org/whl/test/rocm6.4", "2.8.0+rocm6.4"),
        ("pip install torch==2.7.0+cpu --index-url https://download.pytorch.org/whl/xpu", "2.7.0+cpu"),
        ("pip install torch==2.7.0 --index-url https://mirror.example.org/whl/xpu", "2.7.0"),
    ],
)
def test_a_pinned_torch_is_the_wheel_of_the_index_that_its_command_names(command: str, version: str) -> None:
    assert packages(command) == {"torch": version}


def test_a_command_that_pins_another_torch_installs_nothing_here() -> None:
    cure = "An older release works:\n\npip install torch==2.3.1 torchvision==0.18.1 numpy==1.26.4"
    here = packages(f"- PyTorch: 2.8.0+cu128\n{cure}")
    assert here["torch"] == "2.8.0+cu128" and not {"torchvision", "numpy"} & set(here)
    assert packages(f"It fails.\n{cure}") == {"torch": "2.3.1", "torchvision": "0.18.1", "numpy": "1.26.4"}
    assert packages("- PyTorch: 2.8.0+cu128\npip install torch==2.8.0 torchvision==0.23.0")["torchvision"] == "0.23.0"


def test_a_link_names_no_system_and_no_card() -> None:
    text = read("The announcement is at https://cachyos.org/blog/ and https://tracker.example/rtx-5090-hangs\n")
    assert text.value("platform.kind") is None
    assert text.value("gpus") is None
