"""The link of a card is that of the port towards the slot: cards of Intel and AMD hold a switch of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recorded_trees import machine, write

from gpudoctor.capture.recorded_host import open_recorded
from gpudoctor.facts.probes.pci_link import link_fields, slot_port
from gpudoctor.model.facts import Unknown

DEVICES = "/sys/bus/pci/devices"
CARD, PORT, INNER = "0000:03:00.0", "0000:01:00.0", "0000:02:00.0"


def linked(address: str, vendor: str, speed: str, width: str) -> dict[str, str]:
    names = {"vendor": vendor, "current_link_speed": speed, "max_link_speed": "16.0 GT/s PCIe", "current_link_width": width,
             "max_link_width": "16"}  # fmt: skip
    return {f"{DEVICES}/{address}/{name}": f"{value}\n" for name, value in names.items()}


def placed(folder: Path, place: str, *devices: dict[str, str]) -> str:
    write(folder, {path: text for files in devices for path, text in files.items()})
    (folder / "machine.toml").write_text('format = 1\ncomplete = false\nplatform = "linux"\n')
    (folder / "realpaths.toml").write_text(f"{json.dumps(f'{DEVICES}/{CARD}')} = {json.dumps(place)}\n")
    return str(folder)


@pytest.mark.parametrize("vendor", ["0x1002", "0x8086"])
def test_the_port_towards_the_slot_speaks_for_the_card(tmp_path: Path, vendor: str) -> None:
    place = f"/sys/devices/pci0000:00/0000:00:01.0/{PORT}/{INNER}/{CARD}"
    own = ("16.0 GT/s PCIe", "16") if vendor == "0x1002" else ("2.5 GT/s PCIe", "1")
    devices = (linked(PORT, vendor, "8.0 GT/s PCIe", "4"), linked(INNER, vendor, *own), linked(CARD, vendor, *own))
    host = open_recorded(placed(tmp_path, place, *devices))
    fields = link_fields(host, CARD, "discrete")
    assert (fields["link_port"], fields["link_speed"], fields["link_width"], fields["link_width_max"]) == (PORT, "8.0 GT/s PCIe", 4, 16)


def test_a_thunderbolt_bridge_of_intel_is_no_part_of_an_intel_card(tmp_path: Path) -> None:
    dock = ("0000:04:00.0", "0000:05:01.0")
    place = f"/sys/devices/pci0000:00/0000:00:07.0/{'/'.join(dock)}/{PORT}/{INNER}/{CARD}"
    devices = [linked(address, "0x8086", "2.5 GT/s PCIe", "4") for address in (*dock, PORT, INNER, CARD)]
    assert slot_port(open_recorded(placed(tmp_path, place, *devices)), CARD) == PORT


def test_a_card_without_a_switch_speaks_for_itself(tmp_path: Path) -> None:
    host = open_recorded(placed(tmp_path, f"/sys/devices/pci0000:00/0000:00:01.0/{CARD}", linked(CARD, "0x10de", "8.0 GT/s PCIe", "8")))
    assert (slot_port(host, CARD), link_fields(host, CARD, "discrete")["link_width"]) == (CARD, 8)


def test_where_the_place_is_not_recorded_a_card_with_a_switch_says_nothing(tmp_path: Path) -> None:
    host = machine(tmp_path, {**linked(CARD, "0x8086", "2.5 GT/s PCIe", "1"), **linked("0000:05:00.0", "0x10de", "8.0 GT/s PCIe", "4")})
    assert slot_port(host, CARD) is None and isinstance(link_fields(host, CARD, "discrete")["link_width"], Unknown)
    assert link_fields(host, "0000:05:00.0", "discrete")["link_width"] == 4


@pytest.mark.parametrize("width", ["0", "255", "x", ""])
def test_a_width_that_says_nothing_is_unknown(tmp_path: Path, width: str) -> None:
    host = machine(tmp_path, linked(CARD, "0x10de", "Unknown", width))
    fields = link_fields(host, CARD, "discrete")
    assert isinstance(fields["link_width"], Unknown) and isinstance(fields["link_speed"], Unknown)
