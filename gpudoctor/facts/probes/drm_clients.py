"""The memory of Intel GPUs in use: all of it by xpu-smi, and by process from /proc/PID/fdinfo (the kernel's drm-usage-stats).

A user can read the files of his own processes; root can read all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.model.facts import Absent, Facts, FactSpec, Known, Unknown
from gpudoctor.system.host import Host

NODES = ("/dev/dri/", "/dev/accel/")
OWN = ("vram", "local")
"""How the names of regions on the card begin: vram0 of xe, local0 of i915. Others (system, gtt, stolen) are main memory."""
UNITS = {"": 1, "KiB": 2**10, "MiB": 2**20}
MOST_PROCESSES, MOST_FILES, MOST_DEVICES = 4000, 1000, 8
"""How many processes, open files of each and devices are examined."""
USED = "gpu memory used (mib)"
"""The column of metric 18 in `xpu-smi dump`, in lower case."""


class Client(Struct, frozen=True):
    """One client of a DRM driver. `own` and `shared`: bytes of the card's memory and of main memory that are resident."""

    address: str
    number: str
    own: int
    shared: int


def parse_client(text: str) -> Client | None:
    """Parses a file of /proc/PID/fdinfo as the kernel's Documentation/gpu/drm-usage-stats.rst describes it; None for other files.

    Of a region, what is resident counts, else all of it; `drm-memory-` is the older name of the former.
    """
    values: dict[str, str] = {}
    for line in text.splitlines()[:500]:
        key, colon, value = line.partition(":")
        if colon and key.startswith("drm-"):
            values[key] = value.strip()
    address, number = values.get("drm-pdev"), values.get("drm-client-id")
    if not address or not number:
        return None
    regions: dict[str, int] = {}
    for kind in ("drm-resident-", "drm-memory-", "drm-total-"):
        for key, value in values.items():
            size = _bytes(value) if key.startswith(kind) and not key.startswith("drm-total-cycles-") else None
            if size is not None:
                regions.setdefault(key[len(kind) :], size)
    own = sum(size for region, size in regions.items() if region.removeprefix("stolen-").startswith(OWN))
    return Client(address.lower(), number, own, sum(regions.values()) - own)


def _bytes(text: str) -> int | None:
    found = re.fullmatch(r"(\d{1,15})(?: (KiB|MiB))?", text)
    return int(found[1]) * UNITS[found[2] or ""] if found else None


def parse_used(text: str) -> int | None:
    """The bytes in the column 'GPU Memory Used (MiB)' of `xpu-smi dump`; None where there is no number."""
    head, _, rows = text.strip().partition("\n")
    names = [name.strip().lower() for name in head.split(",")]
    row = [cell.strip() for cell in rows.strip().splitlines()[-1].split(",")] if rows.strip() else []
    if USED not in names or len(row) != len(names):
        return None
    cell = row[names.index(USED)]
    return int(float(cell) * 2**20) if re.fullmatch(r"\d{1,9}(?:\.\d{1,6})?", cell) else None


def _clients(host: Host, pid: str) -> Iterator[Client]:
    for descriptor in host.listdir(f"/proc/{pid}/fd")[:MOST_FILES]:
        if (host.readlink(f"/proc/{pid}/fd/{descriptor}") or "").startswith(NODES):
            client = parse_client(host.read(f"/proc/{pid}/fdinfo/{descriptor}", limit=100_000).text)
            if client is not None:
                yield client


def users(host: Host) -> list[dict[str, Any]]:
    """A record for each process and card of which it holds memory, the largest first. A client that several files or processes share is
    counted once."""
    seen: set[tuple[str, str]] = set()
    found: list[dict[str, Any]] = []
    for pid in [name for name in host.listdir("/proc") if name.isascii() and name.isdigit()][:MOST_PROCESSES]:
        held: dict[str, list[int]] = {}
        for client in _clients(host, pid):
            if (client.address, client.number) not in seen:
                seen.add((client.address, client.number))
                sizes = held.setdefault(client.address, [0, 0])
                sizes[0] += client.own
                sizes[1] += client.shared
        for address, (own, shared) in held.items():
            if own or shared:
                name = host.read(f"/proc/{pid}/comm", limit=64).text.strip() or "a process"
                found.append({"pid": int(pid), "name": name, "address": address, "bytes": own, "shared_bytes": shared})
    return sorted(found, key=lambda each: -(each["bytes"] + each["shared_bytes"]))


def _used(host: Host, devices: Any) -> list[dict[str, Any]]:
    found = []
    for device in devices[:MOST_DEVICES] if isinstance(devices, list) else ():
        number, address = (str(device.get(name, "")) for name in ("index", "address")) if isinstance(device, Mapping) else ("", "")
        if number.isdigit() and address:
            ran = host.run(["xpu-smi", "dump", "-d", number, "-m", "0,1,2,3,18", "-n", "1"], timeout=5.0)
            used = parse_used(ran.stdout) if ran.answered else None
            if used is not None:
                found.append({"address": address.lower(), "bytes": used})
    return found


def collect(host: Host, facts: Facts) -> Collected:
    gpus = facts.value("gpus")
    if host.platform in ("macos", "windows") or not isinstance(gpus, list):
        return
    if not any(isinstance(gpu, Mapping) and gpu.get("vendor") == "intel" for gpu in gpus):
        yield "intel.memory.users", Absent("gpus")
        return
    at_home = getattr(host, "door", None) is None  # elsewhere each of thousands of links would be a question of its own
    found = users(host) if at_home else []
    looked = at_home and (host.origin == "live" or bool(found))
    yield "intel.memory.users", Known(found, "/proc/*/fdinfo") if looked else Unknown("not recorded" if at_home else "not probed")
    used = _used(host, facts.value("xpu_smi.devices"))
    yield "intel.memory.used", Known(used, "xpu-smi dump") if used else Unknown("not recorded")


PROBE = Probe(
    "drm_clients",
    (
        FactSpec("intel.memory.users", "records", "processes and the memory of Intel GPUs that they hold", item="intel_memory_user",
                 fields={"pid": "process", "name": "program", "address": "PCI address", "bytes": "memory of the card",
                         "shared_bytes": "main memory"}),
        FactSpec("intel.memory.used", "records", "memory of Intel GPUs in use, as xpu-smi counts it", item="intel_memory_used",
                 fields={"address": "PCI address", "bytes": "in use"}),
    ),
    collect,
    needs=("gpus", "xpu_smi.devices"),
    slow=True,
)  # fmt: skip
