"""NVIDIA: the kernel module, its device nodes, the user-mode libraries, the output of nvidia-smi, toolkit and services."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.facts.probes.nvidia_install import INSTALL_FACTS, install_facts
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.system.host import Host, Ran

QUERY = ("nvidia-smi", "--query-gpu=index,name,uuid,pci.bus_id,driver_version,memory.total,compute_cap", "--format=csv,noheader,nounits")
_PROC = "/proc/driver/nvidia/version"


def parse_proc_version(text: str) -> dict[str, Any] | None:
    """version and open (whether it is the open flavour) of the loaded kernel module; None for another text."""
    found = re.search(r"NVRM version:\s{0,20}(\S.{0,120}?Kernel Module\b.{0,80}?)\s{1,8}(\d{1,6}\.\d+(?:\.\d+)?)\s", text + "\n")
    if not found:
        return None
    return {"version": found.group(2), "open": "open" in found.group(1).lower()}


def _kernel_module(host: Host, facts: Facts) -> Iterator[tuple[str, Fact]]:
    text = host.read(_PROC)
    parsed = parse_proc_version(text.text) if text.ok else None
    modules = facts.value("kernel.modules")
    loaded: Fact
    if parsed or host.exists("/sys/module/nvidia"):
        loaded = Known(True, _PROC)
    elif isinstance(modules, list):
        loaded = Known("nvidia" in modules, "kernel.modules")
    elif host.listdir("/sys/module"):
        loaded = Known(False, "/sys/module")
    else:
        loaded = Unknown("not recorded")
    yield "nvidia.module.loaded", loaded
    if parsed:
        yield "nvidia.kernel_module.version", Known(parsed["version"], _PROC)
        yield "nvidia.kernel_module.open", Known(parsed["open"], _PROC)
        return
    plain = host.read("/sys/module/nvidia/version")
    if plain.ok and re.match(r"\d+\.\d+", plain.text):
        yield "nvidia.kernel_module.version", Known(plain.text.strip(), "/sys/module/nvidia/version")
    elif isinstance(loaded, Known) and not loaded.value:
        yield "nvidia.kernel_module.version", Absent(_PROC)
        yield "nvidia.kernel_module.open", Absent(_PROC)
    else:
        yield "nvidia.kernel_module.version", Unknown("permission denied" if text.problem == "denied" else "not recorded")


def _nodes(host: Host) -> Fact:
    names = host.listdir("/dev")
    if not names:
        return Unknown("not recorded") if host.complete else Known([], "/dev")
    return Known(
        [f"/dev/{name}" for name in names if re.fullmatch(r"nvidia(\d+|ctl|-uvm|-uvm-tools|-modeset|-caps)|nvhost-gpu|nvgpu", name)], "/dev"
    )


def _access(host: Host) -> Fact:
    cards = [host.may_open(f"/dev/{name}") for name in host.listdir("/dev") if re.fullmatch(r"nvidia\d+", name)]
    answers = [host.may_open("/dev/nvidiactl")] if host.exists("/dev/nvidiactl") else []
    if cards:  # one suffices: a job may have been given the second card alone
        answers.append(True if True in cards else None if None in cards else False)
    if not answers:
        return Absent("/dev") if host.origin != "live" or host.knows("/dev") else Unknown("not recorded")
    return Known(False, "/dev") if False in answers else Unknown("not recorded") if None in answers else Known(True, "/dev")


def _smi(host: Host) -> Iterator[tuple[str, Fact]]:
    from gpudoctor.facts.probes import nvidia_smi as smi

    tool = "nvidia-smi"
    query = host.run(QUERY, timeout=10)
    if query.missing and host.platform == "wsl2":
        tool = "/usr/lib/wsl/lib/nvidia-smi"
        query = host.run((tool, *QUERY[1:]), timeout=10)
    rows = smi.parse_query(query.stdout) if query.ok else []
    asked: list[Ran] = [query]
    error = smi.parse_error(query.stdout + "\n" + query.stderr)
    log = None
    header: dict[str, str] = {}
    if not error and not query.missing and not query.timed_out:
        asked.append(host.run((tool, "-q", "-x"), timeout=15))
        log = smi.parse_xml(asked[-1].stdout)
        if log is None and not asked[-1].timed_out:
            asked.append(host.run((tool, "-q"), timeout=15))
            log = smi.parse_plain(asked[-1].stdout)
        if log is None or not smi.look(log, "cuda_version", "cuda_umd_version"):
            asked.append(host.run((tool,), timeout=10))
            header = smi.parse_header(asked[-1].stdout)
        error = next((said for ran in asked if (said := smi.parse_error(ran.stdout + "\n" + ran.stderr))), None)
    answered = [ran for ran in asked if ran.answered]
    yield "nvidia.smi.tool", Known(tool) if answered else Absent(tool) if query.missing else Unknown(query.why_not())
    if error:
        yield "nvidia.smi.error", Known(error, tool)
        mismatch = smi.parse_nvml_version(" ".join(ran.stdout + ran.stderr for ran in asked))
        if mismatch:
            yield "nvidia.nvml.version", Known(mismatch, tool)
    elif answered and (rows or log):
        yield "nvidia.smi.error", Absent(tool)
    else:
        yield "nvidia.smi.error", Unknown(query.why_not())
    records = _merged(rows, smi.devices(log) if log else [])
    if any(record.get("mig_mode") == "Enabled" for record in records):  # their UUIDs stand in this list alone
        by_index = {row["index"]: row for row in smi.parse_list(host.run((tool, "-L")).stdout)}
        for record in records:
            if uuids := by_index.get(record.get("index"), {}).get("mig_uuids"):
                record["mig_uuids"] = uuids
    if not records and not error:
        listed = host.run((tool, "-L")) if answered else None
        records = smi.parse_list(listed.stdout) if listed is not None and listed.ok else []
    driver = (smi.look(log, "driver_version") if log else None) or header.get("driver") or next((r["driver_version"] for r in rows), None)
    cuda = (smi.look(log, "cuda_version", "cuda_umd_version") if log else None) or header.get("cuda")
    late = next((ran for ran in asked if ran.timed_out), query)
    why = Unknown(late.why_not())
    yield "nvidia.driver.version", Known(driver, tool) if driver else why
    yield "nvidia.cuda_max", Known(cuda, tool) if cuda else why
    if records:
        yield "nvidia.devices", Known(records, tool)
    elif error and "No devices were found" in error:
        yield "nvidia.devices", Known([], tool)
    else:
        yield "nvidia.devices", why


def _merged(rows: list[dict[str, Any]], full: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records of `nvidia-smi -q`, completed by what only the query gives; the rows of the query where there are no such records."""
    if not full:
        return rows
    by_address = {row["address"]: row for row in rows}
    for record in full:
        row = by_address.get(record["address"], {})
        for key in ("compute_capability", "index", "uuid"):
            if key in row:
                record[key] = row[key]
        record.setdefault("compute_capability", Unknown("not recorded"))
    return full


