"""What connects the GPUs of one machine with each other and with others: RDMA ports, network cards, the way through the PCI tree, IOMMU."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.facts.probes.pci import DEVICES
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host

PORTS, NET, NODES, GROUPS = "/sys/class/infiniband", "/sys/class/net", "/dev/infiniband", "/sys/kernel/iommu_groups"
UNSEEN = Unknown("not recorded")
SAME_SWITCH, SAME_ROOT, SAME_NODE, ACROSS = "same switch", "same root complex", "same NUMA node", "across NUMA nodes"
MODULES = ("nvidia_peermem", "nv_peer_mem", "gdrdrv")
OF_GPUS = {
    "name": "text",
    "device": "text",
    "state": "text",
    "rate_gbits": "float",
    "sibling_rate_gbits": "float",
    "link_layer": "text",
    "phys_state": "text",
    "addresses": "int",
}
MOST = 64
"""Devices and ports that are looked at."""
_ADDRESS = lazy(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_ROOT = lazy(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")


def parse_state(text: str) -> str | None:
    """'ACTIVE' of '4: ACTIVE', 'LinkUp' of '5: LinkUp'."""
    found = re.match(r"\s*\d{1,2}:\s*(\w{1,20})", text)
    return found[1] if found else None


def parse_rate(text: str) -> float | None:
    """400.0 of '400 Gb/sec (4X NDR)'."""
    found = re.match(r"\s*(\d{1,6}(?:\.\d{1,3})?)\s*Gb/sec", text)
    return float(found[1]) if found else None


def distance(first: str, second: str, nodes: tuple[Any, Any] = (None, None)) -> str | None:
    """How far two devices are from each other, by their real paths below /sys/devices and their NUMA nodes; None where nothing tells.

    Behind a common bridge below the root port they are on one switch; with the root alone in common, on one root complex.
    """
    one, other = (path.strip("/").split("/") for path in (first, second))
    common = 0
    while common < min(len(one), len(other)) - 1 and one[common] == other[common]:
        common += 1
    shared = one[:common]
    if any(_ROOT.fullmatch(part) for part in shared):
        bridges = sum(_ADDRESS.fullmatch(part) is not None for part in shared)
        return SAME_SWITCH if bridges >= 2 else SAME_ROOT
    known = all(isinstance(node, int) and node >= 0 for node in nodes)
    return (SAME_NODE if nodes[0] == nodes[1] else ACROSS) if known else None


def _is_address(gid: str) -> bool:
    """Whether an entry of the GID table stands for an address that somebody gave: neither empty nor the link-local default."""
    return bool(gid.strip(":0")) and not gid.startswith("fe80:")


def _number(host: Host, path: str) -> Any:
    text = host.read(path, limit=64).text.strip()
    return int(text) if re.fullmatch(r"-?\d{1,9}", text) else UNSEEN


def _device(host: Host, folder: str) -> tuple[str, str]:
    """(the PCI address of a class device, its real path), each '' where it has none."""
    path = host.realpath(f"{folder}/device")
    link = host.readlink(f"{folder}/device") or ""
    addresses = _ADDRESS.findall(path) or _ADDRESS.findall(link)
    if not addresses:
        return "", ""
    return addresses[-1], path if _ROOT.search(path) else host.realpath(f"{DEVICES}/{addresses[-1]}")


def _ports(host: Host) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for device in host.listdir(PORTS)[:MOST]:
        folder = f"{PORTS}/{device}"
        address, path = _device(host, folder)
        for port in [name for name in host.listdir(f"{folder}/ports") if name.isdigit()][:MOST]:
            place = f"{folder}/ports/{port}"
            texts = {name: host.read(f"{place}/{name}", limit=200).text for name in ("state", "phys_state", "rate", "link_layer")}
            gids = [host.read(f"{place}/gids/{number}", limit=64).text.strip() for number in host.listdir(f"{place}/gids")[:MOST]]
            kinds = [
                host.read(f"{place}/gid_attrs/types/{number}", limit=64).text for number in host.listdir(f"{place}/gid_attrs/types")[:MOST]
            ]
            rate = parse_rate(texts["rate"])
            model = host.read(f"{folder}/hca_type", limit=64).text.strip()
            found.append({
                "name": f"{device} port {port}", "device": device, "model": model or UNSEEN,
                "state": parse_state(texts["state"]) or UNSEEN, "phys_state": parse_state(texts["phys_state"]) or UNSEEN,
                "rate_gbits": rate if rate is not None else UNSEEN, "link_layer": texts["link_layer"].strip() or UNSEEN,
                "gids": sum(1 for gid in gids if gid.strip(":0")),
                "addresses": sum(map(_is_address, gids)) if gids else UNSEEN, "roce_v2": any("RoCE v2" in kind for kind in kinds),
                "address": address or UNSEEN, "path": path, "numa_node": _number(host, f"{folder}/device/numa_node"),
            })  # fmt: skip
    fastest: dict[tuple[str, str], float] = {}
    for each in found:
        if each["state"] == "ACTIVE" and isinstance(each["rate_gbits"], float):
            kind = (str(each["model"]), str(each["link_layer"]))
            fastest[kind] = max(each["rate_gbits"], fastest.get(kind, 0.0))
    for each in found:
        each["sibling_rate_gbits"] = fastest.get((str(each["model"]), str(each["link_layer"])), UNSEEN)
    return found


def _interfaces(host: Host) -> list[dict[str, Any]]:
    """Cards only: what has a device on the PCI bus."""
    found = []
    for name in host.listdir(NET)[:MOST]:
        address, _ = _device(host, f"{NET}/{name}")
        if address:
            speed = _number(host, f"{NET}/{name}/speed")
            found.append({
                "name": name, "address": address, "operstate": host.read(f"{NET}/{name}/operstate", limit=64).text.strip() or UNSEEN,
                "mtu": _number(host, f"{NET}/{name}/mtu"), "speed_mbits": speed if isinstance(speed, int) and speed > 0 else UNSEEN,
            })  # fmt: skip
    return found


def _distances(host: Host, gpus: Sequence[Mapping[str, Any]], ports: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for port in {port["device"]: port for port in ports}.values():
        for gpu in gpus:
            far = distance(str(port["path"]), host.realpath(f"{DEVICES}/{gpu['address']}"), (port["numa_node"], gpu.get("numa_node")))
            if far is not None:
                found.append({"nic": port["device"], "gpu": gpu["address"], "distance": far})
    return found


def _far_gpus(distances: Sequence[Mapping[str, Any]], ports: Sequence[Mapping[str, Any]]) -> list[str]:
    """The GPUs that have an active RDMA card behind another processor, and none nearer."""
    active = {port["device"] for port in ports if port["state"] == "ACTIVE"}
    reached: dict[str, set[str]] = {}
    for each in distances:
        if each["nic"] in active:
            reached.setdefault(str(each["gpu"]), set()).add(str(each["distance"]))
    return sorted(gpu for gpu, found in reached.items() if found == {ACROSS})


def _access(host: Host) -> Fact:
    nodes = [name for name in host.listdir(NODES) if name.startswith("uverbs")]
    if not nodes:
        return Absent(NODES)
    answers = [host.may_open(f"{NODES}/{name}") for name in nodes]
    return Known(False, NODES) if False in answers else UNSEEN if None in answers else Known(True, NODES)


def _iommu(host: Host, gpus: Sequence[Mapping[str, Any]]) -> Fact:
    """How the IOMMU treats the GPUs: identity (addresses as they are), DMA, DMA-FQ (translated)."""
    kinds = []
    for gpu in gpus:
        group = (host.readlink(f"{DEVICES}/{gpu['address']}/iommu_group") or "").rstrip("/").rpartition("/")[2]
        if group:
            kinds.append(host.read(f"{GROUPS}/{group}/type", limit=64).text.strip())
    known = sorted({kind for kind in kinds if kind})
    if known:
        return Known(", ".join(known), GROUPS)
    return Absent(GROUPS) if not kinds and host.origin == "live" else UNSEEN


def collect(host: Host, facts: Facts) -> Collected:
    if facts.value("platform.kind", host.platform) not in ("linux", "container"):
        return
    ports = _ports(host)
    seen = bool(ports) or host.origin == "live" or host.knows(PORTS)
    yield "rdma.ports", Known(ports, PORTS) if seen else UNSEEN
    interfaces = _interfaces(host)
    yield "net.cards", Known(interfaces, NET) if interfaces or host.origin == "live" else UNSEEN
    yield "rdma.active", Known(sum(port["state"] == "ACTIVE" for port in ports), PORTS) if seen else UNSEEN
    yield "rdma.access", _access(host) if ports else Absent(PORTS)
    modules = facts.get("kernel.modules")
    loaded = [name for name in MODULES if name in modules.value] if isinstance(modules, Known) else []
    yield "gpudirect.modules", Known(loaded, "kernel.modules") if isinstance(modules, Known) else modules
    gpus = [gpu for gpu in facts.value("gpus") or [] if gpu.get("vendor") in ("nvidia", "amd", "intel") and gpu.get("kind") != "integrated"]
    concerned = [{name: port[name] for name in OF_GPUS} for port in ports] if len(gpus) > 1 else []
    yield "rdma_ports_of_gpus", Known(concerned, PORTS) if seen and facts.known("gpus") else UNSEEN
    yield "gpu.iommu", _iommu(host, gpus) if gpus else Absent("gpus")
    distances = _distances(host, gpus, ports)
    yield "rdma.distances", Known(distances, DEVICES) if seen else UNSEEN
    yield "rdma.far_gpus", Known(_far_gpus(distances, ports), DEVICES) if seen else UNSEEN


PROBE = Probe(
    "rdma",
    (
        FactSpec(
            "rdma.ports", "records", "ports of RDMA cards (InfiniBand, RoCE)", item="port",
            fields={"name": "text", "device": "text", "model": "text", "state": "text", "phys_state": "text", "rate_gbits": "float",
                    "sibling_rate_gbits": "float", "link_layer": "text", "gids": "int", "addresses": "int", "roce_v2": "bool",
                    "address": "text",
                    "path": "text", "numa_node": "int"},
        ),
        FactSpec("rdma_ports_of_gpus", "records", "RDMA ports of a machine with several GPUs", item="rdma_port", fields=OF_GPUS),
        FactSpec("rdma.active", "int", "RDMA ports that are active"),
        FactSpec("rdma.access", "bool", "whether this user may open the nodes /dev/infiniband/uverbs*"),
        FactSpec(
            "rdma.distances", "records", "how far each RDMA card is from each GPU in the PCI tree", item="rdma_distance",
            fields={"nic": "text", "gpu": "text", "distance": "text"},
        ),
        FactSpec("rdma.far_gpus", "list", "PCI addresses of GPUs whose nearest active RDMA card belongs to another NUMA node"),
        FactSpec(
            "net.cards", "records", "network cards", item="net_card",
            fields={"name": "text", "address": "text", "operstate": "text", "mtu": "int", "speed_mbits": "int"},
        ),
        FactSpec("gpudirect.modules", "list", "kernel modules for GPUDirect that are loaded: nvidia_peermem, nv_peer_mem, gdrdrv"),
        FactSpec("gpu.iommu", "text", "how the IOMMU treats the cards: identity, DMA, DMA-FQ; absent: they are in no group of it"),
    ),
    collect,
    needs=("platform.kind", "gpus", "kernel.modules"),
)  # fmt: skip
