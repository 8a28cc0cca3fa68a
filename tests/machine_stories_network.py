"""The stories of the recorded machines whose GPUs are joined with each other, and by RDMA with other machines."""

from __future__ import annotations

from machine_builder import Machine
from machine_stories import CUDA_WHEEL, SYSTEM_CUDA, torch_sees

ROOT = "/sys/devices/pci0000:15"
SWITCH = f"{ROOT}/0000:15:01.0/0000:16:00.0/0000:17:00.0"
CARDS = {"0000:01:00.0": f"{SWITCH}/0000:01:00.0", "0000:c8:00.0": "/sys/devices/pci0000:c5/0000:c5:01.0/0000:c8:00.0"}


def server(name: str = "h100-server-rdma") -> Machine:
    """Two GPUs of NVIDIA, one of them on a switch with mlx5_0; mlx5_1 is slower, mlx5_2 down."""
    machine = Machine(name).linux("ubuntu 22.04", "5.15.0-105-generic").nvidia(name="NVIDIA H100 80GB HBM3", ids="10de:2330", cc="9.0")
    for address, path in CARDS.items():
        machine.pci(address, "10de:2330", kind="0x030200", driver="nvidia").realpaths[f"/sys/bus/pci/devices/{address}"] = path
        machine.links[f"/sys/bus/pci/devices/{address}/iommu_group"] = "../../../../kernel/iommu_groups/7"
    machine.run("systemd-detect-virt", out="none\n").file("/sys/kernel/iommu_groups/7/type", "DMA-FQ\n")
    machine.file("/proc/self/limits", "Max locked memory         8388608              8388608              bytes     \n")
    ports = (
        ("mlx5_0", "4: ACTIVE", "400 Gb/sec (4X NDR)"),
        ("mlx5_1", "4: ACTIVE", "200 Gb/sec (2X NDR)"),
        ("mlx5_2", "1: DOWN", "40 Gb/sec (4X QDR)"),
    )
    for number, (card, state, rate) in enumerate(ports):
        folder, address = f"/sys/class/infiniband/{card}", f"0000:{0x19 + number:02x}:00.0"
        machine.file(f"{folder}/hca_type", "MT4129\n").file(f"{folder}/ports/1/state", f"{state}\n").file(
            f"{folder}/ports/1/rate", f"{rate}\n"
        )
        machine.file(f"{folder}/ports/1/link_layer", "InfiniBand\n").file(f"{folder}/ports/1/phys_state", "5: LinkUp\n")
        machine.file(f"{folder}/ports/1/gids/0", "fe80:0000:0000:0000:0000:0000:0000:0001\n").file(
            f"{folder}/ports/1/gids/1", f"{':'.join(['0000'] * 8)}\n"
        )
        machine.file(f"{folder}/device/numa_node", "0\n").realpaths[f"{folder}/device"] = f"{SWITCH}/{address}"
    return machine


NETWORK_MACHINES = (
    server().environment_of(CUDA_WHEEL, torch_sees("NVIDIA H100 80GB HBM3", libraries=SYSTEM_CUDA)).expect(
        [], "", ["rdma-port-slower-than-siblings", "rdma-port-down-beside-active", "rdma-memory-lock-small", "gpu-iommu-translates"],
        torch_cuda="ok",
    ),
)  # fmt: skip
