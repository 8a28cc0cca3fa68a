"""The devices on the PCI bus: from sysfs, completed or replaced by lspci."""

from __future__ import annotations

import re
from typing import Any

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.model.facts import Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host

DEVICES = "/sys/bus/pci/devices"
LSPCI = ("lspci", "-Dvmmnnk")
_NUMBERED = lazy(r"^(.*?)\s{0,8}\[([0-9a-fA-F]{4})\]$")
_SHORT = lazy(
    r"^((?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (.{0,120}?) \[([0-9a-f]{4})\]: "
    r"(.{0,300}?) ?\[([0-9a-f]{4}):([0-9a-f]{4})\]"
)
_ADDRESS = lazy(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")


def parse_resource(text: str) -> int | None:
    """The bytes of the largest memory BAR in the sysfs file `resource`, without the seventh line, the expansion ROM; None without one."""
    largest = 0
    for line in text.splitlines()[:6]:
        parts = line.split()
        try:
            start, end, flags = (int(part, 16) for part in parts[:3])
        except ValueError:
            continue
        if end > start and flags & 0x200:
            largest = max(largest, end - start + 1)
    return largest or None


def parse_lspci(text: str) -> dict[str, dict[str, Any]]:
    """The devices in `lspci -Dvmmnnk` by PCI address: name, ids, driver, candidate modules."""
    found: dict[str, dict[str, Any]] = {}
    for block in text.split("\n\n"):
        fields: dict[str, list[str]] = {}
        for line in block.splitlines():
            key, separator, value = line.partition(":\t")
            if separator:
                fields.setdefault(key, []).append(value.strip())
        slot = fields.get("Slot", [""])[0]
        if not slot:
            continue
        record: dict[str, Any] = {"address": slot if slot.count(":") == 2 else f"0000:{slot}"}
        for key, ids, names in (("Class", "class", "class_name"), ("Vendor", "vendor_id", "vendor_name"), ("Device", "device_id", "name")):
            numbered = _NUMBERED.match(fields.get(key, [""])[0])
            if numbered:
                record[ids], record[names] = numbered[2].lower(), numbered[1]
        record["driver"] = fields["Driver"][0] if fields.get("Driver") else None
        record["modules"] = [word for line in fields.get("Module", []) for word in re.split(r"[,\s]+", line) if word]
        found[record["address"]] = record
    return found


def parse_lspci_k(text: str) -> dict[str, dict[str, Any]]:
    """The devices in `lspci -nnk`, the form for people, by PCI address."""
    found: dict[str, dict[str, Any]] = {}
    record: dict[str, Any] | None = None
    for line in text.splitlines():
        head = _SHORT.match(line)
        if head:
            address = head[1] if head[1].count(":") == 2 else f"0000:{head[1]}"
            record = {"address": address, "class": head[3], "class_name": head[2], "name": head[4].strip(), "vendor_id": head[5],
                      "device_id": head[6], "driver": None, "modules": []}  # fmt: skip
            found[address] = record
        elif record is not None and "Kernel driver in use:" in line:
            record["driver"] = line.split(":", 1)[1].strip()
        elif record is not None and "Kernel modules:" in line:
            record["modules"] = [word for word in re.split(r"[,\s]+", line.split(":", 1)[1]) if word]
        elif line and not line[0].isspace():
            record = None
    return found


def parse_regions(text: str) -> dict[str, int]:
    """The bytes of the largest memory region of each PCI address in `lspci -nnvv`: 'Memory at … [size=16G]'."""
    found: dict[str, int] = {}
    address = ""
    for line in text.splitlines():
        head = re.match(r"^((?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) ", line)
        if head:
            address = head[1] if head[1].count(":") == 2 else f"0000:{head[1]}"
        region = re.search(r"Memory at .*\[size=(\d+)([KMGT])\]", line)
        if region and address:
            size = int(region[1]) << {"K": 10, "M": 20, "G": 30, "T": 40}[region[2]]
            found[address] = max(size, found.get(address, 0))
    return found


def _hex(text: str) -> str:
    return text.strip().removeprefix("0x").lower()


def from_sysfs(host: Host, address: str) -> dict[str, Any] | None:
    folder = f"{DEVICES}/{address}"
    vendor, device = _hex(host.read(f"{folder}/vendor", limit=64).text), _hex(host.read(f"{folder}/device", limit=64).text)
    kind = _hex(host.read(f"{folder}/class", limit=64).text)
    if not vendor or not device:
        return None
    link = host.readlink(f"{folder}/driver")
    record: dict[str, Any] = {"address": address, "vendor_id": vendor, "device_id": device, "class": kind[:4], "prog_if": kind[4:]}
    record["driver"] = link.rstrip("/").rpartition("/")[2] if link else None
    return record


def collect(host: Host, facts: Facts) -> Collected:
    if host.platform in ("windows", "macos"):
        return
    names = [name for name in host.listdir(DEVICES) if _ADDRESS.match(name)]
    records = [record for record in (from_sysfs(host, name) for name in names) if record]
    by_command: dict[str, dict[str, Any]] = {}
    relevant = not records or any(is_device_of_interest(record) for record in records)
    if relevant:
        said = host.run(LSPCI)
        by_command = parse_lspci(said.stdout) if said.ok else {}
        if not by_command:
            by_command = parse_lspci_k(host.run(["lspci", "-nnk"]).stdout)
    if not records:
        records = [dict(record) for record in by_command.values() if record.get("vendor_id")]
    for record in records:
        extra = by_command.get(record["address"], {})
        for key in ("name", "class_name", "modules"):
            if extra.get(key):
                record.setdefault(key, extra[key])
        if record.get("driver") is None and extra.get("driver"):
            record["driver"] = extra["driver"]
    if not records and host.origin == "live" and not host.knows(DEVICES):  # a root without a mounted /sys shows the bus of no machine
        yield "pci.devices", Unknown("not recorded")
        yield "bus.pci.visible", Unknown("not recorded")
        return
    yield "pci.devices", Known(records, DEVICES) if records or host.origin == "live" else Unknown("not recorded")
    yield "bus.pci.visible", Known(bool(records), DEVICES)


def is_device_of_interest(record: dict[str, Any]) -> bool:
    """Whether this is a display controller, an accelerator or a card of Graphcore."""
    kind = str(record.get("class", ""))
    return kind.startswith(("03", "12", "0b40")) or record.get("vendor_id") == "1d95"


PROBE = Probe(
    "pci",
    (
        FactSpec("bus.pci.visible", "bool", "whether any PCI device can be seen"),
        FactSpec(
            "pci.devices", "records", "devices on the PCI bus", item="pci",
            fields={"address": "text", "vendor_id": "text", "device_id": "text", "class": "text", "class_name": "text", "prog_if": "text",
                    "driver": "text", "name": "text", "modules": "list"},
        ),
    ),
    collect,
)  # fmt: skip
