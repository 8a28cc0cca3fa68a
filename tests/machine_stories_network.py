"""The stories of the recorded machines whose GPUs are joined with each other, and by RDMA with other machines."""

from __future__ import annotations

from machine_builder import Machine
from machine_stories import CUDA_WHEEL, KFD, ROCM_WHEEL, SEEN, SYSTEM_CUDA, XPU_WHEEL

H100 = "NVIDIA H100 80GB HBM3"
NEAR, FAR = "/sys/devices/pci0000:15", "/sys/devices/pci0000:c5"
SWITCH = f"{NEAR}/0000:15:01.0/0000:16:00.0/0000:17:00.0"
CARDS = {"0000:01:00.0": f"{SWITCH}/0000:01:00.0", "0000:c8:00.0": f"{FAR}/0000:c5:01.0/0000:c8:00.0"}
QUERY = "--query-gpu=index,name,uuid,pci.bus_id,driver_version,memory.total,compute_cap"
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build  (builder@host)  Tue Feb 25 04:00:00 UTC 2025\n"
LINK_LOCAL = "fe80:0000:0000:0000:0000:00ff:fe00:0001"
ADDRESS = "0000:0000:0000:0000:0000:ffff:0a00:0001"
EMPTY = ":".join(["0000"] * 8)
UP = ("4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)")
INFOS = ("rdma-card-far-from-gpu", "gpu-iommu-translates", "rdma-port-down-beside-active")
TROUBLES = (
    "rdma-port-slower-than-siblings", "rdma-memory-lock-small", "rdma-port-without-subnet-manager", "roce-port-without-address",
    "gpudirect-rdma-module-missing", *INFOS,
)  # fmt: skip


def all_but(*found: str) -> list[str]:
    return [name for name in TROUBLES if name not in found]


def torch_sees_two(name: str, device: str, libraries: list[dict[str, str]] | None = None) -> dict[str, object]:
    devices = [{"id": f"{device}:{number}", "name": name, "memory_bytes": 85520809984} for number in (0, 1)]
    return {"torch": {**SEEN, "version": "2.7.1", "devices": devices, "libraries": libraries or []}}


def with_port(
    machine: Machine, number: int, *, state: tuple[str, str, str] = UP, layer: str = "InfiniBand",
    gids: tuple[str, ...] = (LINK_LOCAL, EMPTY), path: str = SWITCH, node: int = 0,
) -> Machine:  # fmt: skip
    """An RDMA card with one port. `state`: logical and physical state, and rate."""
    folder, address = f"/sys/class/infiniband/mlx5_{number}", f"0000:{0x19 + number:02x}:00.0"
    port = f"{folder}/ports/1"
    for name, text in zip(("state", "phys_state", "rate"), state, strict=True):
        machine.file(f"{port}/{name}", f"{text}\n")
    machine.file(f"{folder}/hca_type", "MT4129\n").file(f"{port}/link_layer", f"{layer}\n").file(f"{folder}/device/numa_node", f"{node}\n")
    for place, gid in enumerate(gids):
        machine.file(f"{port}/gids/{place}", f"{gid}\n")
    machine.realpaths[f"{folder}/device"] = f"{path}/{address}"
    return machine


