"""What the screen says of replicas, of the batch that a latency allows, and of collectives."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from reports import report

from gpudoctor.model.batch_pick import BatchPick
from gpudoctor.model.measurement import Energy, Latency, Measurement, Throughput
from gpudoctor.reporters.measurement.validation_text import render
from gpudoctor.reporters.shared.layout import Terminal

STAGES = ("preprocess", "host_to_device", "compute", "device_to_host")
PICK = BatchPick(
    workload="resnext101_32x4d", dtype="float16", framework="torch", device="cuda:0,cuda:1", max_latency_ms=5.0, batch=8, smoothed_ms=4.4,
    measured_ms=4.4,
)  # fmt: skip


def of_batch(batch: int, p95: float, **changes: Any) -> Measurement:
    said: dict[str, Any] = {
        "workload": "resnext101_32x4d", "task": "inference", "framework": "torch", "backend": "cuda", "device": "cuda:0,cuda:1",
        "dtype": "float16", "batch": batch, "replicas": 2, "includes": STAGES,
        "throughput": Throughput(value=2000.0 + batch, unit="images/s"),
        "latency_ms": Latency(median=p95 - 1, p50=p95 - 1, p95=p95, p99=p95 + 1),
    }  # fmt: skip
    return Measurement(**{**said, **changes})


def shown(*measurements: Measurement, width: int = 100, **more: Any) -> str:
    return render(replace(report(), findings=(), measurements=measurements), Terminal(width=width), **more)


def test_percentiles_throughput_and_what_a_watt_gives_stand_in_a_row() -> None:
    energy = Energy(joules_per_item=0.11, mean_watts=265.0, boundary="board", source="nvml", throughput_per_watt=9.07)
    text = shown(of_batch(12, 4.75), of_batch(8, 3.32, energy=energy))
    assert "2 processes share each batch on cuda:0,cuda:1, timed from images to results on the host" in " ".join(text.split())
    rows = [line.split() for line in text.splitlines() if line.split()[:1] in (["8"], ["12"])]
    assert rows == [
        ["8", "2.32", "3.32", "4.32", "2008", "images/s", "9.07", "images/s/W"],
        ["12", "3.75", "4.75", "5.75", "2012", "images/s", "-"],
    ]
    assert "resnext101_32x4d x2" in text and "265.0 W, 0.11 J per item, 9.07 images/s/W (board, nvml)" in " ".join(text.split())


def test_the_pick_says_by_which_latency_and_what_was_smoothed() -> None:
    text = " ".join(shown(of_batch(8, 4.4), picks=[PICK]).split())
    assert "Pick: batch 8 of resnext101_32x4d float16 on cuda:0,cuda:1: the largest whose p95 keeps 5 ms" in text and "in line" not in text
    smoothed = " ".join(shown(of_batch(8, 9.0), picks=[replace(PICK, measured_ms=9.0)]).split())
    assert "(4.4 ms in line with the other batches; 9 ms by itself)" in smoothed
    few = " ".join(shown(of_batch(8, 4.4), picks=[replace(PICK, steps=2)]).split())
    assert "2 batches were timed, which is few" in few and "few" not in text
    none = " ".join(shown(of_batch(8, 9.0), picks=[replace(PICK, batch=None)]).split())
    assert "no batch of resnext101_32x4d float16 on cuda:0,cuda:1 keeps 5 ms (p95)" in none


def test_message_sizes_of_a_collective_are_told_apart_and_a_failure_has_none() -> None:
    one = replace(of_batch(2, 3.0), workload="all_reduce", task="micro", batch=None, input=(16384,), dtype="float32")
    text = shown(one, replace(one, input=(8 << 20,)), replace(one, status="failed", reason="replica 2 of 2: died", input=None))
    assert "all_reduce x2 64 KiB" in text and "all_reduce x2 32 MiB" in text
    assert "failed all_reduce x2 micro float32 on cuda:0,cuda:1: replica 2 of 2: died" in " ".join(text.split())
    assert "share each batch" not in text


def test_the_optimiser_is_with_the_task_and_it_fits_a_narrow_screen() -> None:
    text = shown(of_batch(4, 3.0, task="training", replicas=None, optimizer="adam"), of_batch(8, 3.0), width=60)
    assert "train adam" in text
    assert all(len(line) <= 60 for line in text.splitlines() if "share each" in line or "Pick" in line)


def test_what_was_left_out_for_another_reason_than_time_does_not_speak_of_a_minute() -> None:
    assert "minute" not in shown(of_batch(4, 3.0), left_out=["batch 2: fewer items than the 4 replicas"])
    assert "minute" in shown(of_batch(4, 3.0), left_out=["resnet50: would take about 20 s"])


def test_what_the_clock_saw_is_said_where_it_is_more_than_computing() -> None:
    text = " ".join(shown(of_batch(4, 3.0, replicas=None)).split())
    assert "preparing images, copies to the device, computing, copies to the host are inside" in text
    assert "are inside" not in shown(of_batch(4, 3.0, replicas=None, includes=("compute",)))
