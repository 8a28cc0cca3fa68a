"""Chooses for a target its card, its monitors, its energy counter and its ceiling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpudoctor.benchmark import processor
from gpudoctor.benchmark.device_names import identify, plain
from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.monitors import energy
from gpudoctor.benchmark.monitors.drm_card import CardWatch
from gpudoctor.benchmark.monitors.drm_clients import ClientsWatch, KfdWatch
from gpudoctor.benchmark.monitors.energy import Meter
from gpudoctor.benchmark.monitors.monitor import Monitor, MonitoringTool, ToolHost, Watching
from gpudoctor.benchmark.monitors.pci_link import LinkWatch, gpu_address
from gpudoctor.benchmark.monitors.processor_load import ProcessorWatch
from gpudoctor.benchmark.monitors.vendor_tools import IntelTopWatch, IpuWatch, NvidiaWatch, XpuSmiWatch
from gpudoctor.benchmark.reference_rows import DeviceRow, devices
from gpudoctor.model.facts import Facts

VENDORS = {"cuda": "nvidia", "rocm": "amd", "xpu": "intel", "ipu": "graphcore", "openvino": "intel", "npu": "intel"}
"""The vendor of backends that support one vendor only. OpenVINO's `gpu` is Intel's, too, and is recognised by its framework."""


def gpu_of(facts: Facts, target: MeasurementTarget) -> Mapping[str, Any] | None:
    """The record of `gpus` for this target: by name, else by its index among the vendor's cards, else the only card."""
    if target.on_processor:
        return None
    gpus = [gpu for gpu in facts.value("gpus") or [] if isinstance(gpu, Mapping)]
    vendor = "intel" if target.framework == "openvino" else VENDORS.get(target.backend)
    ours = [gpu for gpu in gpus if gpu.get("vendor") == vendor] if vendor else gpus
    digits = target.device.replace(".", ":").rpartition(":")[2]
    index = int(digits) if digits.isdigit() else 0
    if len(ours) > 1 and target.name:
        names = plain(target.name)
        named = [gpu for gpu in ours if isinstance(gpu.get("name"), str) and (plain(gpu["name"]) in names or names in plain(gpu["name"]))]
        ours = named if len(named) == 1 else ours
    if len(ours) == 1:
        return ours[0]
    return ours[index] if vendor and index < len(ours) else None


def peaks_of(host: ToolHost, facts: Facts, target: MeasurementTarget, memory_gbs: float | None = None) -> tuple[DeviceRow, ...]:
    if target.on_processor:
        row = processor.peaks(host, memory_gbs)
        return (row,) if row is not None else ()
    gpu = gpu_of(facts, target)
    return identify(gpu, target.name, devices()) if gpu is not None else ()


def watching_for(host: ToolHost, facts: Facts, target: MeasurementTarget, pids: Sequence[int | str]) -> Watching:
    """The monitor of a target. `pids`: the processes whose load is the measurement itself; the list may grow until the monitor begins."""
    gpu = gpu_of(facts, target)
    if target.on_processor:
        return Watching(host, [ProcessorWatch(host, pids)], energy.of_processor(host))
    if target.backend == "ipu":
        ipu = IpuWatch(Meter("gc-inventory", "board"), host, _number(target), pids)
        return Watching(host, [ipu], ipu.meter, tools=ipu.tools())
    if gpu is None:
        return Watching(host, [], Meter("", "card", why_not="no energy counter: the card was not identified"))
    address = gpu_address(gpu)
    link: list[Monitor] = [LinkWatch(host, address)] if address is not None else []
    if gpu.get("vendor") == "nvidia":
        nvidia = NvidiaWatch(Meter("nvidia-smi", "board"), host, pids, foreign=_busy_with(host, _number(target)))
        return Watching(host, [*link, nvidia], nvidia.meter, tools=nvidia.tools(_number(target)))
    return _card(host, gpu, target, pids, link)


def _busy_with(host: ToolHost, index: str) -> str:
    """Programs that compute on an NVIDIA card before our workers do; the host caches this first answer."""
    listed = host.run(("nvidia-smi", "--query-compute-apps=pid,name", "--format=csv,noheader", "-i", index))
    lines = [line.partition(",")[2].strip().replace("\\", "/") for line in listed.stdout.splitlines()[:50]]
    names = list(dict.fromkeys(line.rpartition("/")[2][:40] for line in lines if line))
    return f"other programs compute on the card: {', '.join(names[:3])}" if listed.ok and names else ""


def _card(
    host: ToolHost, gpu: Mapping[str, Any], target: MeasurementTarget, pids: Sequence[int | str], link: Sequence[Monitor]
) -> Watching:
    """Monitors of a card by sysfs and /proc, and by the vendor's tool for the values that these lack, where it is installed."""
    meter, address, vendor = energy.of_card(host, gpu), str(gpu.get("address") or ""), gpu.get("vendor")
    watchers: list[Monitor] = [*link, CardWatch(host, gpu)]
    tools: list[MonitoringTool] = []
    if vendor == "intel" and gpu.get("driver") == "i915":
        top = IntelTopWatch()
        watchers.append(top)
        tools += top.tools(str(gpu.get("card_node") or "/dev/dri/card0"))
    if vendor == "intel" and (meter.why_not or not tools):
        smi = XpuSmiWatch(Meter("xpu-smi", "card"))
        meter = smi.meter if meter.why_not else meter
        watchers.append(smi)
        tools += smi.tools(address or _number(target))
    if address:
        watchers.append(ClientsWatch(host, address, pids))
    if address and vendor == "amd":
        watchers.append(KfdWatch(host, address, pids))
    return Watching(host, watchers, meter, tools=tools)


def _number(target: MeasurementTarget) -> str:
    digits = target.device.rpartition(":")[2]
    return digits if digits.isdigit() else "0"