def h100s(name: str, *, iommu: str = "identity", lock: str = "unlimited", driver: str = OPEN, links: str = "NV18") -> Machine:
    """Two H100 at the two processors of a server, with the driver's open modules. `links`: how nvidia-smi joins them."""
    machine = Machine(name).linux("ubuntu 22.04", "5.15.0-105-generic").nvidia(name=H100, ids="10de:2330", cc="9.0")
    for number, (address, path) in enumerate(CARDS.items()):
        machine.pci(address, "10de:2330", kind="0x030200", driver="nvidia").realpaths[f"/sys/bus/pci/devices/{address}"] = path
        machine.links[f"/sys/bus/pci/devices/{address}/iommu_group"] = "../../../../kernel/iommu_groups/7"
        machine.file(f"/sys/bus/pci/devices/{address}/numa_node", f"{number}\n")
    machine.run("systemd-detect-virt", out="none\n").file("/sys/kernel/iommu_groups/7/type", f"{iommu}\n")
    machine.file("/proc/self/limits", f"Max locked memory         {lock}            {lock}            bytes     \n")
    machine.file("/dev/nvidia1").modes["/dev/nvidia1"] = ("crw-rw-rw-", "root")
    machine.file("/proc/driver/nvidia/version", driver)
    rows = "".join(
        f"{number}, {H100}, GPU-00000000-0000-4000-8000-00000000000{number}, 0000{address}, 570.124.06, 81559, 9.0\n"
        for number, address in enumerate(CARDS)
    )
    machine.run("nvidia-smi", QUERY, "--format=csv,noheader,nounits", out=rows)
    matrix = f"\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t{links}\t0-31\t0\nGPU1\t{links}\t X \t32-63\t1\n\nLegend:\n"
    machine.run("nvidia-smi", "topo", "-m", out=matrix)
    return machine.environment_of(CUDA_WHEEL, torch_sees_two(H100, "cuda", SYSTEM_CUDA))


def both_sides(machine: Machine, **first: object) -> Machine:
    """A card beside each GPU; `first`: what the one at the first GPU differs in."""
    with_port(machine, 0, **first)  # type: ignore[arg-type]
    return with_port(machine, 1, path=f"{FAR}/0000:c5:01.0", node=1)


def several_ports(machine: Machine) -> Machine:
    slower, down = ("4: ACTIVE", "5: LinkUp", "200 Gb/sec (2X NDR)"), ("1: DOWN", "5: LinkUp", "40 Gb/sec (4X QDR)")
    return with_port(with_port(with_port(machine, 0), 1, state=slower), 2, state=down)


def with_nvswitch(machine: Machine, manager: str, fabric: str) -> Machine:
    """`manager`: the state of the service; `fabric`: what each card says of its registration with the NVSwitches."""
    cards = "".join(
        f'<gpu id="0000{address}"><product_name>{H100}</product_name><pci><pci_bus_id>0000{address}</pci_bus_id></pci>'
        f"<fb_memory_usage><total>81559 MiB</total></fb_memory_usage><fabric><state>{fabric}</state><status>N/A</status></fabric></gpu>"
        for address in CARDS
    )
    machine.run("nvidia-smi", "-q", "-x", out=f"<nvidia_smi_log><driver_version>570.124.06</driver_version>{cards}</nvidia_smi_log>\n")
    machine.pci("0000:d0:00.0", "10de:22a3", kind="0x068000", driver="nvidia-nvswitch", node=False)
    row = "ii \tnvidia-fabricmanager-570\t570.124.06-1\n"
    machine.run("dpkg-query", "-W", "-f=${db:Status-Abbrev}\\t${binary:Package}\\t${Version}\\n", out=row)
    return machine.run("systemctl", "is-active", "nvidia-fabricmanager", out=f"{manager}\n")


def mi300xs(name: str, link: int) -> Machine:
    """Two MI300X. `link`: the kernel's number for what joins them, 11 for XGMI and 2 for PCI Express."""
    machine = Machine(name).linux("ubuntu 22.04", "6.8.0-51-generic").file("/dev/kfd")
    machine.modes.update(KFD)
    nodes = "/sys/class/kfd/kfd/topology/nodes"
    machine.file(f"{nodes}/0/properties", "cpu_cores_count 96\nsimd_count 0\n")
    for number, address in enumerate(("0000:05:00.0", "0000:26:00.0"), start=1):
        machine.pci(address, "1002:74a1", kind="0x120000", driver="amdgpu")
        machine.file(f"/dev/dri/renderD{127 + number}").file(f"/sys/class/drm/renderD{127 + number}/dev", "226:0\n")
        machine.links[f"/sys/class/drm/renderD{127 + number}/device"] = f"../../../bus/pci/devices/{address}"
        machine.modes[f"/dev/dri/renderD{127 + number}"] = ("crw-rw----", "render")
        machine.file(f"{nodes}/{number}/properties", "cpu_cores_count 0\nsimd_count 1216\ngfx_target_version 90402\n")
        machine.file(f"{nodes}/{number}/io_links/0/properties", f"type {link}\nnode_from {number}\nnode_to {3 - number}\nweight 15\n")
    return machine.environment_of(ROCM_WHEEL, torch_sees_two("AMD Instinct MI300X", "cuda"))


