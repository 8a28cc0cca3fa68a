"""Golden plans of the stacks of NVIDIA, AMD, Graphcore and Apple, of OpenCL and of the processor."""

from __future__ import annotations

from machine_builder import Machine
from machine_stories import KFD
from plan_cases import card, on, windows, with_uv
from plan_cases import linux as plain_linux
from plan_cases import wsl as plain_wsl

RTX4090, RTX3060, GTX1080, GTX960 = "10de:2684", "10de:2504", "10de:1b80", "10de:1401"
RX6600XT, RX6800, RX7900, RX9070, RX580 = "1002:73ff", "1002:73bf", "1002:744c", "1002:7550", "1002:67df"
SDK = "/home/user/sdk/poplar_sdk-ubuntu_20_04-2.6.0+1074-33d3efd05d"


PYTHONS = {
    "ubuntu 20.04": "3.8", "ubuntu 22.04": "3.10", "ubuntu 24.04": "3.12", "debian 12": "3.11", "debian 13": "3.13", "fedora 43": "3.14",
    "arch": "3.14",
}  # fmt: skip


def with_own_python(machine: Machine, system: str) -> Machine:
    """The system's Python: on Debian and Ubuntu without the module that makes environments, elsewhere with it."""
    minor = PYTHONS[system]
    machine.file(f"/usr/bin/python{minor}").links["/usr/bin/python3"] = f"python{minor}"
    library = f"/usr/lib/python{minor}"
    return machine.file(f"{library}/os.py") if system.startswith(("ubuntu", "debian")) else machine.file(f"{library}/ensurepip/__init__.py")


def linux(name: str, system: str, kernel: str, **given: str) -> Machine:
    return with_own_python(plain_linux(name, system, kernel, **given), system)


def wsl(name: str, system: str, adapter: tuple[str, str, str]) -> Machine:
    return with_own_python(plain_wsl(name, system, adapter=adapter), system)


def with_nouveau(machine: Machine, ids: str) -> Machine:
    """An NVIDIA card as a new system finds it: held by the driver inside Linux."""
    card(machine, ids, "nouveau").files["/proc/modules"] = "nouveau 2285568 1 - Live 0x0\n"
    return machine


def with_amd(machine: Machine, ids: str) -> Machine:
    card(machine, ids, "amdgpu").file("/dev/kfd").modes.update(KFD)
    return machine


def with_sdk(machine: Machine, root: str) -> Machine:
    """An unpacked Poplar SDK as its archive has it."""
    for part in ("poplar", "popart"):
        machine.file(f"{root}/{part}-ubuntu_20_04-2.6.0+5114-33d3efd05d/enable.sh")
    machine.file(f"{root}/enable").file(f"{root}/poptorch-2.6.0+74275_33d3efd05d_ubuntu_20_04-cp38-cp38-linux_x86_64.whl")
    for processor in ("amd_znver1", "intel_skylake512"):
        machine.file(f"{root}/tensorflow-2.6.3+gc2.6.0+194993+33d3efd05d+{processor}-cp38-cp38-linux_x86_64.whl")
    return machine.file("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Platinum 8168 CPU @ 2.70GHz\n")


def nvidia_wsl(name: str, driver: str) -> Machine:
    windows = f"32.0.1{driver[0]}.{driver[1:3]}{driver[-2:]}"
    machine = wsl(name, "ubuntu 24.04", adapter=("NVIDIA GeForce RTX 4090", windows, RTX4090)).file("/usr/lib/wsl/lib/libcuda.so.1")
    query = "--query-gpu=index,name,uuid,pci.bus_id,driver_version,memory.total,compute_cap"
    row = f"0, NVIDIA GeForce RTX 4090, GPU-00000000-0000-4000-8000-000000000001, 00000000:01:00.0, {driver}, 24564, 8.9\n"
    return machine.run("nvidia-smi", query, "--format=csv,noheader,nounits", out=row)


def nvidia_windows(name: str, adapter: tuple[str, str, str], driver: str) -> Machine:
    query = "--query-gpu=index,name,uuid,pci.bus_id,driver_version,memory.total,compute_cap"
    row = f"0, {adapter[0]}, GPU-00000000-0000-4000-8000-000000000001, 00000000:01:00.0, {driver}, 24564, 8.9\n"
    return windows(name, adapter).run("nvidia-smi", query, "--format=csv,noheader,nounits", out=row)


