"""Graphcore IPUs: the PCIe driver and its nodes, the Poplar SDK and whether this shell enabled it, partitions, devices.

An IPU-M2000 or Bow is reached over the network: the host then has no PCI device but a partition. Neither `gc-reset` nor anything else
that attaches to an IPU is ever run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpudoctor.facts.probes._probe import Probe
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system import json_text
from gpudoctor.system.host import Host, Ran

_ROOTS = (
    "/opt", "/opt/gc", "/opt/graphcore", "/opt/poplar", "/opt/poplar_sdk", "/usr/local", "/usr/local/graphcore", "/localdata",
    "/mnt/poplar", "/software/graphcore", "/software/graphcore/poplar_sdk", "/graphcore",
)  # fmt: skip
_SDK_NAME = lazy(r"^poplar[_-]sdk|^poplar-(?:ubuntu|centos|rhel|debian)|^\d+\.\d+\.\d+$", re.I)
_VERSION = lazy(r"(?:poplar[_-]sdk|popart|poplar)[^/]{0,80}?[-_](\d+\.\d+(?:\.\d+)?)(?:\+|-|/|$)", re.I)
_PLAIN_VERSION = lazy(r"/(\d+\.\d+\.\d+)(?:[+/]|$)")
_BUILT_FOR = lazy(r"(ubuntu|centos|rhel|debian)[_-](\d+(?:[_.]\d+)*)", re.I)
_NODE = lazy(r"^ipu\d+(?:_\w+)?$")


def parse_sdk_version(path: str) -> str | None:
    """The version in the path of an SDK or of a part of it; None where it names none."""
    found = _VERSION.search(path) or _PLAIN_VERSION.search(path)
    return found.group(1) if found else None


def parse_built_for(path: str) -> str | None:
    """The distribution in the path of an SDK, 'ubuntu 20.04' for poplar-ubuntu_20_04-3.3; None where it names none."""
    found = _BUILT_FOR.search(path)
    return f"{found.group(1).lower()} {found.group(2).replace('_', '.')}" if found else None


def parse_popc_version(text: str) -> str | None:
    found = re.search(r"POPLAR version\s+(\d+(?:\.\d+)+)", text, re.I)
    return found.group(1) if found else None


_ENTRY = lazy(r"\s*-\+-\s*Id:\s*\[\s*(\d+)\],\s*(?:target|type):\s*\[([^\]]+)\]")
"""An entry of `gc-info -l`. Poplar SDK 1.x, of the time of the C2, prints `type:` where later ones print `target:`."""


def parse_gc_info_list(text: str) -> list[dict[str, Any]] | None:
    """The single IPUs in `gc-info -l`, without the Multi-IPU entries, which combine them; None for an output of another form."""
    devices: list[dict[str, Any]] = []
    partition: str | None = None
    understood = False
    for line in text.splitlines():
        if re.search(r"no devices? (?:found|available)|no graphcore devices?|listing:\s*$", line, re.I):
            understood = True
        named = re.match(r"\s*Partition:\s*(\S+)", line)
        if named:
            partition, understood = named.group(1), True
        entry = _ENTRY.match(line)
        if not entry:
            if re.match(r"\s*-\+-", line):  # an entry of unknown form: the others would not be the whole list
                return None
            continue
        understood = True
        target = entry.group(2).strip()
        if target.lower().startswith("multi"):
            continue
        keys = {key.strip().lower(): value for key, value in re.findall(r"([A-Za-z#\- ]{1,40}):\s{0,8}\[([^\[\]]{0,400})\]", line)}
        inline = re.search(r"Partition:\s*\[?([\w.-]+)", line)
        devices.append({
            "id": int(entry.group(1)), "target": target, "address": keys.get("pci domain"),
            "host": keys.get("ipu-m host"), "partition": inline.group(1) if inline else partition,
        })  # fmt: skip
    return devices if understood else None


def parse_gc_info_device(text: str) -> dict[str, str]:
    """The `key: value` lines of `gc-info -i -d 0`, with keys in lower case."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.strip().partition(":")
        if colon and value.strip():
            found.setdefault(key.strip().lower(), value.strip())
    return found


def parse_partitions(text: str) -> list[dict[str, Any]] | None:
    """The rows of `vipu list partitions`; [] for an empty table, None for an output without its header."""
    header: list[str] | None = None
    rows: list[dict[str, Any]] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < 2:
            continue
        if header is None:
            lowered = [cell.lower() for cell in cells]
            if "partition" in lowered:
                header = lowered
            continue
        row = dict(zip(header, cells, strict=False))
        if row.get("partition"):
            size = row.get("size", "")
            rows.append({
                "name": row["partition"], "cluster": row.get("cluster"), "size": int(size) if size.isdigit() else None,
                "state": (row.get("state") or "").upper() or Unknown("not in the text"),
            })  # fmt: skip
    return rows if header is not None else None


