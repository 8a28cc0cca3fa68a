"""What processes hold of an Intel GPU's memory, by the kernel's files and by xpu-smi."""

from __future__ import annotations

from pathlib import Path

import pytest
from machine_stories_memory import ARC, GIB, MIB, arc, opened, with_xpu_smi

from gpudoctor.capture.archive import write_capture
from gpudoctor.capture.recorded_host import open_recorded
from gpudoctor.capture.recording_host import RecordingHost
from gpudoctor.facts.collect import gather
from gpudoctor.facts.probes.drm_clients import Client, parse_client, parse_used
from gpudoctor.model.facts import Absent, Facts, Unknown

XE = """pos:\t0
drm-driver:\txe
drm-client-id:\t20
drm-pdev:\t0000:03:00.0
drm-total-system:\t0
drm-total-gtt:\t2 MiB
drm-resident-gtt:\t1 MiB
drm-total-vram0:\t20480 KiB
drm-resident-vram0:\t16 MiB
drm-total-vram1:\t4096
drm-cycles-ccs:\t386293167
drm-total-cycles-ccs:\t18956600119
"""


def facts_of(machine: object, folder: Path) -> Facts:
    return gather(open_recorded(str(machine.expect().write(folder)))).facts  # type: ignore[attr-defined]


def test_what_is_resident_counts_and_else_all_of_a_region() -> None:
    assert parse_client(XE) == Client("0000:03:00.0", "20", 16 * MIB + 4096, MIB)


@pytest.mark.parametrize("region, own", [
    ("resident-local0", True), ("resident-stolen-local0", True), ("memory-vram", True), ("total-vram1", True),
    ("resident-system0", False), ("resident-stolen-system0", False), ("memory-gtt", False), ("resident-stolen", False),
])  # fmt: skip
def test_regions_of_the_card_and_of_main_memory(region: str, own: bool) -> None:
    client = parse_client(f"drm-client-id: 1\ndrm-pdev: 0000:03:00.0\ndrm-{region}: 3 MiB\n")
    assert client is not None and (client.own, client.shared) == ((3 * MIB, 0) if own else (0, 3 * MIB))


@pytest.mark.parametrize("text", ["", "pos:\t0\nflags:\t02\n", "drm-client-id: 1\n", "drm-pdev: 0000:03:00.0\n"])
def test_other_files_are_no_clients(text: str) -> None:
    assert parse_client(text) is None


@pytest.mark.parametrize("size", ["-1 KiB", "1 GiB", "1e9", "9" * 30, "many", ""])
def test_a_size_that_the_kernel_does_not_write_is_none(size: str) -> None:
    assert parse_client(f"drm-client-id: 1\ndrm-pdev: 0000:03:00.0\ndrm-resident-vram0: {size}\n") == Client("0000:03:00.0", "1", 0, 0)


@pytest.mark.parametrize("text, used", [
    ("Timestamp, DeviceId, GPU Memory Used (MiB)\n06:14:46.000,    0, 25.50\n", 25.5 * MIB),
    ("Timestamp, DeviceId, GPU Memory Used (MiB)\n06:14:46.000,    0, N/A\n", None),
    ("Timestamp, DeviceId, GPU Power (W)\n06:14:46.000,    0, 25.50\n", None),
    ("Timestamp, DeviceId, GPU Memory Used (MiB)\n06:14:46.000,    0\n", None),
    ("Timestamp, DeviceId, GPU Memory Used (MiB)\n", None), ("Error: Level Zero initialization error\n", None), ("", None),
])  # fmt: skip
def test_the_column_of_xpu_smi(text: str, used: float | None) -> None:
    assert parse_used(text) == used


def test_each_process_is_named_with_what_it_holds(tmp_path: Path) -> None:
    machine = opened(arc("m", "8086:e20b", "Arc B580", "xe", 12 * GIB), 4711, "python3", ARC, "resident-vram0: 512 MiB")
    opened(machine, 4712, "child", ARC, "resident-vram0: 512 MiB")
    opened(machine, 812, "Xorg", ARC, "resident-vram0: 600 MiB", client=3)
    (row,) = facts_of(machine, tmp_path).value("gpu_memory")
    assert row["users"] == ["Xorg (812), 600 MiB", "python3 (4711), 512 MiB"], "a client that was handed on is counted once"
    assert row["used_bytes"] == 1112 * MIB and isinstance(row["free_bytes"], Unknown), "others may hold more"


def test_xpu_smi_counts_everything(tmp_path: Path) -> None:
    machine = with_xpu_smi(arc("m", "8086:56a0", "Arc A770", "i915", 16 * GIB), "Arc A770", "1024.00")
    (row,) = facts_of(machine, tmp_path).value("gpu_memory")
    assert (row["used_bytes"], row["free_bytes"], row["users"]) == (GIB, 15 * GIB, [])


def test_without_an_intel_gpu_nothing_is_read(tmp_path: Path) -> None:
    machine = arc("m", "1002:73bf", "Radeon", "amdgpu", GIB)
    assert isinstance(facts_of(machine, tmp_path).get("intel.memory.users"), Absent)
    nobody = facts_of(arc("n", "8086:56a0", "Arc A770", "i915", 16 * GIB), tmp_path / "nobody")
    assert isinstance(nobody.get("intel.memory.users"), Unknown), "the recording holds no process"


def test_what_was_recorded_says_the_same_again(tmp_path: Path) -> None:
    machine = opened(arc("m", "8086:e20b", "Arc B580", "xe", 12 * GIB), 4711, "python3", ARC, "resident-vram0: 512 MiB").expect()
    host = RecordingHost(open_recorded(str(machine.write(tmp_path))))
    first = gather(host).facts.value("intel.memory.users")
    write_capture(host.recording, str(tmp_path / "again.tar.gz"), None, raw=True)
    assert first and gather(open_recorded(str(tmp_path / "again.tar.gz"))).facts.value("intel.memory.users") == first
