"""What can be right or wrong only where a device is. Small sizes: the processor can stand in for one (benchmarks/on_device --small)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Ask = Callable[..., dict[str, Any]]
SMALL = {"batch": 2, "height": 64, "width": 64}


@pytest.mark.parametrize("task", ["training", "inference"])
@pytest.mark.parametrize("workload", ["resnet18", "mobilenet_v2"])
def test_a_network_is_right_on_the_device(ask: Ask, workload: str, task: str) -> None:
    found = ask(workload=workload, task=task, job="verify", options=SMALL)
    assert found["stage"] == "result" and found["outputs"], found
    assert all(row["passed"] for row in found["outputs"]), found["outputs"]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_narrow_type_is_right_or_is_said_to_be_missing(ask: Ask, device: str, dtype: str) -> None:
    found = ask(dtype=dtype, job="verify", options=SMALL)
    if found["stage"] == "skipped":
        assert dtype in found["reason"], found
    else:
        assert all(row["passed"] for row in found["outputs"]), found


def test_it_was_computed_where_it_was_asked_for(ask: Ask, device: str) -> None:
    found = ask(options=SMALL, verify=False)
    kind = device.partition(":")[0]
    assert found["stage"] == "result" and str(found["computed_on"]).startswith(kind), found
    assert found["latency_ms"]["median"] > 0 and (kind == "cpu" or found["fallbacks"] == [])


def test_more_than_there_is_ends_as_memory_that_is_full(ask: Ask, device: str) -> None:
    """On the processor the kernel would end the worker instead: there the doctor limits its addresses, which this does not try."""
    if device == "cpu":
        found = ask(workload="memory_bandwidth", task="micro", options={"bytes": 1 << 46}, verify=False)
    else:
        found = ask(workload="vgg16", task="training", options={"batch": 100_000, "height": 224, "width": 224}, verify=False)
    assert found["stage"] == "failed" and found["memory"], found


def test_a_device_that_is_not_there_is_said_to_be_missing(ask: Ask, device: str) -> None:
    found = ask(device="cuda:99" if device.startswith("cuda") else "xpu:99")
    assert found["stage"] in ("skipped", "failed") and "lines" in found and not found.get("latency_ms")
