"""Which GPU a text names: not its processor's maker, and no card that stands for others."""

from __future__ import annotations

import pytest
from pasted_text import read

from gpudoctor.model.facts import Unknown


@pytest.mark.parametrize(
    "text",
    [
        "CPU: AMD Ryzen 9 5950X 16-Core Processor", "CPU: Intel(R) Core(TM) i7-13700K", "Hardware: Intel(R) Core(TM) i7-1185G7 @ 3.00GHz",
        "Processor: Intel(R) Xeon(R) Gold 6248R CPU @ 3.00GHz", "GPU: AMD Ryzen 9 7950X 16-Core Processor",
        "Hardware: Intel Core Ultra 7 155H", "Device: Intel(R) Pentium(R) Silver N6000", "platform: Intel(R) OpenCL",
    ],
)  # fmt: skip
def test_a_processor_is_no_gpu(text: str) -> None:
    assert isinstance(read(text).get("gpus"), Unknown)


@pytest.mark.parametrize(
    ("text", "vendor"),
    [
        ("CPU: AMD Ryzen 7 7840U w/ Radeon 780M Graphics", "amd"), ("AMD Ryzen 7 5800H with Radeon Graphics", "amd"),
        ("Graphics: AMD Radeon(TM) Graphics", "amd"), ("System: NUC with Core i5-1135G7, Iris Xe", "intel"),
        ("GPU: Intel(R) UHD Graphics 770", "intel"),
    ],
)  # fmt: skip
def test_the_gpu_inside_a_processor_is_integrated(text: str, vendor: str) -> None:
    assert [(gpu["vendor"], gpu["kind"]) for gpu in read(text).value("gpus")] == [(vendor, "integrated")]


@pytest.mark.parametrize(
    "text",
    [
        "It works on cards such as an RTX 3090.", "Unlike my A770, it is slow", "Any GPU will do (e.g. RTX 4090)",
        "It should work with any GPU, for example the Radeon RX 7900 XTX.", "Compared to an A100 this is slow", "I do not have an RTX 4090",
        "It requires a GPU like RTX 3090 or better", "My colleague's A770 is fine",
    ],
)  # fmt: skip
def test_an_example_is_not_the_card_at_hand(text: str) -> None:
    assert isinstance(read(text).get("gpus"), Unknown)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("It fails on my RTX 3060, whereas on a friend's RTX 4090 it works", "RTX 3060"),
        ("My old GTX 1080 was fine, the RTX 5070 Ti is not", "RTX 5070 Ti"),
        ("It fails, for example on my RTX 3060", "RTX 3060"), ("It takes the processor instead of my A770", "A770"),
        ("Arc A770 is slow vs. an RTX 3060", "Arc A770"),
        ("My laptop's Radeon 780M runs out of memory", "Radeon 780M"),
    ],
)  # fmt: skip
def test_the_card_at_hand_is_kept_beside_another(text: str, name: str) -> None:
    assert [gpu["name"] for gpu in read(text).value("gpus")] == [name]


def test_what_pythons_prompt_answers_is_read() -> None:
    facts = read('>>> import torch\n>>> torch.__version__\n"2.7.1+cpu"\n>>> torch.cuda.is_available()\nFalse\n')
    assert facts.value("torch.build") == "cpu" and facts.value("python.frameworks.torch.devices") == []
    both = read("$ python -c 'import torch; print(torch.__version__, torch.cuda.is_available())'\n2.7.1+cpu False\n")
    assert both.value("torch.build") == "cpu" and isinstance(both.get("gpus"), Unknown)


def test_the_compiler_of_the_kernel_is_no_system() -> None:
    text = "[    0.000000] Linux version 6.5.0-28-generic (gcc-12 (Ubuntu 12.3.0-1ubuntu1~22.04) 12.3.0) #29~22.04.1-Ubuntu SMP"
    assert read(text).value("os.version") is None
    assert read("Kernel built by gcc (Debian 12.2.0-14) 12.2.0, RTX 3060").value("os.version") is None
    assert read("RTX 3060 on Ubuntu 22.04.4-LTS").value("os.version") == "22.04"


def test_a_name_that_a_table_cuts_is_the_card_whose_name_begins_so() -> None:
    row = "|   0  NVIDIA GeForce RTX 4070 ...    Off |   00000000:01:00.0  On |                  N/A |"
    assert [gpu["name"] for gpu in read(f"{row}\nGPU 0: NVIDIA GeForce RTX 4070 Ti").value("gpus")] == ["NVIDIA GeForce RTX 4070 Ti"]
    assert len(read(f"{row}\nGPU 0: NVIDIA GeForce RTX 3060").value("gpus")) == 2
    assert len(read(f"{row}\n").value("gpus")) == 1


def test_a_remark_in_brackets_is_no_part_of_a_name_and_its_id_no_second_card() -> None:
    (card,) = read("- GPU: Intel Arc A750 (DG2, PCI ID `8086:56a1`)\n- Kernel driver: i915\n").value("gpus")
    assert card["name"] == "Intel Arc A750"


def test_a_driver_is_no_card() -> None:
    assert [gpu["name"] for gpu in read("GeForce driver 566.03 with an RTX 4080, GeForce Experience is off").value("gpus")] == ["RTX 4080"]
