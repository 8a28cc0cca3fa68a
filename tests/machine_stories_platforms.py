"""The stories of recorded machines where a driver, a library or a node is not in the usual place: Jetson, NixOS, Alpine, LXC, MIG, vfio."""

from __future__ import annotations

from machine_builder import Machine
from machine_stories import CUDA_WHEEL, KFD, SEEN, XPU_WHEEL, libcuda, torch_sees
from machine_stories_containers import BLIND, container

NO_ANSWER = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
QUERY = ("--query-gpu=index,name,uuid,pci.bus_id,driver_version,memory.total,compute_cap", "--format=csv,noheader,nounits")
TEGRA = "/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1"
NIX = "/run/opengl-driver/lib/libcuda.so.1"
COMPAT = "/usr/local/cuda-12.2/compat/libcuda.so.535.183.06"
NO_GUC = (
    "[    3.1] xe 0000:03:00.0: Direct firmware load for xe/bmg_guc_70.bin failed with error -2\n"
    "[    3.1] xe 0000:03:00.0: [drm] Tile0: GT0: GuC firmware xe/bmg_guc_70.bin: fetch failed with error -ENOENT\n"
    "[    3.2] xe 0000:03:00.0: probe with driver xe failed with error -2\n"
)
MIG = (
    '<?xml version="1.0" ?>\n<nvidia_smi_log><driver_version>570.124.06</driver_version><gpu id="00000000:01:00.0">'
    "<product_name>NVIDIA H100 NVL</product_name><mig_mode><current_mig>Enabled</current_mig></mig_mode>"
    "<mig_devices>None</mig_devices></gpu></nvidia_smi_log>\n"
)


def jetson(name: str, board: str = "NVIDIA Jetson Orin Nano Developer Kit") -> Machine:
    """A Jetson with JetPack 6: its GPU is on no bus, and has nodes of its own."""
    machine = Machine(name, python="3.10.12").linux("ubuntu 22.04", "5.15.148-tegra").file("/proc/device-tree/model", board)
    machine.run("uname", "-m", out="aarch64\n").file("/etc/nv_tegra_release", "# R36 (release), REVISION: 4.3, BOARD: generic\n")
    for node in ("/dev/nvhost-gpu", "/dev/nvmap"):
        machine.file(node).modes[node] = ("crw-rw----", "video")
    machine.file("/sys/module/nvgpu/initstate", "live\n").file("/proc/modules", "nvgpu 4096 1 - Live 0x0\n").file(TEGRA)
    return machine.run("ldconfig", "-p", out=f"1 libs found in cache\n\tlibcuda.so.1 (libc6,AArch64) => {TEGRA}\n")


def without_nodes(machine: Machine, *prefixes: str) -> Machine:
    for path in [path for path in machine.files if path.startswith(prefixes)]:
        machine.files.pop(path)
        machine.modes.pop(path, None)
    return machine


def nixos(name: str) -> Machine:
    machine = Machine(name, python="3.13.9").linux("nixos 25.11", "6.12.60").nvidia("580.95.05")
    machine.commands = [command for command in machine.commands if command["argv"][0] != "ldconfig"]
    return without_nodes(machine, "/usr/lib/").file(NIX)


def rocm_image(name: str) -> Machine:
    machine = container(name).file("/dev/kfd").pci("0000:c1:00.0", "1002:74a5", kind="0x120000", driver="amdgpu", node=False)
    machine.file("/dev/dri/renderD128").modes.update({**KFD, "/dev/dri/renderD128": ("crw-rw----", "render")})
    return machine


