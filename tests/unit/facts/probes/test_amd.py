"""What the AMD probe reads: kfd nodes, rocminfo, amd-smi and rocm-smi."""

from __future__ import annotations

import json

import pytest

from gpudoctor.facts.derive import _rocm_wheels
from gpudoctor.facts.derive import amd as derived
from gpudoctor.facts.probes import amd
from gpudoctor.model.facts import Facts, Known, Unknown

AGENTS = """ROCk module is loaded
==========
HSA Agents
==========
*******
Agent 1
*******
  Name:                    Some Processor
  Marketing Name:          Some Processor
  Vendor Name:             CPU
  Device Type:             CPU
*******
Agent 2
*******
  Name:                    gfx1031
  Uuid:                    GPU-XX
  Marketing Name:          AMD Radeon RX 6700 XT
  Vendor Name:             AMD
  Device Type:             GPU
  Compute Unit:            40
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--gfx1031
*** Done ***
"""


@pytest.mark.parametrize(
    ("number", "name"),
    [(100302, "gfx1032"), (90010, "gfx90a"), (90402, "gfx942"), (110501, "gfx1151"), (80003, "gfx803"), (90012, "gfx90c")],
)
def test_target_names(number: int, name: str) -> None:
    assert amd.gfx_name(number) == name


def test_kfd_nodes() -> None:
    props = amd.parse_kfd_properties(
        "simd_count 64\ngfx_target_version 100301\nvendor_id 4098\ndevice_id 29663\nlocation_id 2560\ndomain 0\njunk\n"
    )
    record = amd.kfd_record(1, props, "navi22\n")
    assert record is not None
    assert (record["gfx"], record["address"], record["name"]) == ("gfx1031", "0000:0a:00.0", "navi22")
    assert amd.kfd_record(0, {"cpu_cores_count": 8, "simd_count": 0}, "") is None


def test_rocminfo() -> None:
    agents = amd.parse_rocminfo(AGENTS)
    assert agents is not None and [(a["gfx"], a["compute_units"]) for a in agents] == [("gfx1031", 40)]
    assert amd.parse_rocminfo("nothing here") is None
    assert (
        amd.parse_rocminfo_error("ROCk module is loaded\nUnable to open /dev/kfd read-write: Permission denied\n")
        == "Unable to open /dev/kfd read-write: Permission denied"
    )
    assert (
        amd.parse_rocminfo_error("ROCk module is NOT loaded, possibly no GPU devices")
        == "ROCk module is NOT loaded, possibly no GPU devices"
    )
    assert amd.parse_rocminfo_error(AGENTS) is None


def test_smi_forms() -> None:
    card = {"gpu": 0, "asic": {"market_name": "Radeon", "target_graphics_version": "gfx1100"}, "bus": {"bdf": "0000:0B:00.0"}}
    for text in (json.dumps([card]), "WARNING: odd [thing\n" + json.dumps({"gpu_data": [card]})):
        cards = amd.parse_amd_smi_static(text)
        assert cards is not None and (cards[0]["gfx"], cards[0]["address"]) == ("gfx1100", "0000:0b:00.0")
    cards = amd.parse_rocm_smi(
        '{"card1": {"Card Series": "N/A", "Device Name": "MI", "PCI Bus": "0000:29:00.0"}, "system": {"Driver version": "6.7.0"}}'
    )
    assert cards is not None and (cards[0]["index"], cards[0]["name"]) == (1, "MI")
    assert amd.rocm_smi_driver('{"system": {"Driver version": "6.7.0"}}') == "6.7.0"
    assert amd.parse_amd_smi_static("[1, null]") == [] and amd.parse_rocm_smi("not json") is None
    assert amd.parse_dotted("6.1.3-122") == "6.1.3"


@pytest.mark.parametrize(
    ("rocm", "gfx", "answer"),
    [
        ("6.1", "gfx1032", False),
        ("6.4", "gfx1201", True),
        ("6.2.4", "gfx1100", True),
        ("7.1.1", "gfx1151", True),
        ("5.6", "gfx1100", False),
    ],
)
def test_targets_of_wheels(rocm: str, gfx: str, answer: bool) -> None:
    assert _rocm_wheels.covers(rocm, gfx, []) is answer