def container(name: str, system: str) -> Machine:
    machine = linux(name, system, "6.8.0-65-generic", groups="0(root)", platform="container")
    machine.commands = [one for one in machine.commands if one["argv"] != ["id"]]
    return machine.run("id", out="uid=0(root) gid=0(root) groups=0(root)\n").env(HOME="/root", USER="root")


def mac(name: str, *said: str, minor: str = "3.13") -> Machine:
    machine = Machine(name, platform="macos").mac(*said)
    return machine.file(f"/usr/local/bin/python{minor}").file(f"/usr/local/lib/python{minor}/ensurepip/__init__.py")


GTX1080_NEW = with_nouveau(linux("new-gtx1080-ubuntu-24.04", "ubuntu 24.04", "6.8.0-65-generic"), GTX1080)
GTX1080_NEW.run("mokutil", "--sb-state", out="SecureBoot enabled\n")
RTX5090 = linux("rtx5090-driver-570", "ubuntu 24.04", "6.14.0-29-generic", nvidia_driver_570_open="570.124.06").nvidia(
    "570.124.06", "NVIDIA GeForce RTX 5090", "10de:2b85", "12.0"
)
RTX5090.file("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build\n")
RX6600 = with_amd(linux("rx6600xt-ubuntu-22.04", "ubuntu 22.04", "6.8.0-65-generic"), RX6600XT)
RX9070_OLD = card(linux("rx9070-ubuntu-24.04", "ubuntu 24.04", "6.8.0-65-generic"), RX9070)
RX6600_OVERRIDE = with_amd(linux("rx6600xt-override-set", "ubuntu 24.04", "6.14.0-29-generic"), RX6600XT).env(
    HSA_OVERRIDE_GFX_VERSION="10.3.0"
)
C2 = with_sdk(linux("c2-ubuntu-20.04", "ubuntu 20.04", "5.4.0-182-generic"), SDK).pci("0000:1a:00.0", "1d95:0001", kind="0x120000")
C2.file("/proc/modules", "nvme 1 1 - Live 0x0\n")
MODEL = with_sdk(linux("no-ipu-ubuntu-20.04", "ubuntu 20.04", "5.4.0-182-generic"), SDK)
FABRIC = linux("ipu-fabric-ubuntu-20.04", "ubuntu 20.04", "5.4.0-182-generic").poplar("3.3.0")
FABRIC.file("/opt/graphcore/poplar_sdk-ubuntu_20_04-3.3.0+1403/poptorch-3.3.0+113432_960e9c294b_ubuntu_20_04-cp38-cp38-linux_x86_64.whl")
FABRIC.file("/opt/graphcore/poplar_sdk-ubuntu_20_04-3.3.0+1403/popart-ubuntu_20_04-3.3.0+7857/enable.sh")
WSL_RX7900 = with_uv(wsl("rx7900-wsl2-ubuntu-24.04", "ubuntu 24.04", adapter=("AMD Radeon RX 7900 XTX", "32.0.21025.1016", RX7900)))
BARE = container("container-debian-12", "debian 12")
WITHOUT_GPU = with_uv(linux("no-gpu-ubuntu-24.04", "ubuntu 24.04", "6.8.0-65-generic"))
WINDOWS_4090 = nvidia_windows("windows-rtx4090-driver-560", ("NVIDIA GeForce RTX 4090", "32.0.15.6094", RTX4090), "560.94")

