"""The GPUs of this machine, of every vendor: from the PCI bus, else from the list of adapters of Windows or macOS."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.facts.probes.device_table import VENDORS, DeviceRow, lookup, lookup_name
from gpudoctor.facts.probes.pci import DEVICES, is_device_of_interest, parse_regions, parse_resource
from gpudoctor.facts.probes.pci_link import link_fields
from gpudoctor.facts.probes.presence import there
from gpudoctor.model.facts import Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host

VIRTUAL = frozenset(("1a03", "102b", "1b36", "1af4", "1013", "15ad", "1234", "80ee", "1414", "5333", "1002:515e", "1002:5159", "1de1"))
"""Vendors and single devices whose display adapters belong to management controllers and virtual machines."""
PCI_IDS = ("/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids")
FIELDS = {
    "index": "int", "address": "text", "vendor": "text", "pci_id": "text", "name": "text", "kind": "text",
    "generation": "text", "arch": "text",
    "compute_capability": "dotted", "gfx": "text", "min_kernel": "dotted", "driver": "text", "driver_candidates": "list", "node": "text",
    "card_node": "text", "access": "bool", "node_group": "text", "node_mode": "text", "bar_bytes": "int", "memory_bytes": "int",
    "link_port": "text", "link_speed": "text", "link_width": "int", "link_speed_max": "text", "link_width_max": "int",
    "numa_node": "int", "class": "text", "known_id": "bool",
}  # fmt: skip
UNSEEN = Unknown("not recorded")
STORE = (
    ("intel", r"iigd_dch|igdlh|iigd_ext|cui_dch"),
    ("nvidia", r"nv[a-z_]*\.inf|nv_disp|nvlt|nvmii|nvdm"),
    ("amd", r"u\d{7}\.inf|c\d{7}\.inf|amd"),
)
VENDOR_NAMES = {"intel": "Intel", "nvidia": "NVIDIA", "amd": "AMD"}


def parse_pci_ids(text: str, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The names of the wanted (vendor id, device id) pairs in the file pci.ids (https://pci-ids.ucw.cz)."""
    pairs = set(wanted)
    found: dict[tuple[str, str], str] = {}
    vendor = ""
    for line in text.splitlines():
        if line[:1] not in ("", "\t", "#"):
            vendor = line[:4]
        elif line.startswith("\t") and line[1:2] != "\t" and (vendor, line[1:5]) in pairs:
            found[vendor, line[1:5]] = line[5:].strip()
    return found


def short_name(name: str) -> str:
    """The product in a name of pci.ids: 'GeForce RTX 3060' of 'GA106 [GeForce RTX 3060]'."""
    found = re.search(r"\[([^\[\]]+)\]$", name.rstrip())
    return found[1] if found else name


def is_virtual(record: dict[str, Any]) -> bool:
    return record["vendor_id"] in VIRTUAL or f"{record['vendor_id']}:{record['device_id']}" in VIRTUAL


