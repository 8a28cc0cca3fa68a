"""The memory of AMD GPUs by their kernel driver, and the processes of ROCm that hold some of it."""

from __future__ import annotations

import re
from typing import Any

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.model.facts import Absent, Facts, FactSpec, Known, Unknown
from gpudoctor.system.host import Host

DEVICES = "/sys/bus/pci/devices"
KFD = "/sys/class/kfd/kfd/proc"
TTM_PAGES = "/sys/module/ttm/parameters/pages_limit"
"""The file with the number of pages of main memory that all GPUs together may map (drivers/gpu/drm/ttm of Linux)."""
PAGE = 4096
"""Bytes of a page."""
FILES = {
    "vram_bytes": "mem_info_vram_total", "vram_used_bytes": "mem_info_vram_used", "visible_bytes": "mem_info_vis_vram_total",
    "gtt_bytes": "mem_info_gtt_total", "gtt_used_bytes": "mem_info_gtt_used",
}  # fmt: skip
"""Files with the bytes of video memory, of its part that the processor can address, and of main memory that the GPU may map (GTT):
https://docs.kernel.org/gpu/amdgpu/driver-misc.html"""
MOST = 200
"""The number of processes that are examined."""


def _bytes(host: Host, path: str) -> int | None:
    text = host.read(path, limit=64).text.strip()
    return int(text) if re.fullmatch(r"\d{1,18}", text) else None


def _users(host: Host) -> list[dict[str, Any]]:
    """Processes with a queue of the compute driver and the bytes of video memory that they hold, the largest first."""
    found = []
    for pid in [name for name in host.listdir(KFD) if name.isdigit()][:MOST]:
        sizes = [_bytes(host, f"{KFD}/{pid}/{name}") or 0 for name in host.listdir(f"{KFD}/{pid}") if name.startswith("vram_")]
        name = host.read(f"/proc/{pid}/comm", limit=64).text.strip() or "a process"
        found.append({"pid": int(pid), "name": name, "bytes": sum(sizes)})
    return sorted(found, key=lambda each: -each["bytes"])


def collect(host: Host, facts: Facts) -> Collected:
    if host.platform in ("macos", "windows"):
        return
    records = []
    for gpu in facts.value("gpus", []):
        if isinstance(gpu, dict) and gpu.get("vendor") == "amd" and isinstance(gpu.get("address"), str):
            read = {name: _bytes(host, f"{DEVICES}/{gpu['address']}/{file}") for name, file in FILES.items()}
            if read["vram_bytes"] is not None:
                sizes = {name: Unknown("not recorded") if size is None else size for name, size in read.items()}
                records.append({"address": gpu["address"], **sizes})
    looked = host.origin == "live" or bool(records)
    yield "amd.memory", Known(records, DEVICES) if records else Absent(DEVICES) if looked else Unknown("not recorded")
    if records:
        yield "amd.memory.users", Known(_users(host), KFD)
    pages = _bytes(host, TTM_PAGES)
    yield "memory.gpu_limit_bytes", Known(pages * PAGE, TTM_PAGES) if pages is not None else Unknown("not recorded")


PROBE = Probe(
    "device_memory",
    (
        FactSpec("amd.memory", "records", "memory of AMD GPUs as amdgpu counts it", item="amd_memory", fields={
            "address": "PCI address", "vram_bytes": "video memory; of an APU the part that the firmware set aside",
            "vram_used_bytes": "in use", "visible_bytes": "part that the processor can address",
            "gtt_bytes": "main memory that the GPU may map", "gtt_used_bytes": "in use",
        }),
        FactSpec("amd.memory.users", "records", "processes of ROCm and the video memory that they hold", item="amd_memory_user",
                 fields={"pid": "process", "name": "program", "bytes": "video memory"}),
        FactSpec("memory.gpu_limit_bytes", "int", "main memory that all GPUs together may map (ttm)"),
    ),
    collect,
    needs=("gpus",),
)  # fmt: skip
