"""What pages are made of besides a report: measurements, a sweep, comparisons. Made by hand, no machine's figures."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.model.batch_sweep import MEMORY, Sweep, SweepPoint
from gpudoctor.model.change import Change, Diff, FindingChange, Side, VerdictChange
from gpudoctor.model.comparison import Comparison, ComparisonRow, Difference
from gpudoctor.model.measurement import Ceiling, Correctness, Energy, Latency, Measurement, Reference, Throughput

RIGHT = Correctness(compared_with="cpu float64", max_relative_error=1e-7, tolerance=1e-3, passed=True)
RESNET = Measurement(
    workload="resnet50", task="training", framework="torch", framework_version="2.8.0+xpu", backend="xpu", device="xpu:0",
    device_name="Arc A770", dtype="float32", batch=16, input=(3, 224, 224), iterations=120, memory_peak_bytes=3_200_000_000,
    latency_ms=Latency(median=258.0, p95=263.0, ci95_percent=0.8), throughput=Throughput(value=62.0, unit="images/s"), correctness=RIGHT,
    ceiling=Ceiling(fraction=0.31, bound="compute", source="17.2 TFLOP/s fp32 vector"),
    reference=Reference(ratio=0.62, value=100.0, unit="images/s", source="https://example.org/published", differs=("torch 1.13 then",)),
    energy=Energy(joules_per_item=1.0, mean_watts=61.0, boundary="card", source="hwmon"),
)  # fmt: skip
MEASURED = (
    RESNET,
    replace(RESNET, workload="matmul", task="micro", batch=None, input=None, reference=None, energy=None, noisy="others were at work",
            throughput=Throughput(value=14.0, unit="TFLOP/s"), ceiling=Ceiling(fraction=0.82, bound="compute", source="17.2 TFLOP/s")),
    replace(RESNET, workload="memory_bandwidth", task="micro", batch=None, input=None, correctness=None, energy=None,
            throughput=Throughput(value=410.0, unit="GB/s"), ceiling=Ceiling(fraction=0.73, bound="memory", source="560 GB/s"),
            reference=Reference(ratio=1.02, value=400.0, unit="GB/s", source="example/bench#7")),
    replace(RESNET, workload="vgg16", status="failed", reason="wrong result: 1 % off", correctness=replace(RIGHT, passed=False)),
    replace(RESNET, workload="diffusion_unet", status="skipped", reason="not enough memory", latency_ms=None, throughput=None),
)  # fmt: skip
SWEEP = Sweep(
    workload="resnet50 training float32", unit="images/s", device="xpu:0", limit=8, ended_by="memory", knee=4, chosen=4,
    max_latency_ms=50.0, volatile="memory went from 3.6 GB at batch 4 to 16 GB at batch 8",
    points=(
        SweepPoint(batch=1, status="ok", latency_ms=3.0, throughput=330.0, memory_bytes=2_000_000_000),
        SweepPoint(batch=2, status="ok", latency_ms=3.4, throughput=590.0, memory_bytes=2_600_000_000),
        SweepPoint(batch=4, status="ok", latency_ms=4.4, throughput=900.0, memory_bytes=3_600_000_000),
        SweepPoint(batch=8, status="ok", latency_ms=8.7, throughput=915.0, memory_bytes=16_000_000_000),
        SweepPoint(batch=16, status=MEMORY, reason="out of memory"),
    ),
)  # fmt: skip
COMPARISON = Comparison(
    here="now", there="before.json", speed=0.88, only_here=("vgg16 training",), broken=("alexnet: ok there, failed here",),
    rows=(
        ComparisonRow(workload="resnet50", task="training", framework="torch", dtype="float32", batch=16, here_ms=258.0, there_ms=190.0,
                      speed=0.74, low=0.71, high=0.77, verdict="slower", differs=("compile none here, default there",)),
        ComparisonRow(workload="matmul", task="micro", framework="torch", dtype="float32", batch=None, here_ms=1.0, there_ms=1.05,
                      speed=1.05, verdict="unknown"),
    ),
    machines=(Difference(name="driver", here="xe 1.1", there="i915 1.6"),),
)  # fmt: skip
DIFF = Diff(
    before=Side(name="last week", created="2026-11-13T10:00:00Z", machine="Arc A770", errors=0, warnings=0, tool="0.1.0", catalogue="1"),
    after=Side(name="now", created="2026-11-20T10:00:00Z", machine="Arc A770", errors=1, warnings=0, tool="0.1.0", catalogue="1"),
    findings=(
        FindingChange(id="a", key="a-1", severity="error", layer="kernel-driver", title="The driver is gone", state="new",
                      changes=("kernel.release",)),
        FindingChange(id="b", key="b-1", severity="warning", layer="visible", title="Slow", state="stayed", was="info"),
        FindingChange(id="c", key="c-1", severity="error", layer="visible", title="Old", state="gone"),
    ),
    changes=(Change(fact="kernel.release", category="kernel", before="6.8.0-50", after=None, new=("a",)),
             Change(fact="gpus[0].access", category="access", before=True, after={"x": [1]})),
    verdicts=(VerdictChange(stack="torch-xpu", title="PyTorch on Intel GPUs", before="ok", after="broken"),),
    one_sided=("a.b",), followed=2,
)  # fmt: skip


def poisoned(value: Any, text: str) -> Any:
    """`value` with every string in it replaced."""
    if isinstance(value, str):
        return text
    if isinstance(value, Struct):
        return replace(value, **{name: poisoned(getattr(value, name), text) for name in value.__struct_fields__})
    if isinstance(value, dict):
        return {text + str(number): poisoned(inner, text) for number, inner in enumerate(value.values())}
    if isinstance(value, list | tuple):
        return type(value)(poisoned(inner, text) for inner in value)
    return value
