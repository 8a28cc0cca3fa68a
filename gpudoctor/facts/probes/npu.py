"""Neural processing units (NPUs) of Intel, AMD and Apple: device, kernel driver, firmware, node and user-mode driver. They are no GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.facts.probes.pci import DEVICES
from gpudoctor.facts.probes.presence import there
from gpudoctor.facts.probes.windows import parse_adapters
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.package_data import data_table
from gpudoctor.system.host import Host

VENDORS = {"8086": "intel", "1022": "amd", "1002": "amd"}
DRIVERS = {"intel_vpu": "intel", "amdxdna": "amd"}
UNSEEN = Unknown("not recorded")
WINDOWS = (
    "powershell", "-NoProfile", "-Command", "Get-CimInstance Win32_PnPEntity -Filter \"PNPClass='ComputeAccelerator'\" | ConvertTo-Json",
)  # fmt: skip
"""The class that the Device Manager shows as 'Neural processors'."""
INTEL_LIBRARIES = ("libze_intel_npu.so.1", "libze_intel_npu.so", "libze_intel_vpu.so.1", "libze_intel_vpu.so")
LIBRARY_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")
XRT_PACKAGES = ("xrt-npu", "xrt-base", "xrt", "libxrt2", "libxrt-npu2")
XRT_PLUGINS = ("xrt_plugin-amdxdna", "xrt_plugin", "xrt-plugin-amdxdna", "libxrt-npu2")
XRT_LIBRARY = "libxrt_driver_xdna.so"
"""XRT's plug-in for the NPU: src/shim/CMakeLists.txt of amd/xdna-driver."""
XRT_FOLDERS = ("/opt/xilinx/xrt/lib", *LIBRARY_FOLDERS, "/usr/lib/x86_64-linux-gnu/xrt", "/usr/lib/xrt", "/usr/lib64/xrt")
_ACCEL = lazy(r"accel\d{1,3}")
_PCI_ADDRESS = lazy(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_INTEL_FIRMWARE = lazy(r"intel_vpu .{0,80}?Firmware: (\S{1,80}), version: (.{1,120})")
_FIRMWARE_TROUBLE = lazy(
    r"ivpu_fw_\w{1,60}\(\): (?:Failed to request firmware|Incompatible FW|Firmware file is too small|Invalid \w+)|"
    r"amdxdna.{0,80}(?:failed to request_firmware|Incompatible firmware protocol|Firmware minor version smaller|firmware is not alive)|"
    r"(?:intel_vpu|amdxdna).{0,80}Direct firmware load for \S+ failed"
)
_LOADED = lazy(r"Initialized (?:intel_vpu|amdxdna\w*) \d")


@lru_cache(maxsize=1)
def table() -> Mapping[str, Mapping[str, Any]]:
    """The rows of gpudoctor/data/devices-npu.toml by PCI id."""
    return {row["id"]: row for row in data_table("devices-npu")["device"]}


def described(pci_id: str, said: str = "") -> dict[str, Any]:
    """What the table says of an NPU, with the name that the machine gave where the table has none."""
    row = table().get(pci_id, {})
    vendor = VENDORS.get(pci_id.partition(":")[0], "other")
    return {
        "vendor": vendor, "pci_id": pci_id, "name": row.get("name") or said or f"{vendor} NPU {pci_id}",
        "generation": row.get("generation") or Unknown("newer than this table"),
        "min_kernel": row.get("min_kernel") or Unknown("newer than this table"),
    }  # fmt: skip


def parse_firmware(lines: Iterable[str]) -> str | None:
    """File and version of the firmware that intel_vpu took, from the last such line of the kernel's log."""
    found = [match for line in lines if (match := _INTEL_FIRMWARE.search(line))]
    return f"{found[-1][1]}, {found[-1][2].strip()}" if found else None


def parse_firmware_error(lines: Iterable[str]) -> str | None:
    """The last line that says why an NPU has no firmware; None where the driver found one after it.

    Both drivers try several names in turn, and each that is missing leaves a line.
    """
    error = None
    for line in lines:
        if _FIRMWARE_TROUBLE.search(line):
            error = re.sub(r"^\[[\s\d.]{1,20}\]\s*", "", line.strip())[:200]
        elif _LOADED.search(line):
            error = None
    return error


def accel_nodes(host: Host) -> dict[str, str]:
    """By PCI address: the node below /dev/accel."""
    found: dict[str, str] = {}
    for name in host.listdir("/sys/class/accel"):
        if _ACCEL.fullmatch(name):
            place = host.readlink(f"/sys/class/accel/{name}/device") or host.realpath(f"/sys/class/accel/{name}/device")
            addresses = _PCI_ADDRESS.findall(place)
            if addresses:
                found[addresses[-1]] = f"/dev/accel/{name}"
    return found


def from_pci(host: Host, facts: Facts) -> list[dict[str, Any]]:
    records = [record for record in facts.value("pci.devices") or [] if _is_npu(record)]
    nodes = accel_nodes(host) if records else {}
    npus: list[dict[str, Any]] = []
    for record in records:
        npu = described(f"{record['vendor_id']}:{record['device_id']}", str(record.get("name") or ""))
        address = record["address"]
        npu.update(index=len(npus), address=address, driver=record.get("driver"))
        revision = host.read(f"{DEVICES}/{address}/revision", limit=64).text.strip().removeprefix("0x")
        npu["revision"] = revision or UNSEEN
        _node(host, npu, _node_of(host, address, nodes))
        npus.append(npu)
    return npus


def _is_npu(record: Mapping[str, Any]) -> bool:
    return f"{record['vendor_id']}:{record['device_id']}" in table() or record.get("driver") in DRIVERS


def _node_of(host: Host, address: str, nodes: Mapping[str, str]) -> str | None:
    """The node of a PCI address; where sysfs does not tell, the only one there is."""
    inner = [name for name in host.listdir(f"{DEVICES}/{address}/accel") if _ACCEL.fullmatch(name)]
    if address in nodes or inner:
        return nodes.get(address) or f"/dev/accel/{inner[0]}"
    there_are = [name for name in host.listdir("/dev/accel") if _ACCEL.fullmatch(name)]
    return f"/dev/accel/{there_are[0]}" if len(there_are) == 1 and not nodes else None


def _node(host: Host, npu: dict[str, Any], node: str | None) -> None:
    if node is None or there(host, node) is False:
        seen = bool(host.listdir("/dev")) or bool(host.listdir(DEVICES))
        npu.update(node=None if seen else UNSEEN, access=None if seen else UNSEEN, node_group=None, node_mode=None)
        return
    allowed, mode = host.may_open(node), host.mode(node)
    npu.update(node=node, access=UNSEEN if allowed is None else allowed)
    npu.update(node_group=mode.group if mode and mode.group else UNSEEN, node_mode=mode.mode if mode else UNSEEN)


def from_windows(text: str) -> list[dict[str, Any]] | None:
    """The NPUs of Win32_PnPEntity; an empty answer means that there is none."""
    listed = parse_adapters(text) if text.strip() else []
    if listed is None:
        return None
    npus: list[dict[str, Any]] = []
    for entry in listed:
        if entry["vendor"] in ("intel", "amd") or str(entry["pci_id"]) in table():
            npu = described(str(entry["pci_id"] or "0000:0000"), entry["name"])
            unknown = Unknown("not probed")
            npu.update(vendor=VENDORS.get(str(entry["pci_id"]).partition(":")[0], entry["vendor"]), index=len(npus), address=entry["name"])
            npu.update(driver=unknown, node=unknown, access=unknown, node_group=None, node_mode=None, revision=unknown)
            npu["error_code"] = entry["error_code"]
            npus.append(npu)
    return npus


def from_mac(facts: Facts) -> list[dict[str, Any]]:
    """Every Apple processor of a Mac holds a Neural Engine; it has no driver or node of its own that a program would open."""
    if facts.value("macos.apple_silicon") is not True:
        return []
    unknown = Unknown("not probed")
    name = f"Apple Neural Engine of {facts.value('macos.chip') or 'this Mac'}"
    return [{
        "index": 0, "address": name, "vendor": "apple", "name": name, "driver": unknown, "node": unknown, "access": unknown,
        "node_group": None, "node_mode": None,
    }]  # fmt: skip


def _listed(host: Host, facts: Facts) -> Fact:
    kind = str(facts.value("platform.kind", host.platform))
    if kind == "macos":
        return Known(from_mac(facts), "sysctl") if facts.known("macos.apple_silicon") else UNSEEN
    if kind == "windows":
        said = host.run(WINDOWS, timeout=6.0)
        npus = from_windows(said.stdout) if said.ok else None
        return Known(npus, "Win32_PnPEntity") if npus is not None else Unknown(said.why_not())
    if facts.value("bus.pci.visible") is True:
        return Known(from_pci(host, facts), DEVICES)
    bus = facts.get("bus.pci.visible")
    return bus if isinstance(bus, Unknown) else UNSEEN


def _firmware(host: Host, facts: Facts, npus: list[dict[str, Any]]) -> Collected:
    log = facts.get("kernel.log")
    lines = [str(line) for line in log.value] if isinstance(log, Known) else []
    version = parse_firmware(lines)
    for npu in npus if version is None else ():
        text = host.read(f"{DEVICES}/{npu['address']}/fw_version", limit=200)
        version = text.text.strip() or version
    error = parse_firmware_error(lines)
    silent: Fact = Absent("kernel log") if isinstance(log, Known) else log if isinstance(log, Unknown) else UNSEEN
    yield "npu.firmware.version", Known(version, "kernel log or fw_version") if version else silent if not npus else UNSEEN
    yield "npu.firmware.error", Known(error, "kernel log") if error else silent


def _node_fact(host: Host, npus: list[dict[str, Any]] | None, vendor: str) -> Fact:
    mine = [npu["node"] for npu in npus or () if npu["vendor"] == vendor]
    if mine:
        if isinstance(mine[0], Unknown):
            return mine[0]
        return Known(mine[0], "/dev/accel") if mine[0] is not None else Absent("/dev/accel")
    if npus is None and vendor == "intel" and host.exists("/dev/accel/accel0"):  # a container that shows the node and no bus
        return Known("/dev/accel/accel0", "/dev/accel")
    return Absent("/dev/accel")


def _found(host: Host, facts: Facts, names: Iterable[str], folders: Iterable[str]) -> Fact:
    libraries = facts.get("libraries")
    known = libraries.value if isinstance(libraries, Known) and isinstance(libraries.value, Mapping) else {}
    for name in names:
        if isinstance(known.get(name), str):
            return Known(known[name], "ldconfig -p")
        for folder in folders:
            if host.exists(f"{folder}/{name}"):
                return Known(f"{folder}/{name}", folder)
    return libraries if isinstance(libraries, Unknown) else Absent("ldconfig -p")


def _xrt(host: Host, facts: Facts) -> Collected:
    packages = facts.value("packages")
    held = packages if isinstance(packages, Mapping) else {}
    base = next((name for name in XRT_PACKAGES if name in held), None)
    unlisted: Fact = Absent("packages") if isinstance(packages, Mapping) else UNSEEN
    there_is = host.exists("/opt/xilinx/xrt/setup.sh")
    yield "amd.xrt.package", Known(base, "packages") if base else Known("/opt/xilinx/xrt", "/opt/xilinx/xrt") if there_is else unlisted
    yield "amd.xrt.version", Known(str(held[base]), f"package {base}") if base else unlisted
    library = _found(host, facts, (XRT_LIBRARY, f"{XRT_LIBRARY}.2"), XRT_FOLDERS)
    plugin = next((name for name in XRT_PLUGINS if name in held), None)
    if isinstance(library, Known) or plugin is None:
        yield "amd.xrt.npu_plugin", library
    else:
        yield "amd.xrt.npu_plugin", Known(plugin, "packages")


def collect(host: Host, facts: Facts) -> Collected:
    listed = _listed(host, facts)
    npus: list[dict[str, Any]] | None = listed.value if isinstance(listed, Known) else None
    yield "npus", listed
    yield "npu.count", Known(len(npus)) if npus is not None else listed
    if host.platform in ("windows", "macos"):
        return
    yield "intel.npu.node", _node_fact(host, npus, "intel")
    if not npus:
        return
    yield from _firmware(host, facts, npus)
    yield "intel.npu.library", _found(host, facts, INTEL_LIBRARIES, LIBRARY_FOLDERS)
    yield from _xrt(host, facts)


PROBE = Probe(
    "npu",
    (
        FactSpec(
            "npus", "records", "neural processing units (NPUs)", item="npu",
            fields={"index": "int", "address": "text", "vendor": "text", "pci_id": "text", "name": "text", "generation": "text",
                    "min_kernel": "dotted", "revision": "text", "driver": "text", "node": "text", "access": "bool", "node_group": "text",
                    "node_mode": "text", "error_code": "int"},
        ),
        FactSpec("npu.count", "int", "number of NPUs"),
        FactSpec("npu.firmware.version", "text", "firmware that the NPU runs, as its driver says"),
        FactSpec("npu.firmware.error", "text", "line of the kernel's log that says why the NPU has no firmware"),
        FactSpec("intel.npu.node", "text", "device node of Intel's NPU"),
        FactSpec("intel.npu.library", "text", "path of libze_intel_npu.so, Intel's Level Zero driver for the NPU"),
        FactSpec("amd.xrt.package", "text", "what holds XRT, the runtime of AMD's NPU"),
        FactSpec("amd.xrt.version", "text", "version of XRT"),
        FactSpec("amd.xrt.npu_plugin", "text", "XRT's plug-in for the NPU: path of libxrt_driver_xdna.so, or its package"),
    ),
    collect,
    needs=("platform.kind", "bus.pci.visible", "pci.devices", "kernel.log", "libraries", "packages", "macos.apple_silicon", "macos.chip"),
)  # fmt: skip