def test_unsure_is_unknown() -> None:
    assert isinstance(_rocm_wheels.covers("6.1", "gfx900", []), Unknown)
    assert isinstance(_rocm_wheels.covers("10.1.0", "gfx1032", []), Unknown)
    assert _rocm_wheels.covers("10.1.0", "gfx1032", ["amd-torch-device-gfx1032"]) is True


@pytest.mark.parametrize(
    ("value", "gfx"), [("10.3.0", "gfx1030"), ("9.0.10", "gfx90a"), ("11.0.0", "gfx1100"), ("gfx1030", None), ("10.3", None)]
)
def test_overrides(value: str, gfx: str | None) -> None:
    assert _rocm_wheels.pretended(value) == gfx


def _card(gfx: str, override: str | None, local: str) -> dict[str, object]:
    facts = Facts({
        "gpus": Known([{"vendor": "amd", "address": "0000:03:00.0", "kind": "discrete", "gfx": gfx}]),
        "torch.local": Known(local), "torch.base_version": Known("2.4.1"), "torch.build": Known("rocm"),
        "env": Known({"HSA_OVERRIDE_GFX_VERSION": override} if override else {}),
    })  # fmt: skip
    return dict(derived.derive(facts))["amd.gpus"].value[0]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("gfx", "override", "local", "native", "served", "wrong"),
    [
        ("gfx1034", None, "rocm6.1", False, False, False),
        ("gfx1034", "10.3.0", "rocm6.1", False, True, False),
        ("gfx1100", "10.3.0", "rocm6.1", True, True, True),
        ("gfx1101", None, "rocm6.4", True, True, False),
    ],
)
def test_a_card_and_its_wheel(gfx: str, override: str | None, local: str, native: bool, served: bool, wrong: bool) -> None:
    card = _card(gfx, override, local)
    assert (card["native"], card["served"], card["override_wrong"]) == (native, served, wrong)


@pytest.mark.parametrize(
    ("env", "nodes", "hidden"),
    [
        ({"HIP_VISIBLE_DEVICES": ""}, 1, True),
        ({"ROCR_VISIBLE_DEVICES": "3"}, 1, True),
        ({"ROCR_VISIBLE_DEVICES": "3"}, 8, False),  # the one that the runtime still lists
        ({"ROCR_VISIBLE_DEVICES": "3", "HIP_VISIBLE_DEVICES": "3"}, 8, True),
        ({"HIP_VISIBLE_DEVICES": "0"}, 1, False),
        ({}, 1, False),
    ],
)
def test_hidden_devices(env: dict[str, str], nodes: int, hidden: bool) -> None:
    of_kernel = Known([{"gfx": "gfx1100"}] * nodes)
    facts = Facts({"gpus": Known([]), "env": Known(env), "rocm.agents": Known([{"gfx": "gfx1100"}]), "amd.kfd.nodes": of_kernel})
    assert isinstance(dict(derived.derive(facts))["amd.hidden"], Known) is hidden


def test_a_line_that_keeps_amdgpu_from_loading() -> None:
    assert amd.blacklisting_line("# comment\nblacklist amdgpu\n")
    assert amd.blacklisting_line("install amdgpu /bin/false")
    assert amd.blacklisting_line("quiet modprobe.blacklist=nouveau,amdgpu nosplash")
    assert not amd.blacklisting_line("#blacklist amdgpu\nblacklist radeon\nblacklist amdgpufoo\n")
    assert not amd.blacklisting_line("modprobe.blacklist=nouveau amdgpu.dc=1")


def test_a_name_that_several_chips_bear_leaves_the_target_open() -> None:
    named = Facts({"gpus": Known([{"vendor": "amd", "name": "Radeon RX 6600", "address": "radeon rx 6600"}], "text")})
    none = Facts({"gpus": Known([{"vendor": "intel", "name": "Arc A770", "address": "arc a770"}], "text")})
    assert isinstance(dict(derived.derive(named))["amd.gfx"], Unknown)
    assert dict(derived.derive(none))["amd.gfx"] == Known([], "gpus")