def max1550s(name: str, link: str) -> Machine:
    """Two Max 1550. `link`: how xpu-smi joins their first tiles."""
    machine = Machine(name).linux("ubuntu 22.04", "6.8.0-51-generic")
    for address in ("0000:18:00.0", "0000:42:00.0"):
        machine.pci(address, "8086:0bd5", kind="0x038000", driver="i915")
    row = "         GPU 0/0   GPU 1/0   CPU Affinity\n"
    table = f"{row}GPU 0/0  S         {link}       0-47,96-143\nGPU 1/0  {link}       S         48-95,144-191\n"
    machine.run("xpu-smi", "topology", "-m", out=table)
    return machine.environment_of(XPU_WHEEL, torch_sees_two("Intel(R) Data Center GPU Max 1550", "xpu"))


NETWORK_MACHINES = (
    several_ports(h100s("h100-server-rdma", iommu="DMA-FQ", lock="8388608")).expect(
        [], "", ["rdma-port-slower-than-siblings", "rdma-port-down-beside-active", "rdma-memory-lock-small", "gpu-iommu-translates"],
        torch_cuda="ok",
    ),
    both_sides(h100s("h100-rdma-healthy")).expect(never=TROUBLES, torch_cuda="ok"),
    both_sides(h100s("h100-rdma-no-subnet-manager"), state=("2: INIT", "5: LinkUp", "400 Gb/sec (4X NDR)"))
    .expect([], "", ["rdma-port-without-subnet-manager"], all_but("rdma-port-without-subnet-manager", *INFOS), torch_cuda="ok"),
    both_sides(h100s("h100-roce-link-local-alone"), layer="Ethernet")
    .expect([], "", ["roce-port-without-address"], all_but("roce-port-without-address"), torch_cuda="ok"),
    both_sides(h100s("h100-roce-healthy"), layer="Ethernet", gids=(LINK_LOCAL, ADDRESS)).expect(never=TROUBLES, torch_cuda="ok"),
    both_sides(h100s("h100-rdma-memory-lock-64k", lock="65536"))
    .expect([], "", ["rdma-memory-lock-small"], all_but("rdma-memory-lock-small"), torch_cuda="ok"),
    both_sides(h100s("h100-rdma-no-peermem", driver=OPEN.replace("Open Kernel Module for x86_64", "x86_64 Kernel Module")))
    .expect([], "", ["gpudirect-rdma-module-missing"], all_but("gpudirect-rdma-module-missing"), torch_cuda="ok"),
    with_port(h100s("h100-rdma-card-at-one-processor"), 0)
    .expect([], "", ["rdma-card-far-from-gpu"], all_but("rdma-card-far-from-gpu"), torch_cuda="ok"),
    both_sides(h100s("h100-rdma-iommu-translates", iommu="DMA"))
    .expect([], "", ["gpu-iommu-translates"], all_but("gpu-iommu-translates"), torch_cuda="ok"),
    with_nvswitch(h100s("h100-nvswitch-without-manager", links="SYS"), "inactive", "In Progress")
    .environment_of(CUDA_WHEEL, {"torch": {**SEEN, "version": "2.7.1", "devices": [], "libraries": SYSTEM_CUDA}})
    .expect(["nvidia-fabric-manager-not-running", "nvidia-fabric-not-ready"], "torch-cuda/runtime", torch_cuda="broken"),
    with_nvswitch(h100s("h100-nvswitch-healthy"), "active", "Completed").expect(never=TROUBLES, torch_cuda="ok"),
    mi300xs("mi300x-pair-xgmi", 11).expect(never=TROUBLES, torch_rocm="ok"),
    mi300xs("mi300x-pair-without-xgmi", 2).expect(torch_rocm="ok"),
    max1550s("max1550-pair-xe-link", "XL16").expect(never=TROUBLES),
    max1550s("max1550-pair-without-xe-link", "SYS").expect(),
)  # fmt: skip
