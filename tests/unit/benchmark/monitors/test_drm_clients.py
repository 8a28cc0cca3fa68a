"""Who uses a card and which engine of it, from fdinfo as i915, xe and amdgpu write it, and from AMD's compute queues."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from recorded_trees import machine, write

from gpudoctor.benchmark.monitors.drm_clients import ClientsWatch, KfdWatch, kfd_id, parse_client
from gpudoctor.benchmark.monitors.monitor import Seen
from gpudoctor.system.host import Text
from gpudoctor.system.local_host import LocalHost

CARD = "0000:03:00.0"
MS = 1_000_000


def process(pid: int, parent: int = 1, name: str = "") -> dict[str, str]:
    return {f"/proc/{pid}/stat": f"{pid} (a (b) c) S {parent} " + "0 " * 40 + "\n", f"/proc/{pid}/comm": f"{name or 'p'}\n"}


class Machine(LocalHost):
    """Processes with files of /dev/dri open, each of them one client."""

    def __init__(self, files: Mapping[str, str], opened: Mapping[int, Mapping[str, str]]) -> None:
        super().__init__()
        self.files, self.opened = dict(files), opened

    def read(self, path: str, *, limit: int = 1_000_000) -> Text:
        return Text(self.files[path]) if path in self.files else Text(problem="missing")

    def listdir(self, path: str) -> list[str]:
        if path == "/proc":
            return ["self", "cpuinfo", *map(str, self.opened)]
        parts = path.split("/")
        return list(self.opened.get(int(parts[2]), {})) if path.endswith("/fd") else []

    def readlink(self, path: str) -> str | None:
        parts = path.split("/")
        return self.opened.get(int(parts[2]), {}).get(parts[4])


def i915(client: int, render: int, compute: int, address: str = CARD) -> str:
    return (
        f"pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t284\ndrm-driver:\ti915\ndrm-client-id:\t{client}\ndrm-pdev:\t{address}\n"
        f"drm-total-local0:\t6044 KiB\ndrm-engine-render:\t{render} ns\ndrm-engine-copy:\t0 ns\ndrm-engine-capacity-video:\t2\n"
        f"drm-engine-video:\t0 ns\ndrm-engine-compute:\t{compute} ns\n"
    )


def xe(client: int, cycles: int, total: int) -> str:
    return (
        f"drm-driver:\txe\ndrm-client-id:\t{client}\ndrm-pdev:\t{CARD}\ndrm-total-vram0:\t23992 KiB\ndrm-cycles-rcs:\t0\n"
        f"drm-total-cycles-rcs:\t{total}\ndrm-cycles-ccs:\t{cycles}\ndrm-total-cycles-ccs:\t{total}\ndrm-engine-capacity-ccs:\t4\n"
    )


def fdinfo(pid: int, text: str, descriptor: str = "5") -> dict[str, str]:
    return {f"/proc/{pid}/fdinfo/{descriptor}": text}


def seen(host: Machine, then: Mapping[str, str], own: list[int | str], seconds: float = 10.0) -> Seen:
    watch = ClientsWatch(host, CARD, own)
    watch.sample(100.0)
    host.files.update(then)
    watch.sample(100.0 + seconds)
    return watch.seen()


def test_engines_of_our_own_client_and_nobody_else() -> None:
    """Two descriptors of one client count once."""
    start = {**process(70), **fdinfo(70, i915(9, 0, 0)), **fdinfo(70, i915(9, 0, 0), "6")}
    host = Machine(start, {70: {"5": "/dev/dri/renderD128", "6": "/dev/dri/renderD128", "7": "/tmp/x"}})
    found = seen(host, {**fdinfo(70, i915(9, 200 * MS, 9500 * MS)), **fdinfo(70, i915(9, 200 * MS, 9500 * MS), "6")}, [70])
    assert found.others == "" and found.busy_percent == pytest.approx(95.0)
    assert [(name, round(share, 1)) for name, share in found.engines] == [("compute", 95.0), ("render", 2.0)]


def test_another_process_at_work_is_named_and_children_of_the_worker_are_not() -> None:
    start = {**process(70, 60), **process(60, 50), **process(812, 1, "Xorg\x1b[31m"), **process(900, 1, "idle")}
    opened = {pid: {"5": "/dev/dri/card0"} for pid in (70, 812, 900)}
    start = {**start, **fdinfo(70, i915(9, 0, 0)), **fdinfo(812, i915(3, 10_000 * MS, 0)), **fdinfo(900, i915(4, 0, 0))}
    then = {**fdinfo(70, i915(9, 0, 7000 * MS)), **fdinfo(812, i915(3, 12_500 * MS, 0)), **fdinfo(900, i915(4, 0, 0))}
    found = seen(Machine(start, opened), then, [50])
    assert found.others == "other processes took 25 % of its engine render (Xorg[31m, process 812)"
    assert found.noise == (found.others,) and found.busy_percent == pytest.approx(70.0)


def test_clients_of_another_card_do_not_count() -> None:
    start = {**process(812), **fdinfo(812, i915(3, 0, 0, "0000:00:02.0"))}
    found = seen(Machine(start, {812: {"5": "/dev/dri/card1"}}), fdinfo(812, i915(3, 9000 * MS, 0, "0000:00:02.0")), [70])
    assert found == Seen()


def test_xe_counts_cycles_of_a_clock_beside_them() -> None:
    """Four compute engines, of which one was busy: a quarter."""
    start = {**process(70), **fdinfo(70, xe(3, 1000, 7_000_000))}
    found = seen(Machine(start, {70: {"5": "/dev/dri/renderD128"}}), fdinfo(70, xe(3, 1000 + 190_000, 7_190_000)), [70])
    assert found.engines == (("ccs", 25.0),)


def test_a_counter_that_falls_behind_itself_is_not_negative() -> None:
    start = {**process(70), **fdinfo(70, i915(9, 0, 5000 * MS))}
    found = seen(Machine(start, {70: {"5": "/dev/dri/renderD128"}}), fdinfo(70, i915(9, 0, 4000 * MS)), [70])
    assert found.busy_percent == 0.0 and found.others == ""


@pytest.mark.parametrize("text", [
    "", "pos: 0\nflags: 0\n", "drm-pdev: 0000:03:00.0\ndrm-engine-render: 5 ns\n", "drm-client-id: 4\ndrm-pdev: 0000:03:00.0\n",
    "drm-client-id: 4\ndrm-pdev: 0000:03:00.0\ndrm-engine-render: much ns\ndrm-engine-copy: ²\ndrm-cycles-rcs: 4\n",
    "drm-client-id: 4\ndrm-pdev: 0000:03:00.0\ndrm-engine-render: " + "9" * 5000 + " ns\n",
])  # fmt: skip
def test_what_is_no_client_with_engines_is_none(text: str) -> None:
    assert parse_client(text) is None


def test_amdgpu_writes_engines_in_nanoseconds() -> None:
    found = parse_client(
        f"drm-driver:\tamdgpu\ndrm-client-id:\t12\ndrm-pdev:\t{CARD}\ndrm-engine-gfx:\t5000 ns\ndrm-memory-vram:\t20 KiB\n"
    )
    assert found is not None and found.engines == {"gfx": (5000, 0)}


def test_this_machine_can_be_looked_at() -> None:
    watch = ClientsWatch(LocalHost(), CARD, [os.getpid()])
    watch.sample(0.0)
    watch.sample(1.0)
    assert watch.seen() == Seen()


KFD = "/sys/class/kfd/kfd"


def kfd(*processes: tuple[int, int]) -> dict[str, str]:
    """Processes with a compute queue on the card, and the compute units that each occupies."""
    node = f"{KFD}/topology/nodes/1"
    files = {
        f"{KFD}/topology/nodes/0/properties": "cpu_cores_count 16\nlocation_id 0\ndomain 0\n", f"{KFD}/topology/nodes/0/gpu_id": "0\n",
        f"{node}/properties": "simd_count 80\nlocation_id 768\ndomain 0\n", f"{node}/gpu_id": "57300\n",
    }  # fmt: skip
    for pid, units in processes:
        files[f"{KFD}/proc/{pid}/queues/0/gpuid"] = "57300\n"
        files[f"{KFD}/proc/{pid}/stats_57300/cu_occupancy"] = f"{units}\n"
    return files


def test_rocm_of_another_process_is_seen_by_its_queues(tmp_path: Path) -> None:
    host = machine(
        tmp_path, {**kfd((70, 30), (812, 12), (813, 0)), **process(70), **process(812, name="ollama"), **process(813, name="idle")}
    )
    assert kfd_id(host, CARD) == "57300" and kfd_id(host, "0000:04:00.0") == "" and kfd_id(host, "adapter 0") == ""
    watch = KfdWatch(host, CARD, [70])
    watch.sample(0.0)
    assert watch.seen().others == "other processes worked on it: ollama, process 812"
    assert watch.seen().notes == ("held by other processes too, without work: idle, process 813",)
    write(tmp_path, {f"{KFD}/proc/813/stats_57300/cu_occupancy": "4\n"})
    watch.sample(1.0)
    assert "idle, process 813" in watch.seen().others and watch.seen().notes == ()


def test_in_a_container_one_of_the_foreign_numbers_is_ours(tmp_path: Path) -> None:
    host = machine(tmp_path, {**kfd((30012, 30)), **process(70)})
    watch = KfdWatch(host, CARD, [70])
    watch.sample(0.0)
    assert watch.seen() == Seen()
    both = KfdWatch(machine(tmp_path / "two", {**kfd((30012, 30), (30044, 3)), **process(70)}), CARD, [70])
    both.sample(0.0)
    assert both.seen().others == "1 other process worked on it"