def drm_nodes(host: Host) -> dict[str, dict[str, str]]:
    """The card and render nodes of each PCI address: {'0000:03:00.0': {'card_node': …, 'node': …}}, from /sys/class/drm, else from
    /dev/dri/by-path."""
    found: dict[str, dict[str, str]] = {}
    for name in host.listdir("/sys/class/drm"):
        kind = "node" if re.fullmatch(r"renderD\d+", name) else "card_node" if re.fullmatch(r"card\d+", name) else ""
        link = host.readlink(f"/sys/class/drm/{name}/device") if kind else None
        if kind and link is None:
            link = host.realpath(f"/sys/class/drm/{name}/device")
        addresses = re.findall(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", link or "")
        if kind and addresses:
            found.setdefault(addresses[-1], {})[kind] = f"/dev/dri/{name}"
    for name in host.listdir("/dev/dri/by-path"):
        parts = re.fullmatch(r"pci-([0-9a-f:.]+)-(card|render)", name)
        link = host.readlink(f"/dev/dri/by-path/{name}")
        if parts and link:
            kind = "node" if parts[2] == "render" else "card_node"
            found.setdefault(parts[1], {}).setdefault(kind, f"/dev/dri/{link.rpartition('/')[2]}")
    for address in set(host.listdir(DEVICES)) - set(found):
        for name in host.listdir(f"{DEVICES}/{address}/drm"):
            kind = "node" if name.startswith("renderD") else "card_node" if re.fullmatch(r"card\d+", name) else ""
            if kind:
                found.setdefault(address, {})[kind] = f"/dev/dri/{name}"
    return found


def nvidia_minor(host: Host, address: str) -> str | None:
    """The node /dev/nvidiaN of a PCI address, by the driver's file in /proc; None where it has none."""
    text = host.read(f"/proc/driver/nvidia/gpus/{address}/information").text
    found = re.search(r"Device Minor:\s*(\d+)", text)
    return f"/dev/nvidia{found[1]}" if found else None


def _number(host: Host, path: str) -> Any:
    text = host.read(path, limit=64).text.strip()
    return int(text) if re.fullmatch(r"-?\d+", text) else UNSEEN


def candidates(modules: list[str], device: DeviceRow | None) -> list[str]:
    """The kernel drivers that could drive the device: those that lspci lists, then those of the table."""
    names = [*modules, *(device.drivers if device else ())]
    return [name for number, name in enumerate(names) if name not in names[:number]]


def from_pci(host: Host, facts: Facts) -> list[dict[str, Any]]:
    """The GPUs and accelerators of the PCI bus, without those of management controllers and virtual machines."""
    records = [record for record in facts.value("pci.devices", []) if is_device_of_interest(record) and not is_virtual(record)]
    records = [record for record in records if not _serves_no_gpu_stack(record)]
    if not records:
        return []
    nodes = drm_nodes(host)
    names = _names(host, [record for record in records if not record.get("name")])
    regions: dict[str, int] | None = None
    gpus: list[dict[str, Any]] = []
    for record in records:
        ids = (record["vendor_id"], record["device_id"])
        gpu = describe(*ids, record.get("name") or names.get(ids, ""))
        address, folder = record["address"], f"{DEVICES}/{record['address']}"
        gpu.update(address=address, driver=record.get("driver"), index=len(gpus))
        gpu["class"] = record.get("class", "")
        gpu["driver_candidates"] = candidates(record.get("modules", []), lookup(*ids))
        bar = parse_resource(host.read(f"{folder}/resource").text)
        if bar is None and gpu["vendor"] in ("intel", "nvidia", "amd"):
            if regions is None:
                regions = parse_regions(host.run(["lspci", "-nnvv"]).stdout)
            bar = regions.get(address)
        gpu["bar_bytes"] = bar or UNSEEN
        gpu["numa_node"] = _number(host, f"{folder}/numa_node")
        vram = _number(host, f"{folder}/mem_info_vram_total")
        if isinstance(vram, int):
            gpu["memory_bytes"] = vram
        if gpu["kind"] is None:
            gpu["kind"] = "accelerator" if gpu["class"].startswith("12") else "integrated" if address.startswith("0000:00:") else "discrete"
        gpu.update(link_fields(host, address, gpu["kind"]))
        _node(host, gpu, nodes.get(address, {}))
        gpus.append(gpu)
    return gpus


def _serves_no_gpu_stack(record: dict[str, Any]) -> bool:
    """Whether this is one of Intel's processing accelerators that no stack for GPUs uses: a data mover or an NPU."""
    other = str(record.get("class", "")).startswith(("12", "0b40"))
    return record["vendor_id"] == "8086" and other and lookup("8086", record["device_id"]) is None


def _names(host: Host, records: list[dict[str, Any]]) -> dict[tuple[str, str], str]:
    wanted = [(r["vendor_id"], r["device_id"]) for r in records if _own_name(r) is None]
    if not wanted or host.quick:
        return {}
    for path in PCI_IDS:
        text = host.read(path, limit=4_000_000)
        if text.ok:
            return parse_pci_ids(text.text, wanted)
    return {}


def _own_name(record: dict[str, Any]) -> str | None:
    device = lookup(record["vendor_id"], record["device_id"])
    return device.name if device else None


def describe(vendor_id: str, device_id: str, said: str = "") -> dict[str, Any]:
    """The record of the fact gpus for a device, by the tables. `said`: the name that the machine gives, for devices that the tables
    lack."""
    said = "" if re.fullmatch(r"Device(?: [0-9a-f]{4})?", said) else short_name(said)
    vendor = VENDORS.get(vendor_id, "other")
    gpu = described(lookup(vendor_id, device_id) or DeviceRow(), vendor)
    gpu.update(pci_id=f"{vendor_id}:{device_id}", name=gpu["name"] or said or f"{vendor} device {device_id}")
    return gpu


def described(device: DeviceRow, vendor: str) -> dict[str, Any]:
    """The fields of the record that follow from a row of the tables."""
    unknown = Unknown("newer than this table")
    return {
        "vendor": vendor, "name": device.name,
        "kind": device.kind, "generation": device.generation or unknown, "arch": device.arch or unknown,
        "compute_capability": device.compute_capability or (unknown if vendor == "nvidia" else None),
        "gfx": device.gfx or (unknown if vendor == "amd" else None), "min_kernel": device.min_kernel or unknown,
        "memory_bytes": device.memory_bytes or UNSEEN, "known_id": device.generation is not None,
    }  # fmt: skip


def _node(host: Host, gpu: dict[str, Any], nodes: dict[str, str]) -> None:
    """Adds the node that compute programs open, whether this user may open it, its group and its mode. The node is None where the device
    has none."""
    node = nodes.get("node")
    gpu["card_node"] = nodes.get("card_node") if nodes.get("card_node") and host.exists(nodes["card_node"]) else None
    if gpu["vendor"] == "nvidia":
        node = nvidia_minor(host, gpu["address"])
        if node is None:
            present = [name for name in host.listdir("/dev") if re.fullmatch(r"nvidia\d+", name)]
            same = gpu["index"]
            node = f"/dev/nvidia{same}" if f"nvidia{same}" in present else f"/dev/{present[0]}" if present else nodes.get("node")
    elif gpu["vendor"] == "graphcore":
        node = None
    if node is not None and there(host, node) is False:
        node = None
    if node is None:
        seen = bool(host.listdir("/dev")) or bool(host.listdir(DEVICES))
        gpu.update(node=None if seen else UNSEEN, access=None if seen else UNSEEN, node_group=None, node_mode=None)
        return
    gpu["node"] = node
    allowed = host.may_open(node)
    gpu["access"] = UNSEEN if allowed is None else allowed
    mode = host.mode(node)
    gpu["node_group"] = mode.group if mode and mode.group else UNSEEN
    gpu["node_mode"] = mode.mode if mode else UNSEEN


def from_adapters(host: Host, facts: Facts, node: str | None) -> list[dict[str, Any]]:
    """The GPUs that Windows lists. `node`: /dev/dxg, through which programs in WSL2 reach them; None outside."""
    gpus: list[dict[str, Any]] = []
    for adapter in facts.value("windows.adapters", []):
        vendor_id, _, device_id = str(adapter.get("pci_id") or "").partition(":")
        if vendor_id and vendor_id not in VIRTUAL:
            gpu = describe(vendor_id, device_id, str(adapter.get("name") or ""))
            gpu["name"] = adapter.get("name") or gpu["name"]
        elif adapter.get("vendor") in ("intel", "nvidia", "amd", "qualcomm"):
            gpu = describe("0000", "0000", str(adapter.get("name") or ""))
            gpu.update(vendor=adapter["vendor"], pci_id=Unknown("not recorded"))
        else:
            continue
        gpu.update(index=len(gpus), address=gpu["name"], driver=Unknown("not probed"), driver_candidates=[])
        gpu["bar_bytes"] = Unknown("not probed")
        gpu["driver_version"] = adapter.get("driver_version")
        # Windows gives 32 bits: from 4 GB on the number is only a lower bound.
        memory = adapter.get("memory_bytes")
        if isinstance(memory, int) and memory < 4293918720 and not isinstance(gpu["memory_bytes"], int):
            gpu["memory_bytes"] = memory
        gpu["kind"] = gpu["kind"] or "discrete"
        gpu.update(node=Unknown("not probed"), card_node=None, access=Unknown("not probed"), node_group=None, node_mode=None)
        if node is not None:
            allowed = host.may_open(node)
            gpu.update(node=node, access=UNSEEN if allowed is None else allowed)
        gpus.append(gpu)
    return gpus


def from_apple(facts: Facts) -> list[dict[str, Any]]:
    """The GPUs that macOS lists."""
    gpus: list[dict[str, Any]] = []
    for adapter in facts.value("macos.adapters", []):
        unseen = Unknown("not probed")
        gpus.append({
            "index": len(gpus), "address": adapter["name"], "vendor": adapter["vendor"], "name": adapter["name"],
            "kind": "integrated" if adapter["vendor"] in ("apple", "intel") else "discrete",
            "generation": adapter.get("metal") or UNSEEN, "memory_bytes": adapter.get("memory_bytes") or UNSEEN,
            "node": unseen, "access": unseen, "driver": unseen, "driver_candidates": [],
        })  # fmt: skip
    return gpus


_NUMBERED = lazy(r"Device ([0-9a-fA-F]{4})")
"""The name that lspci prints for a GPU that its list lacks."""
_VENDOR_IDS = {vendor: number for number, vendor in VENDORS.items()}


def named_gpu(maker: str, name: str, index: int) -> dict[str, Any]:
    """A GPU of which only its name and its vendor, or its PCI id (8086:56a0), are known."""
    if ":" in maker:
        gpu = describe(*maker.split(":", 1))
        gpu.update(index=index, address=gpu["name"], driver=UNSEEN, driver_candidates=[])
        gpu.update(node=UNSEEN, access=UNSEEN, card_node=None, node_group=None, node_mode=None, bar_bytes=UNSEEN)
        return gpu
    numbered = _NUMBERED.fullmatch(name)
    if numbered and maker in _VENDOR_IDS:
        return named_gpu(f"{_VENDOR_IDS[maker]}:{numbered[1].lower()}", name, index)
    return _only_named(maker, name, index)


_INTEGRATED = lazy(
    r"radeon(?:\(tm\)|™)?(?: (?:graphics|vega \d{1,2} graphics|r[2-7] graphics|[67]\d0m|8\d{2}[ms]))|\biris|\bu?hd graphics|"
    r"^intel\(r\) graphics|arc(?:\(tm\)|™)? (?:graphics|\d{3}[vt])",
    re.IGNORECASE,
)
"""Names of integrated GPUs that carry no number which the tables hold."""


def _only_named(vendor: str, name: str, index: int) -> dict[str, Any]:
    """A GPU of which only vendor and name are known."""
    device = lookup_name(vendor, name)
    gpu = describe("0000", "0000", name) if device is None else described(device, vendor)
    if gpu["kind"] is None and _INTEGRATED.search(name):
        gpu["kind"] = "integrated"
    gpu.update(vendor=vendor, name=name, index=index, address=name, pci_id=UNSEEN, driver=UNSEEN, driver_candidates=[])
    gpu.update(node=UNSEEN, access=UNSEEN, card_node=None, node_group=None, node_mode=None)
    return gpu


def from_driver_store(host: Host) -> list[dict[str, Any]]:
    """One GPU for each vendor whose Windows driver is mounted below /usr/lib/wsl/drivers: all that WSL2 shows without PowerShell."""
    vendors = []
    for folder in host.listdir("/usr/lib/wsl/drivers"):
        vendor = next((vendor for vendor, pattern in STORE if re.match(pattern, folder)), None)
        if vendor and vendor not in vendors:
            vendors.append(vendor)
    return [_only_named(vendor, f"{VENDOR_NAMES[vendor]} GPU", number) for number, vendor in enumerate(vendors)]


def from_nvidia_smi(host: Host) -> list[dict[str, Any]]:
    """The GPUs that nvidia-smi lists: the last resort in WSL2 and in containers without sysfs."""
    from gpudoctor.facts.probes.nvidia import QUERY
    from gpudoctor.facts.probes.nvidia_smi import parse_query

    gpus: list[dict[str, Any]] = []
    for command in ("nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi"):
        said = host.run([command, "-L"])
        names = re.findall(r"^GPU \d+: (.+?) \(UUID", said.stdout, re.MULTILINE)
        for name in names or [row["name"] for row in parse_query(host.run([command, *QUERY[1:]]).stdout)]:
            gpus.append(_only_named("nvidia", name, len(gpus)))
        if gpus:
            break
    return gpus


def collect(host: Host, facts: Facts) -> Collected:
    kind = facts.value("platform.kind", host.platform)
    if kind == "macos":
        gpus = from_apple(facts)
        known = facts.known("macos.adapters")
    elif kind == "windows" or str(kind).startswith("wsl"):
        node = "/dev/dxg" if kind != "windows" and host.exists("/dev/dxg") else None
        gpus = from_adapters(host, facts, node)
        known = facts.known("windows.adapters")
        if not gpus and not known:
            gpus = from_nvidia_smi(host) or from_driver_store(host)
            for gpu in gpus:
                allowed = host.may_open(node) if node else None
                gpu.update(node=node or UNSEEN, access=UNSEEN if allowed is None else allowed)
    else:
        gpus = from_pci(host, facts)
        known = bool(facts.value("bus.pci.visible", False))
        if not gpus and not known:
            gpus = from_nvidia_smi(host)
    if gpus or known:
        yield "gpus", Known(gpus, DEVICES if kind in ("linux", "container") else "adapters")
        yield "gpu.vendors", Known(sorted({gpu["vendor"] for gpu in gpus}))
        yield "gpu.count", Known(len(gpus))
        return
    for name in ("gpus", "gpu.vendors", "gpu.count"):
        why = getattr(getattr(host, "door", None), "no_devices", "")
        yield name, Unknown(f"not inspected: {why}" if why else "not recorded" if host.origin == "capture" else "not probed")


PROBE = Probe(
    "gpus",
    (
        FactSpec("gpus", "records", "GPUs and accelerators", item="gpu", fields={**FIELDS, "driver_version": "dotted"}),
        FactSpec("gpu.vendors", "list", "vendors of the GPUs"),
        FactSpec("gpu.count", "int", "number of GPUs"),
    ),
    collect,
    needs=("pci.devices", "bus.pci.visible", "platform.kind", "windows.adapters", "macos.adapters"),
)
