"""The roofs of a processor as they were measured: no measurement is above its own, and what is not known is no roof."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.benchmark.conditions import other_path, products
from gpudoctor.benchmark.cpu_ceiling import estimate
from gpudoctor.benchmark.processor import last_cache
from gpudoctor.benchmark.processor_speed import OnProcessor, peaks, reached, roof
from gpudoctor.benchmark.references import Costs
from gpudoctor.model.measurement import FAILED, Latency, Measurement, Throughput
from gpudoctor.system.host import Text

FORMULA = estimate(2, 2.6, {"avx512f", "avx512_bf16"})
CACHE = 32 << 20
PRODUCTS = [
    {"name": "torch with MKL", "flops": 1.9e11, "max_relative_error": None},
    {"name": "oneDNN of torch", "flops": 4.2e11, "max_relative_error": 4e-7},
    {"name": "OpenBLAS of NumPy", "flops": 4.3e11, "max_relative_error": None},
]  # fmt: skip


def row(workload: str, value: float, unit: str, **more: Any) -> OnProcessor:
    said: dict[str, Any] = {
        "workload": workload, "task": "micro" if unit in ("TFLOP/s", "GB/s") else "inference", "framework": "torch", "backend": "cpu",
        "device": "cpu",
        "dtype": "float32", "latency_ms": Latency(median=1.0), "throughput": Throughput(value=value, unit=unit),
    }  # fmt: skip
    costs, rows = more.pop("costs", None), more.pop("products", None)
    return OnProcessor(Measurement(**{**said, **more}), costs, rows)


def fractions(*rows: OnProcessor, cache: int | None = CACHE) -> list[float | None]:
    peak = peaks(FORMULA, list(reached(rows, cache)))
    return [None if (found := roof(each, peak, cache)) is None else found.fraction for each in rows]


MATMUL = row("matmul", 0.19, "TFLOP/s", products=PRODUCTS)
RESNET = row("resnet18", 50.0, "images/s", batch=4, costs=Costs(flops=3.6e9, bytes=15e6))


def test_the_roof_of_arithmetic_is_the_fastest_product_of_any_library() -> None:
    product, network = fractions(MATMUL, RESNET)
    assert product == pytest.approx(0.19 / 0.43) and network == pytest.approx(50 * 3.6e9 / 4.3e11)
    found = roof(MATMUL, peaks(FORMULA, list(reached([MATMUL], CACHE))), CACHE)
    assert found is not None and "the fastest measured here, the matrix product of OpenBLAS of NumPy" in found.source


def test_nothing_is_above_its_roof_and_what_was_faster_raises_it() -> None:
    fast = row("resnet50", 150.0, "images/s", batch=4, framework="openvino", costs=Costs(flops=3.6e9, bytes=1e6))
    assert fractions(MATMUL, fast, RESNET) == [pytest.approx(0.19 / 0.54), pytest.approx(1.0), pytest.approx(50 / 150)]


def test_memory_binds_what_does_not_stay_in_the_caches() -> None:
    add = row("memory_bandwidth", 20.0, "GB/s")
    decode = row("gpt2_decode", 30.0, "tokens/s", batch=1, latency_ms=Latency(median=1000 / 30), costs=Costs(flops=2.5e8, bytes=5e8))
    small = row("mobilenet_v2", 200.0, "images/s", batch=1, costs=Costs(flops=6e8, bytes=2e7))
    found = [roof(each, peaks(FORMULA, list(reached([MATMUL, add, decode, small], CACHE))), CACHE) for each in (add, decode, small)]
    assert [each.bound for each in found if each is not None] == ["memory", "memory", "compute"]
    assert found[1] is not None and found[1].fraction == pytest.approx(30 * 5e8 / 2e10)
    assert found[2] is not None and found[2].fraction < 0.5, "20 MB stay in a cache of 32 MiB: their traffic is none of the memory's"
    faster = row("gpt2_decode", 50.0, "tokens/s", batch=1, latency_ms=Latency(median=20.0), costs=Costs(flops=2.5e8, bytes=5e8))
    assert fractions(MATMUL, add, faster) == [pytest.approx(0.19 / 0.43), pytest.approx(0.8), pytest.approx(1.0)]


def test_a_narrow_type_keeps_the_formula_in_proportion_unless_its_product_was_measured() -> None:
    assert FORMULA is not None
    narrow = row("resnet50", 50.0, "images/s", batch=4, dtype="bfloat16", costs=Costs(flops=8e9, bytes=1e6))
    scale = 0.43 / FORMULA.vector["fp32"]
    assert fractions(MATMUL, narrow)[1] == pytest.approx(50 * 8e9 / (FORMULA.matrix["bf16"] * scale * 1e12))
    fast = row("matmul", 2.0, "TFLOP/s", dtype="bfloat16")
    assert fractions(MATMUL, fast, narrow)[1:] == [pytest.approx(1.0), pytest.approx(0.2)]


def test_without_a_product_the_formula_is_left_as_long_as_nothing_was_faster() -> None:
    assert FORMULA is not None
    assert fractions(RESNET) == [pytest.approx(50 * 3.6e9 / 1e12 / FORMULA.vector["fp32"])]
    assert fractions(row("resnet18", 500.0, "images/s", batch=4, costs=Costs(flops=3.6e9, bytes=1e6))) == [None]
    assert peaks(None, []) is None and fractions(row("matmul", 0.3, "TFLOP/s", status=FAILED, throughput=None)) == [None]


def test_what_a_worker_says_of_products_is_believed_only_where_it_can_be() -> None:
    rows = [*PRODUCTS, {"name": "x", "flops": float("inf")}, {"name": "", "flops": 1.0}, {"name": "y", "flops": True}, 7]
    assert [name for name, _, _ in products(rows)] == ["torch with MKL", "oneDNN of torch", "OpenBLAS of NumPy"]
    found = other_path(rows)
    assert found["other_path"] == "oneDNN of torch" and found["other_path_speed_up"] == pytest.approx(4.2 / 1.9)
    assert other_path(PRODUCTS[::2]) == {} and other_path(None) == {}, "another library's product is no way of this framework"


def test_the_last_cache() -> None:
    class Host:
        def read(self, path: str, *, limit: int = 1_000_000) -> Text:
            sizes = {"index0": "32K", "index2": "1024K", "index3": "32768K"}
            return Text(next((text + "\n" for name, text in sizes.items() if name in path), ""))

        def glob(self, pattern: str) -> list[str]:
            return []

    assert last_cache(Host()) == 32 << 20  # type: ignore[arg-type]