def collect(host: Host, facts: Facts) -> Collected:
    if host.platform == "macos":
        return
    if host.platform != "windows":
        yield from _kernel_module(host, facts)
    yield from install_facts(host, facts)
    yield from _smi(host)
    if host.platform != "windows":  # after nvidia-smi, which creates the nodes where nothing has used the driver since the start
        yield "nvidia.nodes", _nodes(host)
        yield "nvidia.access", _access(host)


_DEVICE_FIELDS = {
    "index": "nvidia-smi's number",
    "name": "product name",
    "architecture": "Ampere, Ada Lovelace …",
    "uuid": "GPU-…",
    "address": "PCI address",
    "memory_bytes": "bytes of video memory",
    "memory_used_bytes": "bytes of video memory in use",
    "memory_users": "programs that hold memory, the largest first",
    "compute_capability": "8.6",
    "mig_mode": "Enabled or Disabled",
    "mig_instances": "MIG devices",
    "mig_uuids": "their UUIDs",
    "compute_mode": "Default, Exclusive_Process, Prohibited",
    "persistence": "Enabled or Disabled",
    "driver_model": "WDDM, TCC, MCDM",
    "virtualization": "None, Pass-Through, VGPU …",
    "license": "vGPU licence state",
    "pstate": "P0 … P15",
    "temperature": "degrees Celsius",
    "power_limit": "power limit in watts",
    "power_limit_default": "default power limit in watts",
    "power_limit_share": "power limit divided by the default one",
    "throttle_reasons": "active reasons for lower clocks",
    "link_generation": "PCIe generation now",
    "link_generation_max": "highest PCIe generation",
    "link_width": "PCIe lanes now",
    "link_width_max": "highest number of PCIe lanes",
    "ecc_mode": "Enabled or Disabled",
    "ecc_errors": "uncorrected errors since boot",
    "remap_pending": "a row remapping waits for a reset",
    "remap_failed": "row remapping failed",
    "fabric_state": "Completed, In Progress, Not Started",
    "fabric_status": "Success …",
    "recovery_action": "None, Reset, Reboot, Drain …",
    "gsp": "version of the GSP firmware",
    "processes": "programs that use it",
    "mig_pending": "MIG mode after the next reset",
    "pci_device_id": "as nvidia-smi prints it",
}

PROBE = Probe(
    name="nvidia",
    provides=(
        FactSpec("nvidia.module.loaded", "bool", "the nvidia kernel module is loaded"),
        FactSpec("nvidia.kernel_module.version", "dotted", "version of the loaded kernel module"),
        FactSpec("nvidia.kernel_module.open", "bool", "the loaded module is the open flavour"),
        FactSpec("nvidia.nodes", "list", "/dev/nvidia* device nodes"),
        FactSpec("nvidia.access", "bool", "this user may open /dev/nvidiactl and the node of at least one card"),
        FactSpec("nvidia.smi.tool", "text", "the nvidia-smi that answered"),
        FactSpec("nvidia.smi.error", "text", "why nvidia-smi cannot answer; absent when it works"),
        FactSpec("nvidia.nvml.version", "dotted", "user-mode version named by a mismatch message"),
        FactSpec("nvidia.driver.version", "dotted", "driver version that nvidia-smi prints"),
        FactSpec("nvidia.cuda_max", "dotted", "highest CUDA version that the driver supports"),
        FactSpec("nvidia.devices", "records", "what nvidia-smi lists", item="nvidia_gpu", fields=_DEVICE_FIELDS),
        *INSTALL_FACTS,
    ),
    collect=collect,
    needs=("kernel.modules", "kernel.release", "libraries", "packages"),
)
