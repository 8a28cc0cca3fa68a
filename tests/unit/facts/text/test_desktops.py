"""dxdiag, system_profiler, wsl --version, conda info; env listings of libraries; what uv and poetry say that they did."""

from __future__ import annotations

import pytest
from pasted_text import read


def test_dxdiag_gives_adapters_with_pci_id_driver_and_memory() -> None:
    facts = read(
        "   Operating System: Windows 11 Home 64-bit (10.0, Build 26100)\nDisplay Devices\n"
        "           Card name: AMD Radeon(TM) Graphics\n        Manufacturer: Advanced Micro Devices, Inc.\n"
        "          Device Key: Enum\\PCI\\VEN_1002&DEV_15BF&SUBSYS_0&REV_C5\n    Dedicated Memory: 2010 MB\n"
        "      Driver Version: 32.0.12033.1030\n"
        "           Card name: NVIDIA GeForce RTX 4060 Laptop GPU\n          Device Key: Enum\\PCI\\VEN_10DE&DEV_28E0&SUBSYS_0\n"
        "      Driver Version: 32.0.15.6094\n"
    )
    assert [adapter["pci_id"] for adapter in facts.value("windows.adapters")] == ["1002:15bf", "10de:28e0"]
    assert [gpu["vendor"] for gpu in facts.value("gpus")] == ["amd", "nvidia"] and facts.value("gpus")[0]["gfx"] == "gfx1103"
    assert facts.value("windows.driver.amd") == "32.0.12033.1030" and facts.value("platform.kind") == "windows"


def test_system_profiler_as_text_gives_the_adapters_of_a_mac() -> None:
    facts = read(
        "$ system_profiler SPDisplaysDataType SPHardwareDataType\nGraphics/Displays:\n    AMD Radeon Pro 5500M:\n"
        "      Chipset Model: AMD Radeon Pro 5500M\n      VRAM (Total): 8 GB\n      Vendor: AMD (0x1002)\n      Metal Support: Metal 3\n"
    )
    (adapter,) = facts.value("macos.adapters")
    assert (adapter["vendor"], adapter["memory_bytes"], adapter["metal"]) == ("amd", 8 * 2**30, "metal3")
    chip = read("      Chipset Model: Apple M4\n      Chip: Apple M4\n      System Version: macOS 15.3 (24D60)\n")
    assert chip.value("macos.apple_silicon") is True and chip.value("os.version") == "15.3"


@pytest.mark.parametrize(
    "text",
    [
        "WSL version: 2.4.13.0\nKernel version: 5.15.167.4-1\nWSLg version: 1.0.65\nWindows version: 10.0.26100.3775\n",
        "WSL-Version: 2.4.13.0\nKernelversion: 5.15.167.4-1\nWindows-Version: 10.0.26100.3775\n",
        "WSL 版本： 2.4.13.0\n内核版本： 5.15.167.4-1\nWSLg 版本： 1.0.65\nWindows 版本： 10.0.26100.3775\n",
        "Version WSL\u00a0: 2.4.13.0\nVersion du noyau\u00a0: 5.15.167.4-1\nVersion Windows\u00a0: 10.0.26100.3775\n",
    ],
)
def test_wsl_version_in_any_language_is_a_wsl2_with_its_kernel_and_the_build_of_windows(text: str) -> None:
    facts = read(f"PS C:\\> wsl --version\n{text}")
    assert (facts.value("platform.kind"), facts.value("windows.build"), facts.value("wsl.kernel")) == ("wsl2", 26100, "5.15.167.4")


def test_condas_virtual_packages_tell_the_cuda_of_the_driver() -> None:
    facts = read("$ conda info\n    virtual packages : __archspec=1=zen4\n                       __cuda=12.4=0\n      __linux=6.8.0=0\n")
    assert facts.value("nvidia.cuda_max") == "12.4" and facts.value("platform.kind") == "linux"


