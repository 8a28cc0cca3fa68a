"""NPUs on the bus, in Windows' list and in a Mac; what the kernel's log says of their firmware; and that a GPU is none of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from machine_stories_npu import amd, intel

from gpudoctor.capture.recorded_host import open_recorded
from gpudoctor.facts.collect import gather
from gpudoctor.facts.probes.frameworks import parse_child
from gpudoctor.facts.probes.npu import described, from_windows, parse_firmware, parse_firmware_error
from gpudoctor.model.facts import Absent, Facts, Known, Unknown
from gpudoctor.system.host import PAYLOAD_MARK, Ran

ASKED = "intel_vpu 0000:00:0b.0: [drm] *ERROR* ivpu_fw_request(): Failed to request firmware: -2"
STARTED = "[drm] Initialized intel_vpu 1.0.0 for 0000:00:0b.0 on minor 0"


def facts_of(machine: Any, folder: Path) -> Facts:
    return gather(open_recorded(str(machine.environment_of({}).expect().write(folder)))).facts


@pytest.mark.parametrize("ids, name", [
    ("8086:7d1d", "Meteor Lake"), ("8086:ad1d", "Arrow Lake"), ("8086:643e", "Lunar Lake"), ("8086:b03e", "Panther Lake"),
    ("8086:fd3e", "Wildcat Lake"), ("1022:1502", "Phoenix"), ("1022:17f0", "Strix"),
])  # fmt: skip
def test_the_table_knows_the_devices_of_the_drivers(ids: str, name: str) -> None:
    npu = described(ids)
    assert name in npu["name"] and npu["vendor"] == ("intel" if ids.startswith("8086") else "amd") and "GPU" not in npu["name"]


def test_an_npu_is_no_gpu_and_a_gpu_no_npu(tmp_path: Path) -> None:
    for machine, vendor in ((intel("one"), "intel"), (amd("two"), "amd")):
        facts = facts_of(machine, tmp_path)
        (npu,), (gpu,) = facts.value("npus"), facts.value("gpus")
        assert npu["vendor"] == gpu["vendor"] == vendor and npu["address"] != gpu["address"]
        assert npu["node"] == "/dev/accel/accel0" and npu["access"] is True and npu["node_group"] == "render"


def test_an_unknown_device_that_the_driver_took_is_an_npu(tmp_path: Path) -> None:
    (npu,) = facts_of(intel("new", "8086:d71d"), tmp_path).value("npus")
    assert npu["vendor"] == "intel" and isinstance(npu["min_kernel"], Unknown)
    assert facts_of(intel("gone", "8086:d71d", bound=False), tmp_path).value("npus") == []


def test_the_node_of_one_maker_is_not_the_node_of_the_other(tmp_path: Path) -> None:
    facts = facts_of(amd("two"), tmp_path)
    assert isinstance(facts.get("intel.npu.node"), Absent)
    assert facts_of(intel("one"), tmp_path).value("intel.npu.node") == "/dev/accel/accel0"


def test_the_driver_that_found_a_later_name_has_its_firmware() -> None:
    assert parse_firmware_error(["[    2.01] " + ASKED]) == ASKED
    assert parse_firmware_error([ASKED, STARTED]) is None
    assert parse_firmware_error([STARTED, ASKED]) == ASKED, "the module was loaded again"
    assert parse_firmware_error(["iwlwifi: Direct firmware load for iwlwifi-ty.ucode failed with error -2"]) is None
    line = "amdxdna 0000:c4:00.1: [drm] *ERROR* aie2_init: failed to request_firmware amdnpu/1502_00/npu.sbin, ret -2"
    assert parse_firmware_error([line]) == line


def test_the_version_of_the_firmware_is_that_of_the_last_start() -> None:
    line = "intel_vpu 0000:00:0b.0: [drm] Firmware: intel/vpu/vpu_37xx_v0.0.bin, version: {}*MTL"
    assert parse_firmware([line.format("2025"), line.format("2026")]) == "intel/vpu/vpu_37xx_v0.0.bin, 2026*MTL"
    assert parse_firmware([STARTED]) is None


def test_windows_lists_neural_processors() -> None:
    entry = {
        "Name": "Intel(R) AI Boost",
        "PNPDeviceID": "PCI\\VEN_8086&DEV_643E&SUBSYS_0&REV_04",
        "Status": "OK",
        "ConfigManagerErrorCode": 0,
    }
    npus = from_windows(json.dumps(entry))
    assert npus is not None and [(npu["name"], npu["vendor"]) for npu in npus] == [("Intel NPU (Lunar Lake)", "intel")]
    other = {**entry, "Name": "NPU Compute Accelerator Device", "PNPDeviceID": "PCI\\VEN_1022&DEV_17F0&SUBSYS_0&REV_10"}
    both = from_windows(json.dumps([entry, other]))
    assert both is not None and [npu["vendor"] for npu in both] == ["intel", "amd"]
    assert from_windows("") == [] and from_windows("Get-CimInstance : Access denied") is None


def test_the_iommu_is_off_only_where_the_command_line_says_so(tmp_path: Path) -> None:
    for line, found in (
        ("quiet amd_iommu=off", "amd_iommu=off"),
        ("iommu=off quiet", "iommu=off"),
        ("iommu=pt quiet", None),
        ("xiommu=offset", None),
    ):
        facts = facts_of(amd("two").file("/proc/cmdline", f"{line}\n"), tmp_path)
        assert facts.get("kernel.iommu_off") == (Known(found, "/proc/cmdline") if found else Absent("/proc/cmdline")), line


def test_a_driver_that_hangs_or_dies_while_it_compiles_takes_nothing_else_back() -> None:
    stages: tuple[dict[str, Any], ...] = (
        {"stage": "imported", "imported": True, "version": "2026.4"},
        {"stage": "devices", "devices": [{"id": "openvino:NPU"}]},
        {"stage": "graph"},
    )
    lines = "".join(f"{PAYLOAD_MARK}{json.dumps(said)}\n" for said in stages)
    hung = parse_child(Ran(("python",), stdout=lines, timed_out=True, seconds=25.0), "openvino")
    died = parse_child(Ran(("python",), stdout=lines, signal=11), "openvino")
    assert isinstance(hung, dict) and isinstance(died, dict)
    assert hung["npu_graph"] == "no end after 25 s" and died["npu_graph"] == "the process died of SIGSEGV"
    assert hung["error"] is died["error"] is None and hung["devices"] == died["devices"] == [{"id": "openvino:NPU"}]
