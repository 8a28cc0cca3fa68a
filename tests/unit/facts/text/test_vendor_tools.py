"""rocm-smi, amd-smi, rocminfo, intel_gpu_top, xpu-smi, nvidia-smi's csv and Graphcore's tools, in the forms in which people paste them."""

from __future__ import annotations

import pytest
from pasted_text import read

from gpudoctor.model.facts import Known, Unknown


def test_the_concise_table_of_rocm_smi_names_cards_by_their_ids() -> None:
    facts = read(
        "$ rocm-smi\n====== ROCm System Management Interface ======\nDevice  Node  IDs              Temp\n"
        "0       1     0x744c,   12345  40.0°C  20.0W\n1       2     0x73bf,   23456  40.0°C  20.0W\n"
    )
    assert [gpu["gfx"] for gpu in facts.value("gpus")] == ["gfx1100", "gfx1030"]
    assert facts.value("text.readers") == ["rocm-smi"]


@pytest.mark.parametrize(
    "text",
    [
        '$ rocm-smi --showproductname --json\n{"card0": {"Card Series": "AMD Radeon RX 7900 XTX", "Card Model": "0x744c"}}\n',
        "$ rocm-smi --showproductname --csv\ndevice,Card Series,Card Model\ncard0,AMD Radeon RX 7900 XTX,0x744c\n",
        "$ amd-smi static --asic --csv\ngpu,market_name,vendor_id,device_id\n0,AMD Radeon RX 7900 XTX,0x1002,0x744c\n",
        '$ amd-smi static --json\n[{"gpu": 0, "asic": {"market_name": "AMD Radeon RX 7900 XTX"}, "driver": {"version": "6.12.12"}}]\n',
        "+----+\n| AMD-SMI 26.0.0  amdgpu version: 6.12.12  ROCm version: 7.0.0 |\n| 0000:03:00.0 AMD Radeon RX 7900 XTX | 0 % |\n+---+\n",
    ],
    ids=["rocm-smi json", "rocm-smi csv", "amd-smi csv", "amd-smi json", "amd-smi table"],
)
def test_each_form_of_amds_tools_names_the_card(text: str) -> None:
    facts = read(text)
    (gpu,) = facts.value("gpus")
    assert (gpu["name"], gpu["gfx"]) == ("AMD Radeon RX 7900 XTX", "gfx1100")
    assert facts.value("text.readers") == [text.split()[1] if text[0] == "$" else "amd-smi"]
    assert facts.value("nvidia.smi.tool") is None
    if "6.12.12" in text:
        assert facts.value("amd.driver.version") == "6.12.12"


def test_rocminfo_tells_agents_and_errors_without_another_sign_of_amd() -> None:
    agent = "*****\nAgent 1\n*****\n  Name:      gfx1201\n  Marketing Name:     AMD Radeon RX 9070\n  Device Type:    GPU\n"
    facts = read(f"$ rocminfo\nROCk module is loaded\nHSA Agents\n{agent}")
    assert [agent["gfx"] for agent in facts.value("rocm.agents")] == ["gfx1201"]
    assert "Permission denied" in read("$ rocminfo\nROCk module is loaded\nUnable to open /dev/kfd read-write: Permission denied\n").value(
        "rocm.rocminfo.error"
    )


def test_the_screen_of_intel_gpu_top_names_the_chip_and_a_screen_behind_a_known_card_adds_none() -> None:
    screen = "intel-gpu-top: Intel Alderlake_p (Gen12) @ /dev/dri/card0 -  800/ 800 MHz;  40% RC6;  3.1/ 9.9 W;  12 irqs/s\n"
    facts = read(f"$ sudo intel_gpu_top\n{screen}")
    assert facts.value("gpu.vendors") == ["intel"] and facts.value("platform.kind") == "linux"
    both = read(f"$ lspci\n03:00.0 VGA compatible controller: Intel Corporation DG2 [Arc A750] (rev 08)\n$ sudo intel_gpu_top\n{screen}")
    assert [gpu["name"] for gpu in both.value("gpus")] == ["Arc A750 Graphics"]


def test_xpu_smi_lists_devices_with_their_fields_and_its_tables_are_not_those_of_nvidia() -> None:
    facts = read(
        "$ xpu-smi discovery\n+----+------+\n| Device ID | Device Information |\n+----+------+\n"
        "| 0  | Device Name: Intel(R) Data Center GPU Flex 140   |\n|    | PCI BDF Address: 0000:3a:00.0  |\n"
        "|    | DRM Device: /dev/dri/card1 |\n+----+------+\n"
    )
    (device,) = facts.value("xpu_smi.devices")
    assert (device["index"], device["address"], device["card_node"]) == (0, "0000:3a:00.0", "/dev/dri/card1")
    assert facts.value("gpus")[0]["generation"] == "Flex" and facts.value("text.readers") == ["xpu-smi discovery"]
    stats = read("$ xpu-smi stats -d 0\n+----+----+\n| Device ID  | 0   |\n| GPU Utilization (%)  | 12  |\n+----+----+\n")
    assert stats.value("text.readers") == ["xpu-smi stats"]


def test_the_error_of_xpu_smi_is_one_of_xpu_smi_and_errors_of_others_are_not() -> None:
    assert read("$ xpu-smi discovery\nError: No device discovered\n").value("xpu_smi.error") == "No device discovered"
    assert read("$ xpu-smi -v\nv1.2\n$ ollama run x\nError: model not found\n").value("xpu_smi.error") is None


