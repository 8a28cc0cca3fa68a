"""The matrices of nvidia-smi and xpu-smi, and the links of the kernel's topology for AMD."""

from __future__ import annotations

from pathlib import Path

from machine_builder import Machine

from gpudoctor.capture.recorded_host import open_recorded
from gpudoctor.facts.probes.gpu_links import parse_matrix, xgmi

NVIDIA = (
    "\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV12\tSYS\tPXB\t0-63\t0\t\tN/A\n"
    "GPU1\tNV12\t X \tPHB\tSYS\t0-63\t0\t\tN/A\n"
    "GPU2\tSYS\tPHB\t X \tNODE\t64-127\t1\t\tN/A\n"
    "NIC0\tPXB\tSYS\tNODE\t X \n\n"
    "Legend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n"
)
INTEL = (
    "                GPU 0/0           GPU 1/0           CPU Affinity\n"
    "GPU 0/0         S                 XL8               0-23,48-71\n"
    "GPU 1/0         XL8               S                 0-23,48-71\n"
)


def pairs(text: str) -> list[tuple[str, str, str, int]] | None:
    found = parse_matrix(text)
    return None if found is None else [(each["first"], each["second"], each["link"], each["lanes"]) for each in found]


def test_the_matrix_of_nvidia_smi_names_each_pair_of_gpus_once() -> None:
    assert pairs(NVIDIA) == [
        ("GPU 0", "GPU 1", "NVLink", 12), ("GPU 0", "GPU 2", "across NUMA nodes", 0), ("GPU 1", "GPU 2", "host bridge", 0),
    ]  # fmt: skip


def test_the_matrix_of_xpu_smi() -> None:
    assert pairs(INTEL) == [("GPU 0", "GPU 1", "Xe Link", 8)]


def test_the_tiles_of_a_gpu_are_one_gpu() -> None:
    text = (
        "          GPU 0/0|GPU 0/1|GPU 1/0|GPU 1/1|CPU Affinity\nGPU 0/0   S      |MDF    |XL*    |XL16   |0-55\n"
        "GPU 0/1   MDF    |S      |XL16   |XL*    |0-55\nGPU 1/0   XL*    |XL16   |S      |MDF    |0-55\n"
    )
    assert pairs(text) == [("GPU 0", "GPU 1", "Xe Link", 16)]


def test_what_is_no_matrix() -> None:
    assert pairs("") is None and pairs("Failed to initialize NVML: Driver/library version mismatch\n") is None
    assert pairs("\tGPU0\tCPU Affinity\nGPU0\t X \t0-7\n") == []


def test_xgmi_of_the_kernels_topology(tmp_path: Path) -> None:
    machine = Machine("mi300").linux("ubuntu 22.04", "6.8.0-51-generic")
    nodes = "/sys/class/kfd/kfd/topology/nodes"
    machine.file(f"{nodes}/0/properties", "cpu_cores_count 96\nsimd_count 0\n")
    for node, other in ((1, 2), (2, 1)):
        machine.file(f"{nodes}/{node}/properties", "cpu_cores_count 0\nsimd_count 1216\n")
        machine.file(f"{nodes}/{node}/io_links/0/properties", f"type 2\nnode_from {node}\nnode_to 0\n")
        machine.file(f"{nodes}/{node}/io_links/1/properties", f"type 11\nnode_from {node}\nnode_to {other}\n")
    host = open_recorded(str(machine.environment_of({}).expect().write(tmp_path)))
    assert [(link["first"], link["second"], link["link"]) for link in xgmi(host)] == [("node 1", "node 2", "XGMI")]
