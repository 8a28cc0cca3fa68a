"""RDMA ports, the way between a network card and a GPU through the PCI tree, IOMMU and the modules of GPUDirect."""

from __future__ import annotations

from pathlib import Path

import pytest
from machine_builder import Machine
from machine_stories_network import ADDRESS, EMPTY, LINK_LOCAL, both_sides, h100s, several_ports, with_port

from gpudoctor.capture.recorded_host import open_recorded
from gpudoctor.facts.collect import gather
from gpudoctor.facts.probes.memory import parse_lockable
from gpudoctor.facts.probes.rdma import ACROSS, SAME_NODE, SAME_ROOT, SAME_SWITCH, distance, parse_rate, parse_state
from gpudoctor.model.facts import Absent, Facts

ROOT = "/sys/devices/pci0000:15"
SWITCH = f"{ROOT}/0000:15:01.0/0000:16:00.0/0000:17:00.0"


def facts_of(machine: Machine, folder: Path) -> Facts:
    return gather(open_recorded(str(machine.environment_of({}).expect().write(folder)))).facts


def server() -> Machine:
    """Two GPUs, one of them on a switch with three ports of which one is slower and one is down."""
    return several_ports(h100s("server", iommu="DMA-FQ", lock="8388608"))


def test_states_and_rates_as_the_kernel_writes_them() -> None:
    assert [parse_state(text) for text in ("4: ACTIVE\n", "1: DOWN", "5: LinkUp", "", "ACTIVE")] == ["ACTIVE", "DOWN", "LinkUp", None, None]
    assert [parse_rate(text) for text in ("400 Gb/sec (4X NDR)", "2.5 Gb/sec (1X SDR)", "fast")] == [400.0, 2.5, None]


@pytest.mark.parametrize("first, second, nodes, far", [
    (f"{SWITCH}/0000:18:00.0", f"{SWITCH}/0000:19:00.0", (0, 0), SAME_SWITCH),
    (f"{ROOT}/0000:15:01.0/0000:16:00.0", f"{ROOT}/0000:15:02.0/0000:19:00.0", (0, 0), SAME_ROOT),
    (f"{ROOT}/0000:15:01.0/0000:16:00.0", "/sys/devices/pci0000:c5/0000:c5:01.0/0000:c8:00.0", (0, 0), SAME_NODE),
    (f"{ROOT}/0000:15:01.0/0000:16:00.0", "/sys/devices/pci0000:c5/0000:c5:01.0/0000:c8:00.0", (0, 1), ACROSS),
    (f"{ROOT}/0000:15:01.0/0000:16:00.0", "/sys/devices/pci0000:c5/0000:c5:01.0/0000:c8:00.0", (-1, -1), None),
    ("", "", (None, None), None),
])  # fmt: skip
def test_how_far_two_devices_are_from_each_other(first: str, second: str, nodes: tuple[int, int], far: str | None) -> None:
    assert distance(first, second, nodes) == far


def test_a_server_with_two_gpus(tmp_path: Path) -> None:
    facts = facts_of(server(), tmp_path)
    ports = {port["device"]: port for port in facts.value("rdma.ports")}
    assert [ports[name]["state"] for name in ("mlx5_0", "mlx5_1", "mlx5_2")] == ["ACTIVE", "ACTIVE", "DOWN"]
    assert all(port["sibling_rate_gbits"] == 400.0 and port["gids"] == 1 and port["roce_v2"] is False for port in ports.values())
    assert facts.value("rdma.active") == 2 and facts.value("gpudirect.modules") == [] and facts.value("gpu.iommu") == "DMA-FQ"
    far = {(each["nic"], each["gpu"]): each["distance"] for each in facts.value("rdma.distances")}
    assert far["mlx5_0", "0000:01:00.0"] == SAME_SWITCH and far["mlx5_0", "0000:c8:00.0"] == ACROSS
    assert [port["device"] for port in facts.value("rdma_ports_of_gpus")] == ["mlx5_0", "mlx5_1", "mlx5_2"]
    assert facts.value("memory.lockable_bytes") == 8 << 20


def test_ports_concern_no_gpu_where_there_is_one_card_only(tmp_path: Path) -> None:
    machine = server()
    for path in [path for path in machine.files if "0000:c8:00.0" in path]:
        del machine.files[path]
    facts = facts_of(machine, tmp_path)
    assert facts.value("gpu.count") == 1 and facts.value("rdma_ports_of_gpus") == [] and facts.value("rdma.active") == 2


def test_the_limit_of_locked_memory(tmp_path: Path) -> None:
    assert parse_lockable("Max locked memory         unlimited            unlimited            bytes\n") == -1
    assert parse_lockable("Max processes 1 2 processes\n") is None
    machine = server().file("/proc/self/limits", "Max locked memory         unlimited            unlimited            bytes     \n")
    assert isinstance(facts_of(machine, tmp_path).get("memory.lockable_bytes"), Absent)


def test_gpus_with_no_active_card_at_their_processor(tmp_path: Path) -> None:
    assert facts_of(server(), tmp_path / "one").value("rdma.far_gpus") == ["0000:c8:00.0"]
    assert facts_of(both_sides(h100s("server")), tmp_path / "both").value("rdma.far_gpus") == []
    idle = both_sides(h100s("server"), state=("2: INIT", "5: LinkUp", "400 Gb/sec (4X NDR)"))
    assert facts_of(idle, tmp_path / "idle").value("rdma.far_gpus") == ["0000:01:00.0"], "a card that waits is none"


def test_addresses_are_what_somebody_gave(tmp_path: Path) -> None:
    machine = with_port(h100s("server"), 0, layer="Ethernet", gids=(LINK_LOCAL, EMPTY, ADDRESS))
    (port,) = facts_of(machine, tmp_path / "given").value("rdma.ports")
    assert (port["gids"], port["addresses"]) == (2, 1)
    (bare,) = facts_of(with_port(h100s("server"), 0, gids=()), tmp_path / "bare").value("rdma.ports")
    assert "addresses" not in bare or not isinstance(bare["addresses"], int), "no table was recorded"
