"""Reports to show: small, made by hand."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from gpudoctor.model.check import Advice
from gpudoctor.model.report import Finding, LayerResult, Report, StackResult

ARC = {"vendor": "intel", "pci_id": "8086:56a0", "name": "Arc A770", "driver": None, "node": None}

KERNEL = Finding(
    id="kernel-too-old", key="kernel-too-old-1", subjects=("0000:03:00.0",), severity="error", layer="kernel-driver",
    stacks=("torch-xpu",), title="Linux 5.19 is too old for Arc A770", explanation="The driver of 5.19 does not know 8086:56a0.",
    confidence="certain", evidence=("kernel.release: 5.19.0-35 (/proc/sys/kernel/osrelease)",),
    advice=Advice(text="Install a newer kernel.", commands=("sudo apt install linux-generic-hwe-22.04",), needs_reboot=True),
    sources=("intel/compute-runtime#610",),
)  # fmt: skip
FOLLOWS = replace(KERNEL, id="no-device-listed", key="no-device-listed-2", title="sycl-ls lists no GPU", layer="visible")
FOLLOWS = replace(FOLLOWS, caused_by=KERNEL.key)
HINT = replace(KERNEL, id="archived", key="archived-3", severity="info", title="IPEX is archived")


def stack(name: str = "torch-xpu", verdict: str = "broken", used: bool = True) -> StackResult:
    missed = [("device-node", "not-reached", ""), ("visible", "not-reached", "")]
    rungs = [("device", "ok", "Arc A770"), ("kernel-driver", "broken", KERNEL.title), *missed]
    if verdict != "broken":
        rungs = [("device", "ok", "Arc A770"), ("framework", "not-reached", "torch is not installed")]
    layers = tuple(LayerResult(layer=layer, status=status, detail=detail) for layer, status, detail in rungs)
    return StackResult(stack=name, title=f"PyTorch by {name}", verdict=verdict, used=used, layers=layers)


def report(**changes: Any) -> Report:
    base = Report(
        tool_version="0.1.0", created="2026-11-20T10:00:00Z", origin="live", stacks=(stack(),), findings=(KERNEL, FOLLOWS, HINT),
        facts={"gpus": [ARC], "kernel": {"release": "5.19.0-35"}, "os": {"id": "ubuntu", "version": "22.04"}},
        summary={"errors": 2, "warnings": 0, "infos": 1, "unknown": 0, "first_broken": "torch-xpu/kernel-driver"},
        headline={"machine": "Arc A770", "os": "Ubuntu 22.04", "kernel": "5.19.0-35", "python": "3.10.12", "python_why": "active"},
        not_looked_at=("kernel log (needs root)",),
    )  # fmt: skip
    return replace(base, **changes)
