"""Parsers and facts of Intel's driver packages, module options, firmware and xpu-smi."""

from __future__ import annotations

import pytest

from gpudoctor.facts.probes import intel


@pytest.mark.parametrize(
    ("text", "plain"),
    [("23.17.26241.33-647~22.04", "23.17.26241.33"), ("1:1.0.14062.11-1", "1.0.14062.11"), ("2.12.7-1160~25.04", "2.12.7"), ("odd", None)],
)
def test_upstream_leaves_the_distributions_parts_out(text: str, plain: str | None) -> None:
    assert intel.upstream(text) == plain


def test_first_package_takes_the_order_of_names() -> None:
    packages = {"level-zero": "1.11.0-647~22.04", "libze1:amd64": "1.21.9-1~25.04~ppa1"}
    assert intel.first_package(packages, intel.LEVEL_ZERO_LOADER) == ("libze1", "1.21.9")
    assert intel.first_package({}, intel.COMPUTE_RUNTIME) is None


def test_guc_version_from_the_kernel_log() -> None:
    lines = ["i915 0000:03:00.0: [drm] GT0: HuC firmware i915/dg2_huc_gsc.bin version 7.10.3",
             "i915 0000:03:00.0: [drm] GT0: GuC firmware i915/dg2_guc_70.bin version 70.5.1"]  # fmt: skip
    assert intel.parse_guc(lines) == "70.5.1"
    assert intel.parse_guc(["nothing"]) is None
    assert intel.parse_guc_info("GuC firmware: i915/dg2_guc_70.bin\n\tversion: wanted 70.5.1, found 70.20.0\n") == "70.20.0"


def test_modprobe_options_and_blacklists() -> None:
    options, blocked = intel.parse_modprobe("# hints\noptions i915 enable_guc=3 force_probe=56a0\nblacklist xe # no\nblacklist nouveau\n")
    assert options == {"i915": "enable_guc=3 force_probe=56a0"}
    assert blocked == ["xe"]
    assert intel.force_probe(options["i915"]) == "56a0"
    assert intel.parse_modprobe("install i915 /bin/false\n") == ({}, ["i915"])


def test_the_kernels_command_line() -> None:
    options, blocked = intel.parse_cmdline("ro quiet i915.force_probe=!56a0 xe.force_probe=56a0 modprobe.blacklist=i915,nouveau")
    assert options == {"i915": "force_probe=!56a0", "xe": "force_probe=56a0"}
    assert blocked == ["i915"]


def test_discovery_of_xpu_smi() -> None:
    listed = '{"device_list": [{"device_id": 0, "device_name": "Intel(R) Arc(TM) A750 Graphics", "pci_bdf_address": "0000:03:00.0"}]}'
    assert intel.parse_discovery(listed) == [{"index": 0, "name": "Intel(R) Arc(TM) A750 Graphics", "address": "0000:03:00.0"}]
    one = intel.parse_discovery('{"device_id": 1, "memory_physical_size_byte": "8455716864", "max_mem_alloc_size_byte": "unknown"}')
    assert one == [{"index": 1, "memory_bytes": 8455716864}]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"error": "Level Zero Initialization Error", "errno": 1}', '{"device_list": 3}'])
def test_discovery_survives_odd_output(text: str) -> None:
    assert intel.parse_discovery(text) is None