def test_queries_of_nvidia_smi_are_read_by_their_columns() -> None:
    facts = read(
        "name, memory.total [MiB], driver_version\nNVIDIA GeForce RTX 5070 Ti, 16303 MiB, 576.88\n"
        "NVIDIA GeForce RTX 3090, 24576 MiB, 576.88\n"
    )
    assert facts.value("nvidia.driver.version") == "576.88"
    assert [card["memory_bytes"] for card in facts.value("nvidia.devices")] == [16303 * 2**20, 24576 * 2**20]
    bare = read("$ nvidia-smi --query-gpu=driver_version,name --format=csv,noheader\n535.183.01, NVIDIA L4\n")
    assert bare.value("nvidia.driver.version") == "535.183.01" and bare.value("gpus")[0]["compute_capability"] == "8.9"


def test_attributes_of_ipus_are_devices_with_architecture_and_error_state() -> None:
    attributes = "id: {}\n target: PCIe\n board type: C2\n ipu architecture: ipu1\n ipu error state: parity error\n pci id: 0000:{}a:00.0\n"
    facts = read("$ gc-info -i -d 0\nDevice Info:\n" + attributes.format(0, 1))
    assert facts.value("poplar.architecture") == "ipu1" and facts.value("poplar.error_state") == "parity error"
    both = read("$ gc-inventory\n" + attributes.format(0, 1) + attributes.format(1, 2))
    assert [device["address"] for device in both.value("poplar.devices")] == ["0000:1a:00.0", "0000:2a:00.0"]


def test_plain_lspci_of_an_ipu_card_is_a_card_on_the_bus() -> None:
    card = "1a:00.0 Processing accelerators: Graphcore Ltd Colossus GC2 [C2] (rev 01)"
    facts = read(f"$ lspci\n{card}\n$ lsmod\nModule  Size  Used by\next4  99  1\n")
    assert [card["address"] for card in facts.value("poplar.cards")] == ["0000:1a:00.0"]
    assert facts.value("poplar.driver.loaded") is False and facts.value("poplar.present") is True


def test_a_text_that_does_not_show_the_shell_proves_no_missing_sdk() -> None:
    silent = read("poptorch 3.3.0\ntorch 2.0.1\n")
    assert all(isinstance(silent.get(f"poplar.sdk.{name}"), Unknown) for name in ("enabled", "installed", "version"))
    shown = read("$ env\nPOPLAR_SDK_ENABLED=/opt/poplar_sdk-ubuntu_20_04-3.3.0/poplar\nHOME=/home/u\n")
    assert shown.value("poplar.sdk.enabled") is True and isinstance(shown.get("poplar.sdk.version"), Known)


def test_drivers_below_plain_lspci_and_in_lshw_and_inxi_belong_to_their_cards() -> None:
    listed = read(
        "$ lspci -k\n00:02.0 VGA compatible controller: Intel Corporation Raptor Lake-S GT1 [UHD Graphics 770] (rev 04)\n"
        "\tKernel driver in use: i915\n\tKernel modules: i915, xe\n"
        "01:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 40GB] (rev a1)\n\tSubsystem: X\n\tKernel modules: nouveau\n"
        "02:00.0 VGA compatible controller: NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1)\n"
    )
    drivers = {gpu["name"]: gpu["driver"] for gpu in listed.value("gpus")}
    assert drivers["UHD Graphics 770"] == "i915" and drivers["A100 PCIe 40GB"] is None
    assert isinstance(drivers["GeForce RTX 3090"], Unknown)
    lshw = read("  *-display\n    product: DG2 [Arc A770]\n    vendor: Intel Corporation\n    configuration: driver=xe latency=0\n")
    assert [(gpu["name"], gpu["driver"]) for gpu in lshw.value("gpus")] == [("Arc A770 Graphics", "xe")]
    inxi = read("Graphics:\n  Device-1: NVIDIA AD104 [GeForce RTX 4070] driver: nouveau v: kernel\n")
    assert [(gpu["name"], gpu["driver"]) for gpu in inxi.value("gpus")] == [("GeForce RTX 4070", "nouveau")]


def test_lspci_without_k_proves_no_missing_driver() -> None:
    card = "03:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 [Radeon RX 7900 XTX] [1002:744c]\n"
    (gpu,) = read(f"$ lspci -nn\n{card}").value("gpus")
    assert isinstance(gpu["driver"], Unknown)
    (bound,) = read(f"$ lspci -nnk\n{card}\tKernel driver in use: amdgpu\n").value("gpus")
    assert bound["driver"] == "amdgpu"
    (free,) = read(f"$ lspci -nnk\n{card}\tKernel modules: amdgpu\n").value("gpus")
    assert free["driver"] is None


def test_memory_regions_of_lspci_v_tell_the_window_of_a_card() -> None:
    facts = read(
        "$ lspci -nnvk\n03:00.0 VGA compatible controller [0300]: Intel Corporation DG2 [Arc A770] [8086:56a0] (rev 08)\n"
        "\tMemory at 80000000 (64-bit, non-prefetchable) [size=16M]\n\tMemory at 4000000000 (64-bit, prefetchable) [size=256M]\n"
        "\tKernel driver in use: i915\n"
    )
    assert facts.value("gpus")[0]["bar_bytes"] == 256 * 2**20


def test_the_xml_of_nvidia_smi_is_read_by_the_probe() -> None:
    facts = read(
        '$ nvidia-smi -q -x\n<?xml version="1.0" ?>\n<nvidia_smi_log>\n<driver_version>550.54.15</driver_version>\n'
        "<cuda_version>12.4</cuda_version>\n"
        '<gpu id="00000000:01:00.0">\n<product_name>NVIDIA A40</product_name>\n</gpu>\n</nvidia_smi_log>\n'
    )
    assert (facts.value("nvidia.driver.version"), facts.value("nvidia.cuda_max")) == ("550.54.15", "12.4")
    assert [card["name"] for card in facts.value("nvidia.devices")] == ["NVIDIA A40"]
