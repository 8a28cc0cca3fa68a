"""The same work by several frameworks on one device: what is the same work, and what is said of a gap."""

from __future__ import annotations

from typing import Any

from gpudoctor.model.measurement import Conditions, Latency, Measurement, Throughput
from gpudoctor.reporters.measurement import side_by_side_text
from gpudoctor.reporters.shared.layout import Terminal


def measured(framework: str, value: float, **changes: Any) -> Measurement:
    said: dict[str, Any] = {
        "workload": "matmul", "task": "micro", "framework": framework, "backend": "cpu", "device": f"{framework}:CPU", "dtype": "float32",
        "latency_ms": Latency(median=1.0), "throughput": Throughput(value=value, unit="TFLOP/s"), "device_name": "AMD EPYC",
    }  # fmt: skip
    return Measurement(**{**said, **changes})


def shown(*measurements: Measurement, width: int = 80) -> list[str]:
    return Terminal(width=width).draw(list(side_by_side_text.lines(measurements, width))).splitlines()


def test_the_fastest_comes_first_and_a_gap_is_said() -> None:
    assert shown(measured("torch", 0.19), measured("openvino", 0.402), measured("onnxruntime", 0.4)) == [
        "The same on the processor, fastest first",
        "  matmul float32  openvino 0.402, onnxruntime 0.4, torch 0.19 TFLOP/s; 2.1 times",
        "                  apart",
    ]


def test_a_gap_between_noisy_ones_is_none() -> None:
    _, line = shown(measured("torch", 0.19, noisy="x"), measured("openvino", 0.4))
    assert line.endswith("openvino 0.4, torch 0.19 (noisy) TFLOP/s")
    _, line = shown(measured("torch", 0.36), measured("openvino", 0.4))
    assert line.endswith("openvino 0.4, torch 0.36 TFLOP/s")


def test_only_the_same_work_on_the_same_device_is_put_together() -> None:
    assert shown(measured("torch", 0.2)) == []
    assert shown(measured("torch", 0.2), measured("openvino", 0.4, dtype="bfloat16")) == []
    assert shown(measured("torch", 0.2), measured("openvino", 0.4, status="failed", throughput=None)) == []
    assert shown(measured("torch", 0.2), measured("openvino", 9.0, backend="gpu", device_name="Arc A770")) == []
    includes = {"includes": ("host_to_device", "compute", "device_to_host")}
    assert shown(measured("torch", 0.2), measured("openvino", 0.4, **includes)) == []
    cards = [{"backend": backend, "conditions": Conditions(gpu_address="0000:03:00.0")} for backend in ("xpu", "gpu")]
    head, _ = shown(measured("torch", 9.0, **cards[0]), measured("openvino", 10.0, **cards[1]))
    assert head == "The same on 0000:03:00.0, fastest first"


def test_networks_are_named_with_task_and_batch() -> None:
    more = {"workload": "resnet18", "task": "inference", "batch": 4, "throughput": Throughput(value=30.2, unit="images/s")}
    _, line = shown(measured("torch", 0, **more), measured("jax", 0, **{**more, "throughput": Throughput(value=1234.5, unit="images/s")}))
    assert line == "  resnet18 infer float32 b4  jax 1234, torch 30.2 images/s; 40.9 times apart"
