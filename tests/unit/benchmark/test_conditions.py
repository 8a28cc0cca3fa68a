"""The link of a card under load, how the card is set, and what of a worker's word on itself is believed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from recorded_trees import machine, write

from gpudoctor.benchmark.conditions import conditions, folder_of, power_limit_share
from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.job_plan import Job
from gpudoctor.benchmark.monitors.monitor import Link, Seen
from gpudoctor.benchmark.monitors.pci_link import LinkWatch, gpu_address, slot_side
from gpudoctor.benchmark.workload_list import BY_ID
from gpudoctor.model.facts import Facts, Known

ARC = "0000:03:00.0"
ROOT = "/sys/devices/pci0000:00/0000:00:01.0"
TARGET = MeasurementTarget(framework="torch", device="xpu:0", python="/p", backend="xpu")
JOB = Job(target=TARGET, workload=BY_ID["resnet50"], task="training", dtype="float32")
GPU = {"address": ARC, "kind": "discrete", "bar_bytes": 256 << 20, "memory_bytes": 16 << 30}


class Tree:
    """A recorded tree whose card has a place in it: sysfs' links."""

    def __init__(self, folder: Path, places: dict[str, str], files: dict[str, str]) -> None:
        self.host = machine(folder, files)
        self.places = places
        self.read, self.listdir, self.exists = self.host.read, self.host.listdir, self.host.exists

    def realpath(self, path: str) -> str:
        return self.places.get(path, path)


def link(address: str, speed: str, width: str, most: str = "16.0 GT/s PCIe", most_lanes: str = "16") -> dict[str, str]:
    base = f"/sys/bus/pci/devices/{address}"
    names = {"current_link_speed": speed, "current_link_width": width, "max_link_speed": most, "max_link_width": most_lanes}
    return {f"{base}/{name}": f"{value}\n" for name, value in names.items()}


def arc(folder: Path, **slot: str) -> Tree:
    """An Arc card: its own link always says 2.5 GT/s and one lane; that of the switch on the card leads to the slot."""
    vendors = {f"/sys/bus/pci/devices/{address}/vendor": "0x8086\n" for address in ("0000:00:01.0", "0000:01:00.0", "0000:02:01.0", ARC)}
    files = {**vendors, **link(ARC, "2.5 GT/s PCIe", "1"), **link("0000:02:01.0", "2.5 GT/s PCIe", "1"), **link("0000:01:00.0", **slot)}
    place = f"{ROOT}/0000:01:00.0/0000:02:01.0/{ARC}"
    return Tree(folder, {f"/sys/bus/pci/devices/{ARC}": place}, files)


def test_the_switch_of_the_card_is_asked_not_the_card(tmp_path: Path) -> None:
    tree = arc(tmp_path, speed="16.0 GT/s PCIe", width="16")
    assert slot_side(tree, ARC).endswith("0000:01:00.0")
    watch = LinkWatch(tree, ARC)
    watch.sample(0.0)
    assert watch.seen().link == Link(gt=16.0, gt_max=16.0, width=16, width_max=16)


def test_the_fastest_that_was_seen_counts(tmp_path: Path) -> None:
    tree = arc(tmp_path, speed="2.5 GT/s PCIe", width="16")
    watch = LinkWatch(tree, ARC)
    for speed, width in (("8.0 GT/s PCIe", "4"), ("2.5 GT/s PCIe", "16")):
        write(tmp_path, {f"/sys/bus/pci/devices/0000:01:00.0/current_link_{name}": v for name, v in (("speed", speed), ("width", width))})
        watch.sample(0.0)
    assert watch.seen().link == Link(gt=8.0, gt_max=16.0, width=4, width_max=16)