CASES = [
    *on(BARE, "opencl", "opencl purpose=inference", "torch-opencl", "cpu", "cpu torch=2.4", "cuda"),
    *on(BARE, "tensorflow", "jax", "rocm", "poplar"),
    *on(container("container-fedora-43", "fedora 43"), "opencl", "opencl purpose=inference", "cpu"),
    *on(container("container-arch", "arch"), "opencl", "opencl purpose=inference"),
    *on(WITHOUT_GPU, "torch-opencl", "torch-opencl torch=2.6", "torch-opencl torch=2.9", "cpu torch=2.8"),
    *on(RX6600, "torch-opencl", "torch-opencl folder=/home/user/wheels", "opencl", "rocm", "rocm torch=2.8", "tensorflow", "jax"),
    *on(RX6600_OVERRIDE, "rocm", "rocm torch=2.8"),
    *on(with_amd(linux("rx580-debian-12", "debian 12", "6.1.0-32-amd64"), RX580), "opencl", "rocm"),
    *on(with_amd(linux("rx7900-fedora-43", "fedora 43", "6.17.4-200.fc43.x86_64"), RX7900), "rocm", "opencl", "tensorflow", "jax"),
    *on(with_amd(linux("rx6800-arch", "arch", "6.17.4-arch1-1"), RX6800), "rocm", "opencl"),
    *on(with_amd(linux("mi50-ubuntu-22.04", "ubuntu 22.04", "5.15.0-139-generic"), "1002:66a1"), "rocm"),
    *on(RX9070_OLD, "rocm", "opencl"),
    *on(WSL_RX7900, "rocm", "opencl"),
    *on(wsl("rx6800-wsl2-ubuntu-24.04", "ubuntu 24.04", adapter=("AMD Radeon RX 6800", "32.0.21025.1016", RX6800)), "rocm"),
    *on(windows("windows-rx9070", ("AMD Radeon RX 9070 XT", "32.0.21025.1016", RX9070)), "rocm", "opencl"),
    *on(GTX1080_NEW, "cuda", "opencl", "jax"),
    *on(with_nouveau(linux("new-gtx960-ubuntu-22.04", "ubuntu 22.04", "6.8.0-65-generic"), GTX960), "cuda torch=2.0", "cuda torch=2.15"),
    *on(with_nouveau(linux("new-rtx4090-debian-12", "debian 12", "6.1.0-32-amd64"), RTX4090), "cuda", "opencl"),
    *on(with_nouveau(linux("new-rtx4090-debian-13", "debian 13", "6.12.41+deb13-amd64"), RTX4090), "cuda"),
    *on(with_nouveau(linux("new-rtx3060-fedora-43", "fedora 43", "6.17.4-200.fc43.x86_64"), RTX3060), "cuda", "opencl"),
    *on(with_nouveau(linux("new-rtx3060-arch", "arch", "6.17.4-arch1-1"), RTX3060), "cuda", "opencl"),
    *on(with_nouveau(linux("new-gtx1080-arch", "arch", "6.17.4-arch1-1"), GTX1080), "cuda"),
    *on(RTX5090, "cuda", "cuda torch=2.15", "cuda torch=2.6", "tensorflow", "jax"),
    *on(linux("rtx4090-driver-570", "ubuntu 22.04", "6.8.0-51-generic").nvidia(), "cuda", "cuda torch=2.8", "opencl", "tensorflow", "jax"),
    *on(linux("rtx4090-driver-580", "ubuntu 24.04", "6.8.0-51-generic").nvidia("580.95.05"), "cuda", "jax"),
    *on(container("rtx4090-container", "ubuntu 22.04").nvidia("535.183.01"), "cuda", "cuda torch=2.15", "opencl"),
    *on(nvidia_wsl("rtx4090-wsl2-driver-552", "552.44"), "cuda", "cuda torch=2.15", "opencl", "tensorflow", "jax"),
    *on(WINDOWS_4090, "cuda", "cuda torch=2.15", "opencl", "cpu", "tensorflow", "jax", "torch-opencl"),
    *on(mac("m3-macos-14"), "mps", "cpu", "opencl", "tensorflow", "jax"),
    *on(mac("m1-macos-12", "Apple M1", "12.7.6"), "mps"),
    *on(mac("intel-mac", "Intel(R) Core(TM) i7-9750H", "14.6.1", "x86_64", minor="3.12"), "mps", "cpu", "tensorflow"),
    *on("macos-m3-rosetta", "mps"),
    *on(C2, f"poplar folder={SDK}", f"poplar purpose=tensorflow folder={SDK}", "poplar"),
    *on(MODEL, f"poplar folder={SDK}"),
    *on(FABRIC, "poplar"),
    *on("two-vendors", "opencl"),
]  # fmt: skip