def parse_processes(text: str) -> list[dict[str, Any]] | None:
    """The processes that are attached to IPUs, from `gc-monitor --json` or the table of `gc-monitor`; None for another output."""
    stripped = text.strip()
    if stripped.startswith("{"):
        try:
            tree = json_text.loads(stripped)
        except ValueError:
            return None
        return list(_with_pid(tree))
    rows: list[dict[str, Any]] = []
    understood = False
    header: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if re.search(r"attached processes", line, re.I):
            understood = True
        if "PID" in cells:
            header = [cell.lower() for cell in cells]
        elif header and cells[0].isdigit():
            row = dict(zip(header, cells, strict=False))
            rows.append({"pid": int(cells[0]), "user": row.get("user"), "command": row.get("command"), "ipu": row.get("id")})
    return rows if understood or rows else None


def _with_pid(tree: Any, ipu: str | None = None, depth: int = 0) -> Iterator[dict[str, Any]]:
    if depth > 12:
        return
    if isinstance(tree, list):
        for entry in tree:
            yield from _with_pid(entry, ipu, depth + 1)
    elif isinstance(tree, dict):
        lowered = {str(key).lower(): value for key, value in tree.items()}
        own = lowered.get("id", ipu)
        pid = lowered.get("pid")
        if pid is not None and str(pid).isdigit():
            command = lowered.get("command", lowered.get("cmd"))
            yield {"pid": int(pid), "user": lowered.get("user"), "command": command, "ipu": None if own is None else str(own)}
        for value in tree.values():
            if isinstance(value, (dict, list)):
                yield from _with_pid(value, None if own is None else str(own), depth + 1)


def find_sdks(host: Host, enabled: str | None) -> list[str]:
    """The folders of unpacked SDKs that hold a script `enable`, or parts with one. `enabled`: the SDK of this shell, which comes first."""
    roots = list(_ROOTS)
    home = host.env("HOME")
    if home:
        roots += [home, f"{home}/graphcore", f"{home}/sdk", f"{home}/sdks", f"{home}/poplar_sdk"]
    found: list[str] = []
    if enabled and host.exists(enabled):
        found.append(enabled)
    for root in roots:
        for name in host.listdir(root):
            path = f"{root}/{name}"
            if not _SDK_NAME.search(name) or any(path == other or other.startswith(f"{path}/") for other in found):
                continue
            inside = host.listdir(path)
            if "enable" in inside or "enable.sh" in inside or any(part.startswith(("poplar-", "popart-")) for part in inside):
                found.append(path)
    return found


def enable_command(host: Host, sdk: str) -> str:
    """The command that enables this SDK: newer ones have one script, older ones one for each part."""
    inside = host.listdir(sdk)
    if "enable" in inside:
        return f"source {sdk}/enable"
    if "enable.sh" in inside:
        return f"source {sdk}/enable.sh"
    parts = [f"source {sdk}/{part}/enable.sh" for part in inside if part.startswith(("poplar-", "popart-"))]
    return " && ".join(sorted(parts, reverse=True)) or f"source {sdk}/enable"


def _problem(ran: Ran) -> Fact:
    """The error that a command printed; absent where it succeeded, unknown where it did not run to its end."""
    if ran.signal is not None or ran.rc in (134, 139):
        return Known(f"{ran.argv[0]} crashed (signal {ran.signal or (ran.rc or 0) - 128})", " ".join(ran.argv))
    if not ran.answered:
        return Unknown(ran.why_not())
    text = f"{ran.stdout}\n{ran.stderr}"
    for line in text.splitlines():
        if re.search(r"\berror\b|failed|refused|unreachable|not established|cannot open shared object|timed out|no route", line, re.I):
            if "error state" in line.lower() or "error count" in line.lower():
                continue
            return Known(line.strip()[:200], " ".join(ran.argv))
    if ran.rc:
        last = [line for line in text.splitlines() if line.strip()]
        return Known((last[-1].strip() if last else f"exit status {ran.rc}")[:200], " ".join(ran.argv))
    return Absent(" ".join(ran.argv))