PLATFORM_MACHINES = (
    jetson("jetson-orin-nano-healthy").run("nvidia-smi", *QUERY, out="0, Orin (nvgpu), [N/A], [N/A], 540.4.0, [N/A], [N/A]\n")
    .run("nvidia-smi", "-L", out="GPU 0: Orin (nvgpu) (UUID: 00000000-0000-5000-8000-000000000009)\n")
    .run("nvidia-smi", out="| NVIDIA-SMI 540.4.0   Driver Version: 540.4.0   CUDA Version: 12.6 |\n")
    .environment_of({"torch": "2.4.0a0+07cecf4168.nv24.5", "numpy": "1.26.4"},
                    torch_sees("Orin", libraries=libcuda(TEGRA, "system"))).expect(torch_cuda="ok"),
    jetson("jetson-orin-nano-pypi-torch")
    .environment_of({"torch": "2.9.0+cpu", "numpy": "2.2.6"}, {"torch": {**SEEN, "version": "2.9.0+cpu", "devices": []}})
    .expect(["torch-cpu-build-on-nvidia"], "torch-cuda/framework", torch_cuda="broken"),
    nixos("nixos-rtx4090-healthy")
    .environment_of({"torch": "2.9.1", "triton": "3.5.1", "numpy": "2.3.4"},
                    torch_sees("NVIDIA GeForce RTX 4090", libraries=libcuda(NIX, "system"))).expect(torch_cuda="ok"),
    nixos("nixos-rtx4090-not-inspected").environment_of({"torch": "2.9.1", "triton": "3.5.1", "numpy": "2.3.4"})
    .expect(never=["nvidia-user-libraries-missing"]),
    Machine("alpine-vm-without-gpu", python="3.12.12").linux("alpine 3.22", "6.12.40-0-virt")
    .pci("0000:00:01.0", "1af4:1050", driver="virtio-pci", node=False).environment_of({"numpy": "2.3.2", "scikit-learn": "1.7.1"}, {})
    .expect(never=["python-musl"]),
    rocm_image("mi325x-image-torch-from-source").environment_of({"torch": "2.7.1+git1a2b3c4", "triton": "3.3.1", "numpy": "2.2.6"})
    .expect(never=["rocm-cuda-torch-on-amd"]),
    without_nodes(container("lxc-rtx4090-without-uvm").nvidia(), "/dev/nvidia-uvm").environment_of(CUDA_WHEEL, BLIND)
    .expect(["nvidia-uvm-node-missing"], "torch-cuda/device-node", torch_cuda="broken"),
    container("container-rtx4090-lost").nvidia().run("nvidia-smi", out="Failed to initialize NVML: Unknown Error\n", rc=255)
    .run("nvidia-smi", *QUERY, out="Failed to initialize NVML: Unknown Error\n", rc=255).environment_of(CUDA_WHEEL, BLIND)
    .expect(["container-lost-nvidia-gpu"], "torch-cuda/device-node", torch_cuda="broken"),
    Machine("h100-mig-without-instances").linux("ubuntu 24.04", "6.8.0-51-generic")
    .nvidia("570.124.06", "NVIDIA H100 NVL", "10de:2321", "9.0")
    .run("nvidia-smi", "-q", "-x", out=MIG).environment_of(CUDA_WHEEL, BLIND)
    .expect(["nvidia-mig-without-instances"], "torch-cuda/visible", torch_cuda="broken"),
    Machine("rtx4070-held-by-vfio").linux("debian 13", "6.12.48+deb13-amd64")
    .pci("0000:01:00.0", "10de:2786", driver="vfio-pci", node=False)
    .run("nvidia-smi", out=NO_ANSWER, rc=9).run("nvidia-smi", *QUERY, out=NO_ANSWER, rc=9).environment_of(CUDA_WHEEL, BLIND)
    .expect(["nvidia-smi-cannot-communicate"], "torch-cuda/kernel-driver", ["nvidia-held-by-vfio"], torch_cuda="broken"),
    Machine("rtx4090-compat-library-first").linux("ubuntu 22.04", "6.8.0-51-generic").nvidia().file(COMPAT)
    .env(LD_LIBRARY_PATH="/usr/local/cuda-12.2/compat")
    .environment_of(CUDA_WHEEL, {"torch": {**SEEN, "version": "2.7.1", "devices": [], "libraries": libcuda(COMPAT, "toolkit")}})
    .expect(["nvidia-compat-library-on-geforce"], "torch-cuda/user-driver", torch_cuda="broken"),
    Machine("arc-b570-without-guc-firmware").linux("debian 13", "6.16.3+deb13-amd64")
    .pci("0000:03:00.0", "8086:e20c", bar=256 << 20).run("dmesg", out=NO_GUC).environment_of(XPU_WHEEL, BLIND)
    .expect(["intel-guc-firmware-missing", "intel-no-kernel-driver", "torch-xpu-lists-no-device"], "torch-xpu/firmware",
            never=["intel-resizable-bar-off"], torch_xpu="broken"),
)  # fmt: skip
