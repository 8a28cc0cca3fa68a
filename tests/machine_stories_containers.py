"""The stories of the recorded containers: what the machine gave them, and what it did not."""

from __future__ import annotations

from machine_builder import Machine
from machine_stories import CUDA_WHEEL, ROCM_WHEEL, SEEN, SYSTEM_CUDA, XPU_WHEEL, torch_sees

CARD, ARC = "0000:03:00.0", "Intel(R) Arc(TM) A770 Graphics"
BLIND = {"torch": {**SEEN, "version": "2.7.1", "devices": [], "libraries": []}}
ROOT = "0(root)"
NO_LIBCUDA = "1 libs found in cache\n\tlibc.so.6 (libc6,x86-64) => /lib/x86_64-linux-gnu/libc.so.6\n"


def container(name: str, groups: str = ROOT, marker: str = "/.dockerenv") -> Machine:
    machine = Machine(name, platform="container").linux("ubuntu 24.04", "6.8.0-51-generic", groups).file(marker)
    return machine.env(HOME="/root")


def with_card(machine: Machine, ids: str, driver: str, *nodes: str, kind: str = "0x030000") -> Machine:
    """/sys is the machine's, so that the card is on the bus; `nodes`: the device nodes that the container was given."""
    machine.pci(CARD, ids, kind=kind, driver=driver, node=False)
    for number, name in ((0, "card0"), (128, "renderD128")):
        machine.links[f"/sys/class/drm/{name}/device"] = f"../../../bus/pci/devices/{CARD}"
        machine.file(f"/sys/class/drm/{name}/dev", f"226:{number}\n")
    for node in nodes:
        machine.file(node).modes[node] = ("crw-rw----", "video" if "card" in node else "render")
    return machine


DRI = ("/dev/dri/card0", "/dev/dri/renderD128")
CONTAINER_MACHINES = (
    container("container-rtx4090-healthy").nvidia().env(NVIDIA_VISIBLE_DEVICES="all", NVIDIA_DRIVER_CAPABILITIES="compute,utility")
    .environment_of(CUDA_WHEEL, torch_sees("NVIDIA GeForce RTX 4090", libraries=SYSTEM_CUDA)).expect(torch_cuda="ok"),
    with_card(container("container-rtx4090-nothing-given"), "10de:2684", "nvidia").run("ldconfig", "-p", out=NO_LIBCUDA)
    .environment_of(CUDA_WHEEL, BLIND).expect(["container-without-nvidia-gpu"], "torch-cuda/device-node", torch_cuda="broken"),
    with_card(container("container-rtx4090-graphics-alone"), "10de:2684", "nvidia", "/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm")
    .env(NVIDIA_VISIBLE_DEVICES="all", NVIDIA_DRIVER_CAPABILITIES="graphics,display").run("ldconfig", "-p", out=NO_LIBCUDA)
    .environment_of(CUDA_WHEEL, BLIND).expect(["container-without-compute-capability"], "torch-cuda/user-driver", torch_cuda="broken"),
    with_card(container("container-rx6800-healthy"), "1002:73bf", "amdgpu", *DRI, "/dev/kfd")
    .environment_of(ROCM_WHEEL, torch_sees("AMD Radeon RX 6800")).expect(torch_rocm="ok"),
    with_card(container("container-rx6800-without-kfd"), "1002:73bf", "amdgpu", *DRI)
    .environment_of(ROCM_WHEEL, BLIND).expect(["amd-kfd-missing", "rocm-torch-sees-no-gpu"], "torch-rocm/device-node", torch_rocm="broken"),
    with_card(container("container-rx6800-user-without-group", "1000(user)"), "1002:73bf", "amdgpu", *DRI, "/dev/kfd")
    .environment_of(ROCM_WHEEL, BLIND)
    .expect(["amd-kfd-not-accessible", "container-node-group-unknown", "rocm-torch-sees-no-gpu"],
            "torch-rocm/device-node", torch_rocm="broken"),
    with_card(container("container-arc-a770-healthy"), "8086:56a0", "i915", *DRI)
    .environment_of(XPU_WHEEL, torch_sees(ARC, "xpu:0")).expect(),
    with_card(container("container-arc-a770-without-dri"), "8086:56a0", "i915")
    .environment_of(XPU_WHEEL, BLIND)
    .expect(["intel-container-without-dri", "torch-xpu-lists-no-device"], "torch-xpu/device-node", torch_xpu="broken"),
    with_card(container("podman-arc-a770-user-without-group", "1000(user)", "/run/.containerenv"), "8086:56a0", "i915", *DRI)
    .environment_of(XPU_WHEEL, BLIND)
    .expect(["container-node-group-unknown", "render-node-not-accessible", "torch-xpu-lists-no-device"],
            "torch-xpu/device-node", torch_xpu="broken"),
)  # fmt: skip
