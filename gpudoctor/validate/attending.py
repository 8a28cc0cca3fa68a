"""Which card a target is, how it is watched, where its energy is counted, and what it can do at most."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpudoctor.model.facts import Facts
from gpudoctor.validate import energy, processor
from gpudoctor.validate.device_names import identify, plain
from gpudoctor.validate.devices import Target
from gpudoctor.validate.energy import Meter
from gpudoctor.validate.pci_link import LinkWatch, gpu_address
from gpudoctor.validate.reference_rows import DeviceRow, devices
from gpudoctor.validate.watching import CardWatch, ColumnWatch, NvidiaWatch, ProcessorWatch, ToolHost, Watcher, Watching

VENDORS = {"cuda": "nvidia", "rocm": "amd", "xpu": "intel", "ipu": "graphcore", "openvino": "intel", "npu": "intel"}
"""Of backends that serve one maker; OpenVINO's gpu is Intel's too, and is found by its framework."""


def gpu_of(facts: Facts, target: Target) -> Mapping[str, Any] | None:
    """The record of `gpus` that this target is: by name, else by its number among those of its maker, else the only one there."""
    if target.on_processor:
        return None
    gpus = [gpu for gpu in facts.value("gpus") or [] if isinstance(gpu, Mapping)]
    vendor = "intel" if target.framework == "openvino" else VENDORS.get(target.backend)
    ours = [gpu for gpu in gpus if gpu.get("vendor") == vendor] if vendor else gpus
    digits = target.device.replace(".", ":").rpartition(":")[2]
    index = int(digits) if digits.isdigit() else 0
    if len(ours) > 1 and target.name:
        said = plain(target.name)
        named = [gpu for gpu in ours if isinstance(gpu.get("name"), str) and (plain(gpu["name"]) in said or said in plain(gpu["name"]))]
        ours = named if len(named) == 1 else ours
    if len(ours) == 1:
        return ours[0]
    return ours[index] if vendor and index < len(ours) else None


def peaks_of(host: ToolHost, facts: Facts, target: Target, memory_gbs: float | None = None) -> tuple[DeviceRow, ...]:
    if target.on_processor:
        row = processor.peaks(host, memory_gbs)
        return (row,) if row is not None else ()
    gpu = gpu_of(facts, target)
    return identify(gpu, target.name, devices()) if gpu is not None else ()


def watching_for(host: ToolHost, facts: Facts, target: Target, pids: Sequence[int | str]) -> Watching:
    """`pids`: the processes whose load is the measurement itself; may still grow until the watch begins."""
    gpu = gpu_of(facts, target)
    if target.on_processor:
        return Watching(host, [ProcessorWatch(host, pids)], energy.of_processor(host))
    if gpu is None and target.backend != "ipu":
        return Watching(host, [], Meter("", "card", why_not="no energy counter: which card this is cannot be told"))
    address = gpu_address(gpu)
    watchers: list[Watcher] = [LinkWatch(host, address)] if address is not None else []
    if gpu is not None and gpu.get("vendor") == "nvidia":
        return _nvidia(host, target, watchers)
    meter = energy.of_card(host, gpu or {})
    if gpu is not None:
        watchers.append(CardWatch(host, gpu))
    if not meter.why_not:
        return Watching(host, watchers, meter)
    tool = _tool(target, gpu)
    if not tool:
        return Watching(host, watchers, meter)
    columns = ColumnWatch(Meter(tool[0], "board" if tool[0] == "gc-monitor" else "card"))
    return Watching(host, [*watchers, columns], columns.meter, tool=tool, on_line=_safely(columns.line))


def _busy_with(host: ToolHost, index: int) -> str:
    """Programs that compute on an NVIDIA card before anything of ours does: the host remembers its first answer."""
    listed = host.run(("nvidia-smi", "--query-compute-apps=pid,name", "--format=csv,noheader", "-i", str(index)))
    lines = [line.partition(",")[2].strip().replace("\\", "/") for line in listed.stdout.splitlines()[:50]]
    names = list(dict.fromkeys(line.rpartition("/")[2][:40] for line in lines if line))
    return f"other programs compute on the card: {', '.join(names[:3])}" if listed.ok and names else ""


def _nvidia(host: ToolHost, target: Target, others: Sequence[Watcher]) -> Watching:
    digits = target.device.rpartition(":")[2]
    index = int(digits) if digits.isdigit() else 0
    watch = NvidiaWatch(Meter("nvidia-smi", "board"), foreign=_busy_with(host, index))
    return Watching(host, [*others, watch], watch.meter, tool=NvidiaWatch.command(index), on_line=_safely(watch.line))


def _tool(target: Target, gpu: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Tools that print watts once a second where sysfs has none."""
    digits = target.device.rpartition(":")[2]
    number = digits if digits.isdigit() else "0"
    if gpu is not None and gpu.get("vendor") == "intel":
        return "xpu-smi", "dump", "-d", number, "-m", "1", "-i", "1"
    return ("gc-monitor", "--no-card-info", "--all-partitions", "-d", number) if target.backend == "ipu" else ()


def _safely(line: Callable[[str], None]) -> Callable[[str], None]:
    """What a tool prints is not to be trusted to be a table."""

    def take(text: str) -> None:
        try:
            line(text[:1000])
        except (ValueError, IndexError, OverflowError):
            return

    return take