def _driver(host: Host, facts: Facts) -> Iterator[tuple[str, Fact]]:
    modules = facts.get("kernel.modules")
    loaded = host.exists("/sys/module/ipu_driver")
    if isinstance(modules, Known):
        loaded = loaded or "ipu_driver" in modules.value
        yield "poplar.driver.loaded", Known(loaded, modules.source or "/proc/modules")
    elif loaded:
        yield "poplar.driver.loaded", Known(True, "/sys/module/ipu_driver")
    else:
        yield "poplar.driver.loaded", modules if isinstance(modules, Unknown) else Known(False, "/proc/modules")
    version = host.read("/sys/module/ipu_driver/version")
    if version.ok and version.text.strip():
        yield "poplar.driver.version", Known(version.text.strip(), "/sys/module/ipu_driver/version")
    nodes = [f"/dev/{name}" for name in host.listdir("/dev") if _NODE.match(name)]
    yield "poplar.nodes", Known(nodes, "/dev")
    closed = [node for node in nodes if host.may_open(node) is False]
    if all(host.may_open(node) is None for node in nodes) and nodes:
        yield "poplar.nodes.closed", Unknown("not recorded")
    else:
        yield "poplar.nodes.closed", Known(closed, "/dev")
        mode = host.mode(closed[0]) if closed else None
        yield "poplar.nodes.group", Known(mode.group, closed[0]) if mode else Absent("/dev")


def _sdk(host: Host) -> Iterator[tuple[str, Fact]]:
    enabled = host.env("POPLAR_SDK_ENABLED")
    sdks = find_sdks(host, enabled)
    yield "poplar.sdk.enabled", Known(bool(enabled), "POPLAR_SDK_ENABLED")
    yield "poplar.sdk.installed", Known(sdks, "folders named poplar_sdk*")
    if enabled:
        yield "poplar.sdk.enabled_exists", Known(host.exists(enabled) or bool(host.listdir(enabled)), enabled)
    else:
        yield "poplar.sdk.enabled_exists", Absent("POPLAR_SDK_ENABLED")
    path = enabled or (sdks[-1] if sdks else "")
    version = parse_sdk_version(path)
    if path:
        yield "poplar.sdk.path", Known(path, "POPLAR_SDK_ENABLED" if enabled else "folders named poplar_sdk*")
        yield "poplar.sdk.version", Known(version, path) if version else Unknown("unparsable")
        built_for = parse_built_for(path) or next((b for name in host.listdir(path) if (b := parse_built_for(name))), None)
        yield "poplar.sdk.built_for", Known(built_for, path) if built_for else Unknown("unparsable")
        if not enabled:
            yield "poplar.sdk.enable_command", Known(enable_command(host, path), path)
    else:
        for name in ("path", "version", "built_for"):
            yield f"poplar.sdk.{name}", Absent("folders named poplar_sdk*")
    # PopART's enable.sh adds these paths: where only Poplar's script was sourced, the SDK is half enabled
    added = f"{host.env('PYTHONPATH') or ''}:{host.env('LD_LIBRARY_PATH') or ''}"
    yield "poplar.popart.enabled", Known("popart" in added.lower(), "PYTHONPATH, LD_LIBRARY_PATH")


def _configuration(host: Host) -> Iterator[tuple[str, Fact]]:
    home = host.env("HOME")
    folders = ["/etc/ipuof.conf.d"] + ([f"{home}/.ipuof.conf.d"] if home else [])
    configs = [f"{folder}/{name}" for folder in folders for name in host.listdir(folder) if name.endswith(".conf")]
    yield "poplar.config.files", Known(configs, ", ".join(folders))
    named = host.env("IPUOF_CONFIG_PATH")
    yield "poplar.config.path_exists", Known(host.exists(named), named) if named else Absent("IPUOF_CONFIG_PATH")


def collect(host: Host, facts: Facts) -> Iterator[tuple[str, Fact]]:
    if host.platform in ("windows", "macos"):
        yield "poplar.devices", Absent("no IPU software exists for this platform")
        yield "poplar.sdk.enabled", Known(False, "no IPU software exists for this platform")
        return
    yield from _driver(host, facts)
    yield from _sdk(host)
    yield from _configuration(host)
    yield from _tools(host)


def _tools(host: Host) -> Iterator[tuple[str, Fact]]:
    popc = host.run(["popc", "--version"])
    version = parse_popc_version(popc.stdout)
    yield "poplar.popc.version", Known(version, "popc --version") if version else Unknown(popc.why_not())
    listing = host.run(["gc-info", "-l"], timeout=8.0)
    yield "poplar.gc_info.error", _problem(listing)
    devices = parse_gc_info_list(f"{listing.stdout}\n{listing.stderr}") if listing.answered else None
    if devices is None:
        inventory = host.run(["gc-inventory", "--json"], timeout=8.0)
        devices = parse_inventory(inventory.stdout)
    yield "poplar.devices", Unknown(listing.why_not()) if devices is None else Known(devices, "gc-info -l")
    if devices:
        details = parse_gc_info_device(host.run(["gc-info", "-i", "-d", "0"], timeout=8.0).stdout)
        for name, key in _DETAILS.items():
            value = details.get(key)
            yield name, Known(value, "gc-info -i -d 0") if value and value != "N/A" else Unknown("not in the text")
        monitor = host.run(["gc-monitor", "--json"], timeout=8.0)
        if not monitor.ok:
            monitor = host.run(["gc-monitor"], timeout=8.0)
        processes = parse_processes(monitor.stdout) if monitor.ok else None
        yield "poplar.processes", Unknown(monitor.why_not()) if processes is None else Known(processes, "gc-monitor")
    vipu = host.run(["vipu", "list", "partitions"], timeout=8.0)
    partitions = parse_partitions(vipu.stdout) if vipu.answered else None
    yield "poplar.partitions", Unknown(vipu.why_not()) if partitions is None else Known(partitions, "vipu list partitions")
    yield "poplar.vipu.error", _problem(vipu) if partitions is None else Absent("vipu list partitions")


