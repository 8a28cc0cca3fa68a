"""Texts to facts: listings of programs, lines with labels, lists of packages, variables, prose."""

from __future__ import annotations

from pasted_text import read

from gpudoctor.model.facts import Known, Unknown

COLLECTED = """Collecting environment information...
PyTorch version: 2.9.1+xpu
Is debug build: False
CUDA used to build PyTorch: None
ROCM used to build PyTorch: N/A

OS: Ubuntu 24.04.1 LTS (x86_64)
Python version: 3.12.3 (main, Feb  4 2025, 14:48:35) [GCC 13.3.0] (64-bit runtime)
Python platform: Linux-6.11.0-29-generic-x86_64-with-glibc2.39
Is CUDA available: False
CUDA runtime version: Could not collect
Is XPU available: True
XPU used to build PyTorch: 20250201
Intel GPU models detected:
* [0] _XpuDeviceProperties(name='Intel(R) Arc(TM) B580 Graphics', driver_version='1.6.33578', total_memory=11605MB)
Versions of relevant libraries:
[pip3] numpy==2.3.1
[conda] torchvision               0.24.1+xpu               pypi_0    pypi
"""
TABLE = """$ nvidia-smi
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 570.86.10              Driver Version: 570.86.10      CUDA Version: 12.8     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
|=========================================+========================+======================|
|   0  NVIDIA GeForce RTX 4090        Off |   00000000:01:00.0 Off |                  Off |
+-----------------------------------------------------------------------------------------+
and then it crashed
"""


def test_collect_env_gives_system_packages_and_what_torch_sees() -> None:
    facts = read(COLLECTED)
    assert facts.value("os.id") == "ubuntu" and facts.value("os.version") == "24.04"
    assert facts.value("kernel.release") == "6.11.0-29-generic" and facts.value("platform.kind") == "linux"
    assert facts.value("python.version") == "3.12.3"
    assert facts.value("torch.build") == "xpu" and facts.value("python.distributions.torchvision") == "0.24.1+xpu"
    assert [gpu["name"] for gpu in facts.value("gpus")] == ["Intel(R) Arc(TM) B580 Graphics"]
    assert facts.value("gpus")[0]["generation"] == "Battlemage"
    assert [device["id"] for device in facts.value("python.frameworks.torch.devices")] == ["xpu:0"]


def test_what_a_selection_does_not_name_is_unknown_and_not_absent() -> None:
    facts = read(COLLECTED)
    assert facts.get("python.distributions.triton") == Unknown("not in the text")
    assert isinstance(facts.get("env.LD_LIBRARY_PATH"), Unknown)
    assert isinstance(facts.get("container.kind"), Unknown)


def test_a_whole_pip_list_proves_absence() -> None:
    rows = "\n".join(f"package{number:<10} 1.{number}" for number in range(20))
    listing = f"$ pip list\nPackage    Version\n---------- -------\n{rows}\npip        24.0\ntorch      2.8.0\n"
    assert read(listing).get("python.distributions.triton") != Unknown("not in the text")
    assert isinstance(read(listing.replace("pip list", "pip list | grep -i p")).get("python.distributions.triton"), Unknown)


def test_the_table_of_nvidia_smi_is_read_by_the_probe_of_live_machines() -> None:
    facts = read(TABLE)
    assert facts.value("nvidia.driver.version") == "570.86.10" and facts.value("nvidia.cuda_max") == "12.8"
    assert facts.value("nvidia.cards")[0]["name"] == "NVIDIA GeForce RTX 4090"


def test_prose_gives_what_cannot_be_meant_otherwise() -> None:
    facts = read("My A770 on Ubuntu 22.04, kernel 5.19, IPEX 1.13.120 with Python 3.10 does not work")
    assert facts.value("gpus")[0]["pci_id"] != "" and facts.value("gpus")[0]["generation"] == "Alchemist"
    assert facts.value("kernel.version").startswith("5.19") and facts.value("os.version") == "22.04"
    assert facts.value("python.distributions.intel-extension-for-pytorch") == "1.13.120+xpu"
    assert read("it does not work at all, please help").names() and read("no idea").value("gpus") is None


def test_a_chip_in_brackets_is_no_second_card() -> None:
    facts = read("Intel Arc A770 (DG2)\nCompute Runtime 26.14.37833.4 (IGC v2.32.7)\nDebian 13\n")
    assert [gpu["name"] for gpu in facts.value("gpus")] == ["Intel Arc A770"]
    assert facts.value("intel.runtime.version") == "26.14.37833.4"
    assert [gpu["name"] for gpu in read("DG2 on Debian 13, torch 2.9.0+xpu").value("gpus")] == ["DG2"]


def test_two_versions_of_one_thing_are_no_fact() -> None:
    facts = read("torch==2.4.0\nI also tried\ntorch 2.6.0\n")
    assert not isinstance(facts.get("python.distributions.torch"), Known)


