"""GPUs as lspci without numbers, rocm-smi, amd-smi, intel_gpu_top and gc-monitor print them."""

from __future__ import annotations

import pytest
from pasted_text import read

from gpudoctor.facts.text.cleaning import lines_of, unquoted
from gpudoctor.facts.text.device_tools import product_of
from gpudoctor.facts.text.reading import take


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Intel Corporation DG2 [Arc A770] (rev 08)", ("intel", "Arc A770")),
        ("NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1)", ("nvidia", "GeForce RTX 3090")),
        ("Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 [Radeon RX 7900 XTX] (rev c8)", ("amd", "Radeon RX 7900 XTX")),
        ("Intel Corporation AlderLake-S GT1 (rev 0c)", ("intel", "AlderLake-S GT1")),
        ("ASPEED Technology, Inc. ASPEED Graphics Family (rev 41)", None),
    ],
)
def test_lspci_names_maker_chip_and_product(name: str, expected: tuple[str, str] | None) -> None:
    assert product_of(name) == expected


def test_lspci_without_numbers_gives_the_gpus_of_a_linux_machine() -> None:
    facts = read(
        "$ lspci | grep -i vga\n"
        "00:02.0 VGA compatible controller: Intel Corporation DG2 [Arc A770] (rev 08)\n"
        "03:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] Navi 22 [Radeon RX 6700/6700 XT] (rev c1)\n"
    )
    assert facts.value("gpu.vendors") == ["amd", "intel"] and facts.value("platform.kind") == "linux"
    assert facts.value("gpus")[0]["generation"] == "Alchemist"


def test_lspci_does_not_outweigh_what_says_container() -> None:
    facts = read("docker run -it --device=/dev/dri image\n00:02.0 VGA compatible controller: Intel Corporation DG2 [Arc A750] (rev 08)\n")
    assert facts.value("platform.kind") == "container"


def test_rocm_smi_names_the_card_and_its_target() -> None:
    facts = read(
        "======================= ROCm System Management Interface =======================\n"
        "================================= Product Info =================================\n"
        "GPU[0]\t\t: Card Series: \t\tNavi 31 [Radeon RX 7900 XT/7900 XTX/7900M]\n"
        "GPU[0]\t\t: Card Model: \t\t0x744c\n"
        "GPU[0]\t\t: GFX Version: \t\tgfx1100\n"
    )
    (gpu,) = facts.value("gpus")
    assert (gpu["vendor"], gpu["gfx"], gpu["generation"]) == ("amd", "gfx1100", "RDNA3")


def test_amd_smi_names_the_card_and_rocm() -> None:
    facts = read(
        "AMDSMI Tool: 25.4.2+aca1101 | AMDSMI Library version: 25.4.0 | ROCm version: 6.4.1 | amdgpu version: 6.12.12\n"
        "GPU: 0\n    ASIC:\n        MARKET_NAME: AMD Radeon RX 9070 XT\n        VENDOR_ID: 0x1002\n        DEVICE_ID: 0x7550\n"
        "        TARGET_GRAPHICS_VERSION: gfx1201\n"
    )
    (gpu,) = facts.value("gpus")
    assert (gpu["name"], gpu["gfx"]) == ("AMD Radeon RX 9070 XT", "gfx1201")
    assert facts.value("rocm.version") == "6.4.1"


def test_a_card_without_a_name_is_known_by_its_number() -> None:
    facts = read("GPU[0]\t\t: Card series: \t\t0x744c\nGPU[0]\t\t: Card model: \t\t0x744c\n")
    assert facts.value("gpus")[0]["gfx"] == "gfx1100"


def test_the_list_of_intel_gpu_top_gives_pci_numbers() -> None:
    facts = read(
        "$ sudo intel_gpu_top -L\ncard1                    Intel Dg2 (Gen12)                 "
        "pci:vendor=8086,device=56A0,card=0\n└─renderD128\n"
    )
    (gpu,) = facts.value("gpus")
    assert (gpu["vendor"], gpu["generation"]) == ("intel", "Alchemist")


def test_gc_monitor_is_recognised() -> None:
    evidence, _ = take(unquoted(lines_of("+-----+\n|  gc-monitor   |  Partition: p4 [active] has 4 reconfigurable IPUs |\n+-----+\n")))
    assert "gc-monitor" in evidence.recognised and ("gc-monitor",) in evidence.commands