def parse_inventory(text: str) -> list[dict[str, Any]] | None:
    """The devices in `gc-inventory --json`; None for what is no such document."""
    try:
        tree = json_text.loads(text)
    except ValueError:
        return None
    listed = tree.get("devices") if isinstance(tree, dict) else None
    if not isinstance(listed, list):
        return None
    found: list[dict[str, Any]] = []
    for entry in listed:
        if isinstance(entry, dict) and str(entry.get("id", "")).isdigit() and not str(entry.get("target", "")).lower().startswith("multi"):
            found.append({
                "id": int(entry["id"]), "target": entry.get("target"), "address": entry.get("pci id"),
                "host": entry.get("ipuof host"), "partition": entry.get("ipuof partition id"),
            })  # fmt: skip
    return found


_DETAILS = {
    "poplar.architecture": "ipu architecture", "poplar.board": "board type", "poplar.firmware.version": "firmware version",
    "poplar.device_driver.version": "driver version", "poplar.error_state": "ipu error state",
    "poplar.server.version": "ipuof server version",
}  # fmt: skip

PROBE = Probe(
    name="graphcore",
    provides=(
        FactSpec("poplar.driver.loaded", "bool", "the kernel module ipu_driver (PCIe cards) is loaded"),
        FactSpec("poplar.driver.version", "dotted", "version of the kernel module ipu_driver"),
        FactSpec("poplar.nodes", "list", "device nodes of IPU cards"),
        FactSpec("poplar.nodes.closed", "list", "device nodes of IPU cards for which this user lacks permission"),
        FactSpec("poplar.nodes.group", "text", "group of the closed device nodes"),
        FactSpec("poplar.sdk.path", "text", "the Poplar SDK that is enabled, else the one found", privacy="identifying"),
        FactSpec("poplar.sdk.version", "dotted", "version of that SDK"),
        FactSpec("poplar.sdk.built_for", "text", "the distribution it was built for"),
        FactSpec("poplar.sdk.enabled", "bool", "POPLAR_SDK_ENABLED is set"),
        FactSpec("poplar.sdk.enabled_exists", "bool", "the folder in POPLAR_SDK_ENABLED exists"),
        FactSpec("poplar.sdk.enable_command", "text", "what enables the SDK that was found", privacy="identifying"),
        FactSpec("poplar.sdk.installed", "list", "unpacked SDKs in the usual places", privacy="identifying"),
        FactSpec("poplar.popart.enabled", "bool", "PopART's folders are on the library or Python path"),
        FactSpec("poplar.config.files", "list", "partition files in ipuof.conf.d", privacy="identifying"),
        FactSpec("poplar.config.path_exists", "bool", "the file in IPUOF_CONFIG_PATH exists"),
        FactSpec("poplar.popc.version", "dotted", "version that popc prints"),
        FactSpec("poplar.devices", "records", "IPUs that gc-info lists", item="ipu",
                 fields={"id": "number", "target": "PCIe or Fabric", "address": "PCI address", "host": "IPU machine", "partition": "name"}),
        FactSpec("poplar.gc_info.error", "text", "why gc-info failed"),
        FactSpec("poplar.architecture", "text", "ipu1, ipu2 or ipu21"),
        FactSpec("poplar.board", "text", "C2, C600, M2000"),
        FactSpec("poplar.firmware.version", "dotted", "firmware of the first IPU"),
        FactSpec("poplar.device_driver.version", "dotted", "driver that the first IPU reports"),
        FactSpec("poplar.server.version", "dotted", "IPU-over-Fabric server"),
        FactSpec("poplar.error_state", "text", "error state of the first IPU"),
        FactSpec("poplar.processes", "records", "processes attached to IPUs", item="ipu_process",
                 fields={"pid": "process", "user": "user", "command": "command", "ipu": "id"}, privacy="identifying"),
        FactSpec("poplar.partitions", "records", "V-IPU partitions of this user", item="partition",
                 fields={"name": "name", "cluster": "cluster", "size": "IPUs", "state": "ACTIVE, …"}),
        FactSpec("poplar.vipu.error", "text", "why vipu failed"),
    ),
    collect=collect,
    needs=("kernel.modules",),
)  # fmt: skip