def test_the_torch_that_collect_env_ran_outweighs_lists_that_contradict_each_other() -> None:
    facts = read("PyTorch version: 1.3.0\nCUDA used to build PyTorch: 10.1.243\nIs CUDA available: No\n[pip3] torch==1.2.0\n")
    assert facts.value("python.distributions.torch") == "1.3.0" and facts.value("torch.build") == "cuda"


def test_kernel_lines_of_the_nvidia_driver_count_without_a_time_stamp() -> None:
    facts = read("dmesg says\nNVRM: Xid (PCI:0000:41:00): 79, pid=12, GPU has fallen off the bus.\n")
    assert [xid["code"] for xid in facts.value("nvidia.xids")] == [79]


def test_variables_count_where_they_are_set_and_not_where_a_message_advises_them() -> None:
    assert read("export HSA_OVERRIDE_GFX_VERSION=10.3.0\n").value("env.HSA_OVERRIDE_GFX_VERSION") == "10.3.0"
    assert read('docker run -e NVIDIA_VISIBLE_DEVICES="0,1" --rm x\n').value("env.NVIDIA_VISIBLE_DEVICES") == "0,1"
    advised = read("try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation\n")
    assert isinstance(advised.get("env.PYTORCH_CUDA_ALLOC_CONF"), Unknown)


def test_a_failed_import_of_a_traceback_is_one_of_that_framework() -> None:
    facts = read(
        "Traceback (most recent call last):\n"
        '  File "a.py", line 1, in <module>\n    import torch\n'
        '  File "/venv/lib/python3.11/site-packages/torch/__init__.py", line 9, in <module>\n    from torch._C import *\n'
        "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory\n"
    )
    (failure,) = facts.value("python.import_failures")
    assert (failure["framework"], failure["family"], failure["what"]) == ("torch", "missing-library", "libcudnn.so.9")
    assert facts.value("python.version") == "3.11"


def test_windows_wsl_and_containers_are_told_apart() -> None:
    assert read('OSError: [WinError 126] x. Error loading "C:\\Python\\lib\\a.dll"').value("platform.kind") == "windows"
    assert read("Linux box 5.15.153.1-microsoft-standard-WSL2 #1 SMP\n").value("platform.kind") == "wsl2"
    assert read("docker: Error response from daemon: x").value("platform.kind") is None
    assert read("nvidia-container-cli: initialization error: x").value("platform.kind") == "container"


def test_an_intel_gpu_is_known_by_its_id_and_by_the_name_in_brackets() -> None:
    detected = COLLECTED.replace("Intel(R) Arc(TM) B580 Graphics", "Intel(R) Graphics [0x7d55]")
    for text in (detected, "VGA compatible controller: Intel Corporation Device 7d55 (rev 08)"):
        assert read(text).value("gpus")[0]["pci_id"] == "8086:7d55", text
    gpu = read("Graphics: Intel CoffeeLake GT3e [Iris Plus Graphics 655] driver: i915").value("gpus")[0]
    assert (gpu["vendor"], gpu["name"]) == ("intel", "Iris Plus Graphics 655")


def test_what_ipex_says_of_a_wrong_torch_names_both() -> None:
    facts = read("ERROR! Intel® Extension for PyTorch* needs to work with PyTorch 2.1.*, but PyTorch 2.2.0+cpu is found. Please switch.")
    assert facts.value("torch.version") == "2.2.0+cpu" and facts.value("ipex.version") == "2.1" and facts.value("ipex.torch.fits") is False


def test_the_kind_of_environment_is_known_only_where_the_text_shows_it() -> None:
    assert isinstance(read("OpenVINO 2024.1 on Ubuntu 22.04, Python 3.10").get("python.kind"), Unknown)
    head = "$ conda list\n# packages in environment at /home/user/miniforge3/envs/ov:\n#\n# Name  Version  Build  Channel\n"
    assert read(f"{head}openvino 2024.1.0 py310_0 conda-forge\n").value("python.kind") == "conda"


def test_what_torch_says_of_itself_counts_more_than_tables() -> None:
    told = """Collecting environment information...
PyTorch version: 2.9.0
CUDA used to build PyTorch: 13.0
OS: Ubuntu 22.04.5 LTS (x86_64)
Is CUDA available: {}
GPU models and configuration: GPU 0: NVIDIA H100 80GB HBM3
Nvidia driver version: 570.172.08
"""
    assert read(told.format("True")).value("cuda.driver_ok") is True
    assert read(told.format("False")).value("cuda.driver_ok") is False
    own = "PyTorch version: 2.9.1+git8907517\nROCM used to build PyTorch: 7.0.51831\nGPU models and configuration: Radeon 8060S (gfx1151)\n"
    assert isinstance(read(own).value("amd.gpus")[0].get("native"), Unknown)