def test_env_listings_tell_whether_torch_saw_the_device() -> None:
    seen = read("- PyTorch version (accelerator?): 2.7.1+cu126 (CUDA)\n- GPU type: NVIDIA L4\n")
    assert [device["id"] for device in seen.value("python.frameworks.torch.devices")] == ["cuda:0"]
    xpu = read("- PyTorch version: 2.7.1+xpu\n- PyTorch accelerator: XPU\n- XPU type: Intel(R) Arc(TM) B580 Graphics\n")
    assert [device["id"] for device in xpu.value("python.frameworks.torch.devices")] == ["xpu:0"]
    blind = read("- PyTorch version (GPU?): 2.5.1+cu124 (False)\n")
    assert blind.value("python.frameworks.torch.devices") == []
    other = read("- PyTorch version (GPU?): 2.6.0+xpu (False)\n")  # asks CUDA only: says nothing of an XPU
    assert other.value("python.frameworks.torch.devices") is None


def test_tf_env_collect_names_the_system_in_a_tuple() -> None:
    facts = read(
        "== check os platform ====\nos: Linux\nlinux distribution: ('Ubuntu', '20.04', 'Focal Fossa')\n"
        "== check pips ====\ntensorflow       2.13.1\n== tensorflow import ====\ntf.version.VERSION = 2.13.1\n"
    )
    assert facts.value("os.version") == "20.04" and facts.value("tensorflow.version") == "2.13.1"
    assert "tf_env_collect" in facts.value("text.readers")


def test_uv_and_poetry_tell_what_is_installed_now() -> None:
    uv = read("Uninstalled 1 package in 9ms\nInstalled 2 packages in 80ms\n - torch==2.4.0+cu121\n + torch==2.5.1\n ~ triton==3.1.0\n")
    assert dict(uv.value("python.distributions")) == {"torch": "2.5.1", "triton": "3.1.0"}
    poetry = read("Package operations: 1 install, 1 update\n  - Installing torchvision (0.17.0)\n  - Updating torch (2.1.0 -> 2.2.0)\n")
    assert dict(poetry.value("python.distributions")) == {"torchvision": "0.17.0", "torch": "2.2.0"}
    listed = read("versions:\n - torch==2.4.0\n")
    assert listed.value("python.distributions.torch") == "2.4.0"


def test_processor_and_flags_of_collect_env_are_facts_and_a_short_line_proves_nothing() -> None:
    flags = " ".join(["fpu", "sse4_2", *(f"flag{number}" for number in range(30))])
    facts = read(f"Model name:                     Intel(R) Celeron(R) N5105 @ 2.00GHz\nFlags:                          {flags}\n")
    assert facts.value("cpu.model").startswith("Intel(R) Celeron") and "sse4_2" in facts.value("cpu.flags")
    assert read("Flags: fpu vme\n").value("cpu.flags") is None


def test_a_problem_code_of_dxdiag_is_that_of_the_device_manager() -> None:
    card = "           Card name: AMD Radeon RX 7900 XTX\n          Device Key: Enum\\PCI\\VEN_1002&DEV_744C&SUBSYS_0\n"
    for said, code in (("43", 43), ("No Problem", None), ("CM_PROB_123", None)):
        facts = read(f"{card} Device Problem Code: {said}\n      Driver Version: 32.0.12033.1030\n")
        assert [adapter["error_code"] for adapter in facts.value("windows.adapters")] == [code]


def test_intels_system_support_utility_gives_adapters_and_not_its_disks() -> None:
    facts = read(
        '# SSU Scan Information\nScan Info:\n     Version:"3.0.0.2"\n# Scanned Hardware\nComputer:\n     - "Graphics"\n'
        '          - "Intel(R) Arc(TM) A770 Graphics"\n               Adapter Compatibility:"Intel Corporation"\n'
        '               - "Caption":"Intel(R) Arc(TM) A770 Graphics"\n                    Link:"https://www.intel.com"\n'
        '               Driver Version:"31.0.101.3491"\n               PNP Device ID:"PCI\\VEN_8086&DEV_56A0&SUBSYS_10208086&REV_08"\n'
        '     - "Storage"\n          - "A disk"\n               Driver Version:"1.2.3.4"\n               PNP Device ID:"SCSI\\DISK"\n'
    )
    (adapter,) = facts.value("windows.adapters")
    assert (adapter["pci_id"], adapter["driver_version"], adapter["vendor"]) == ("8086:56a0", "31.0.101.3491", "intel")
    assert facts.value("platform.kind") == "windows"