def test_another_makers_switch_is_not_the_cards(tmp_path: Path) -> None:
    files = {"/sys/bus/pci/devices/0000:01:00.0/vendor": "0x10b5", "/sys/bus/pci/devices/0000:02:00.0/vendor": "0x10de"}
    tree = Tree(tmp_path, {"/sys/bus/pci/devices/0000:02:00.0": f"{ROOT}/0000:01:00.0/0000:02:00.0"}, files)
    assert slot_side(tree, "0000:02:00.0").endswith("0000:02:00.0")


@pytest.mark.parametrize(("speed", "width"), [("Unknown", "0"), ("", ""), ("\x1b[31m", "255"), ("1e9 GT/s", "x")])
def test_a_link_that_says_nothing_is_none(tmp_path: Path, speed: str, width: str) -> None:
    watch = LinkWatch(arc(tmp_path, speed=speed, width=width), ARC)
    watch.sample(0.0)
    assert watch.seen().link is None


def test_only_addresses_of_a_bus_are_addresses() -> None:
    assert gpu_address(GPU) == ARC
    assert [gpu_address(gpu) for gpu in (None, {}, {"address": "Arc A770"}, {"address": "../../etc"})] == [None] * 4


@pytest.mark.parametrize(
    ("files", "share"),
    [
        ({"power1_cap": "120000000", "power1_cap_default": "160000000"}, 0.75),
        ({"power1_max": "190000000", "power1_rated_max": "190000000"}, 1.0),
        ({"power1_max": "0", "power1_rated_max": "190000000"}, None),
        ({"power1_cap": "120000000"}, None),
    ],
)
def test_the_power_limit_by_the_cards_own(tmp_path: Path, files: dict[str, str], share: float | None) -> None:
    host = machine(tmp_path, {f"/sys/bus/pci/devices/{ARC}/hwmon/hwmon3/{name}": text for name, text in files.items()})
    assert power_limit_share(host, Facts(), GPU) == share


def test_nvidia_smi_tells_it_of_its_own_cards(tmp_path: Path) -> None:
    facts = Facts({"nvidia.devices": Known([{"address": ARC, "power_limit_share": 0.6}, {"address": "other", "power_limit_share": 1.0}])})
    assert power_limit_share(machine(tmp_path, {}), facts, GPU) == 0.6


def test_the_folder_of_the_data_has_a_file_system() -> None:
    mounts = [{"path": "/", "filesystem": "ext4", "windows": False}, {"path": "/mnt/c", "filesystem": "9p", "windows": True}]
    facts = Facts({"mounts": Known(mounts)})
    assert folder_of(facts, "/mnt/c/data") == ("9p", True) and folder_of(facts, "/home/me") == ("ext4", False)
    assert folder_of(Facts(), "/home/me") == (None, None)


def said(folder: Path, seen: Seen, **worker: Any) -> Any:
    return conditions(machine(folder, {}), Facts(), JOB, GPU, seen, worker)


def test_watched_without_an_event_is_another_thing_than_not_watched(tmp_path: Path) -> None:
    assert said(tmp_path, Seen()).throttled is None
    found = said(tmp_path, Seen(clock_mhz=2400.0, link=Link(gt=16.0, width=4, width_max=16)))
    assert (found.throttled, found.others, found.link_width, found.link_width_max) == ("", "", 4, 16)
    assert found.bar_share == pytest.approx(1 / 64) and found.gpu_kind == "discrete"


def test_a_worker_is_believed_where_it_can_be(tmp_path: Path) -> None:
    names = ["aten::x", 3, "aten::x", "a b", "x" * 200]
    found = said(tmp_path, Seen(), threads=8, computed_on="xpu:0\x1b[31m", fallbacks=names, python_debug=True)
    assert found.threads == 8 and found.fallbacks == ("aten::x",) and found.python_debug is True and "\x1b" not in found.computed_on
    nonsense = said(tmp_path, Seen(), threads=True, computed_on=3, fallbacks="aten::x", python_debug="yes")
    assert (nonsense.threads, nonsense.computed_on, nonsense.fallbacks, nonsense.python_debug) == (None, None, None, None)
