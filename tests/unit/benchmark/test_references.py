"""Published results and peaks of devices: the tables, finding a row, which way round units are, and the roofline by hand."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gpudoctor.benchmark.cpu_ceiling import estimate
from gpudoctor.benchmark.device_names import identify
from gpudoctor.benchmark.reference_rows import OTHER_UNITS, SPEED_UNITS, DeviceRow, ReferenceRow, devices, references, relations
from gpudoctor.benchmark.references import Costs, ceiling, differences, nearest, peak_rate
from gpudoctor.facts.probes.device_table import VENDORS, lookup
from gpudoctor.model.measurement import Energy, Latency, Measurement, Throughput

GTX_1080 = {"vendor": "nvidia", "pci_id": "10de:1b80", "name": "GeForce GTX 1080", "memory_bytes": 8 * 2**30}
A770 = {"vendor": "intel", "pci_id": "8086:56a0", "name": "Arc A770", "memory_bytes": 16 * 2**30}
TITAN = {"vendor": "nvidia", "pci_id": "10de:1e02", "name": "TITAN RTX"}
C2 = {"vendor": "graphcore", "name": "Graphcore C2"}
DATE = re.compile(r"20\d\d(-\d\d(-\d\d)?)?")
DTYPES = {"float32", "float16", "bfloat16", "mixed", None}
BRANDS = {"geforce", "rtx", "gtx", "radeon", "rx", "pro", "tesla", "instinct", "arc", "xt", "ti", "super", "generation", "gpu", "data"}


def measured(**changes: Any) -> Measurement:
    said: dict[str, Any] = {
        "workload": "resnet50", "task": "training", "framework": "torch", "framework_version": "2.8.0+cu128", "backend": "cuda",
        "device": "cuda:0", "dtype": "float32", "batch": 16, "latency_ms": Latency(median=100.0),
    }  # fmt: skip
    return Measurement(**{**said, **changes})


def of(gpu: dict[str, Any], said: str | None = None) -> tuple[DeviceRow, ...]:
    return identify(gpu, said, devices())


def row(name: str) -> ReferenceRow:
    return next(each for each in references() if each.id == name)


# --- the tables


def test_each_published_row_says_where_from_when_and_in_what_unit() -> None:
    for each in references():
        assert each.source and DATE.fullmatch(each.date), each.id
        assert each.unit in {**SPEED_UNITS, **OTHER_UNITS}, each.id
        assert each.value > 0 and each.quality in ("printed", "derived", "approximate"), each.id
        assert each.task in ("training", "inference", "micro") and each.per in ("step", "epoch", "run"), each.id
        assert each.dtype in DTYPES and each.compile in ("none", "default", "reduce-overhead", "max-autotune"), each.id
        assert set(each.includes) <= {"preprocess", "host_to_device", "compute", "device_to_host"}, each.id
    names = [each.id for each in references()] + [each.id for each in relations()]
    assert len(names) == len(set(names))
    for each in relations():
        assert each.source and DATE.fullmatch(each.date) and each.unit in ("time ratio", "speed ratio"), each.id


def test_each_published_device_has_a_row_of_peaks() -> None:
    assert {each.device for each in references()} - {each.name for each in devices()} == {"Core i7-11700K"}


def test_each_device_says_where_from_and_its_ids_are_those_of_the_device_tables() -> None:
    vendors = {name: number for number, name in VENDORS.items()}
    for each in devices():
        assert each.source and DATE.fullmatch(each.date) and (each.vector or each.matrix), each.name
        assert not each.matrix or each.rates in ("published", "formula"), each.name
        assert set(each.vector) <= {"fp32", "fp16", "fp64"}, each.name
        assert set(each.matrix) <= {"fp64", "fp32", "tf32", "fp16", "bf16", "fp16_acc16", "int8"}, each.name
        for number in each.ids:
            known = lookup(vendors[each.vendor], number)
            assert known is not None and known.name, (each.name, number)
            shared = set(re.findall(r"\w+", known.name.lower())) & set(re.findall(r"\w+", each.name.lower()))
            assert shared - BRANDS, (each.name, known.name)


@pytest.mark.parametrize(
    ("name", "fp32", "fp16", "gbs", "watts"),
    [  # from data sheets and the white papers of the architectures: the formula must give what is printed
        ("GeForce RTX 2080 Ti", 13.45, 53.8, 616, 250),
        ("TITAN RTX", 16.31, 130.5, 672, 280),
        ("GeForce RTX 3080", 29.77, 59.5, 760, 320),
        ("GeForce RTX 4090", 82.58, 165.2, 1008, 450),
        ("GeForce RTX 5090", 104.8, 209.5, 1792, 575),
        ("A10", 31.2, 125, 600, 150),
        ("A40", 37.4, 149.7, 696, 300),
        ("Tesla T4", 8.14, 65, 320, 70),
        ("RTX PRO 6000 Blackwell Workstation Edition", 126, 503.8, 1792, 600),
        ("Radeon RX 7900 XTX", 61.4, 122.8, 960, 355),
        ("Radeon RX 9070 XT", 48.7, 195, 640, 304),
        ("Arc A770", 17.2, 137.6, 560, 225),
    ],
)
def test_peaks_are_those_that_vendors_print(name: str, fp32: float, fp16: float, gbs: float, watts: float) -> None:
    found = next(each for each in devices() if each.name == name)
    assert found.vector["fp32"] == pytest.approx(fp32, rel=0.01)
    assert found.matrix["fp16"] == pytest.approx(fp16, rel=0.01)
    assert found.gbs == pytest.approx(gbs, rel=0.01)
    assert found.watts == watts


def test_the_printed_relative_table_follows_from_the_printed_times() -> None:
    printed = [each for each in relations() if each.id.startswith("R-")]
    assert len(printed) == 20
    for each in printed:
        assert row(each.against).value / row(each.of).value == pytest.approx(each.value, abs=0.0055), each.id


def test_printed_throughput_of_the_c2_is_its_batch_by_its_latency() -> None:
    for batch in (2, 4, 6, 8, 10, 12):
        assert row(f"C2-{batch}-latency").images_per_second == pytest.approx(row(f"C2-{batch}-throughput").value, rel=0.005)


def test_relations_between_rows_follow_from_their_values() -> None:
    known = {each.id for each in references()}
    checked = 0
    for each in relations():
        if {each.of, each.against} <= known and row(each.of).unit == row(each.against).unit == "it/s":
            assert row(each.of).value / row(each.against).value == pytest.approx(each.value, rel=0.002), each.id
            checked += 1
    assert checked == 5
    assert row("A770-S1").value / row("A770-S2").value == pytest.approx(1.186, abs=0.001)


# --- which device


def test_memory_tells_the_two_a770_apart() -> None:
    assert [each.gbs for each in of(A770)] == [560]
    assert [each.gbs for each in of({**A770, "memory_bytes": 8 * 2**30})] == [512]


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("AMD Radeon RX 6600 XT", {"Radeon RX 6600 XT"}),
        ("AMD Radeon RX 6600", {"Radeon RX 6600"}),
        (None, {"Radeon RX 6600", "Radeon RX 6600 XT"}),  # the table's own name of the id names both
    ],
)
def test_a_shared_id_is_told_apart_by_the_name(said: str | None, names: set[str]) -> None:
    gpu = {"vendor": "amd", "pci_id": "1002:73ff", "name": "Radeon RX 6600 / 6600 XT", "memory_bytes": 8 * 2**30}
    assert {each.name for each in of(gpu, said)} == names


@pytest.mark.parametrize(
    ("vendor", "said", "name"),
    [
        ("nvidia", "NVIDIA A100-SXM4-80GB", "A100 SXM4 80GB"),
        ("nvidia", "NVIDIA GeForce RTX 3080 Ti", "GeForce RTX 3080 Ti"),
        ("nvidia", "NVIDIA GeForce RTX 3080 Laptop GPU", None),
        ("nvidia", "NVIDIA RTX A4000", "RTX A4000"),
        ("intel", "Intel(R) Arc(TM) B580 Graphics", "Arc B580"),
        ("apple", "Apple M4 Max", "Apple M4 Max"),
        ("apple", "Apple M2 Max", None),
        ("graphcore", "Graphcore C2", "C2"),
        ("intel", "A770", None),
    ],
)
def test_a_device_without_an_id_is_known_by_its_name(vendor: str, said: str, name: str | None) -> None:
    assert {each.name for each in of({"vendor": vendor}, said)} == ({name} if name else set())


# --- published results


def test_a_faster_step_has_a_ratio_above_one() -> None:
    found = nearest(measured(latency_ms=Latency(median=137.754 / 2)), of(GTX_1080), references())
    assert found is not None and found.value == 137.754 and found.unit == "ms"
    assert found.ratio == pytest.approx(2.0)
    assert "torch of unknown version then, 2.8.0 now" in found.differs
    assert found.source == "http://blog.dlprimitives.org/ (2021-10-26)"


def test_framework_family_comes_first_then_the_backend() -> None:
    keras = nearest(measured(framework="keras"), of(GTX_1080), references())
    assert keras is not None and keras.value == 189.994
    opencl = nearest(measured(backend="ocl"), of(GTX_1080), references())
    assert opencl is not None and opencl.value == 301.898
    onnx = nearest(measured(framework="onnxruntime"), of(GTX_1080), references())
    assert onnx is not None and any("onnxruntime" in each for each in onnx.differs)


def test_another_batch_is_compared_per_image() -> None:
    found = nearest(measured(batch=32, latency_ms=Latency(median=2 * 137.754)), of(GTX_1080), references())
    assert found is not None and found.ratio == pytest.approx(1.0)
    assert "batch 16 then, 32 now: compared per item" in found.differs


def test_the_nearest_batch_is_the_nearest_by_ratio() -> None:
    card = {"vendor": "amd", "pci_id": "1002:73ff", "name": "Radeon RX 6600 XT"}
    for batch, value in ((16, 258.973), (22, 258.973), (23, 358.872), (64, 358.872)):
        found = nearest(measured(backend="ocl", batch=batch), of(card), references())
        assert found is not None and found.value == value, batch


def test_iterations_per_second_and_compilation() -> None:
    step = {"workload": "unet_sd21", "task": "inference", "dtype": "float16", "batch": 2, "latency_ms": Latency(median=50.0)}
    plain = nearest(measured(**step), of(TITAN), references())
    assert plain is not None and plain.value == 15.76
    assert plain.ratio == pytest.approx(20 / 15.76)
    tuned = nearest(measured(**step, compile="max-autotune"), of(TITAN), references())
    assert tuned is not None and tuned.value == 19.68


def test_latency_throughput_and_energy_of_a_c2() -> None:
    here = measured(
        workload="resnext101_32x4d", task="inference", framework="popart", backend="ipu", dtype="float16", batch=12,
        latency_ms=Latency(median=4.75), energy=Energy(joules_per_item=0.2108, mean_watts=266.0, boundary="board", source="gc-monitor"),
    )  # fmt: skip
    speed = nearest(here, of(C2), references())
    assert speed is not None and speed.ratio == pytest.approx(1.0, rel=0.005)
    energy = nearest(here, of(C2), references(), quantity="energy")
    assert energy is not None and energy.unit == "images/s/W"
    assert energy.ratio == pytest.approx(1 / 0.2108 / 9.49)


def test_a_measured_rate_is_held_against_a_published_rate() -> None:
    here = measured(
        workload="matmul", task="micro", dtype="bfloat16", batch=None, latency_ms=None, throughput=Throughput(value=250.0, unit="TFLOP/s")
    )
    card = {"vendor": "nvidia", "pci_id": "10de:20b2", "name": "A100 SXM4 80GB"}
    found = nearest(here, of(card), references())
    assert found is not None and found.ratio == pytest.approx(250 / 271.2)


@pytest.mark.parametrize(
    "changes",
    [
        {"workload": "yolox_tiny", "task": "inference"},
        {"dtype": "float16"},
        {"task": "inference"},
        {"latency_ms": None},
        {"workload": "gpt2_decode"},
    ],
)
def test_no_result_to_compare_with_is_none(changes: dict[str, Any]) -> None:
    assert nearest(measured(**changes), of(GTX_1080), references()) is None


def test_the_frame_rate_of_an_application_is_never_compared_with() -> None:
    here = measured(
        workload="yolox_tiny", task="inference", backend="directml", framework="onnxruntime", batch=1, latency_ms=Latency(median=2.0)
    )
    assert row("A770-F2").usable is False
    assert nearest(here, of(A770), references()) is None


def test_what_the_clock_saw_and_variables_are_differences() -> None:
    here = measured(includes=("compute",), environment={"IPEX_XPU_ONEDNN_LAYOUT": "1"})
    said = list(differences(here, row("T07-resnet50")))
    assert "the clock saw host_to_device then, not now" in said
    assert "IPEX_XPU_ONEDNN_LAYOUT unset then, = 1 now" in said


# --- the roofline


def test_resnet50_on_an_a770_is_bound_by_arithmetic() -> None:
    # An image: 8.1784 GFLOP, at 17.2 TFLOP/s 0.47549 ms (2103.1 images/s); 107.98 MB, at 560 GB/s 0.19282 ms. Measured: 16 in 15.2 ms.
    here = measured(task="inference", backend="xpu", latency_ms=Latency(median=15.2))
    found = ceiling(here, Costs(flops=8.1784e9, bytes=107.98e6), of(A770))
    assert found is not None and found.bound == "compute"
    assert found.attainable == pytest.approx(2103.1, rel=1e-4)
    assert found.fraction == pytest.approx(1052.63 / 2103.1, rel=1e-4)
    assert "17.2 TFLOP/s fp32 vector" in found.source and "560 GB/s" in found.source


def test_in_float16_the_same_is_bound_by_memory() -> None:
    # 8.1784 GFLOP at 137.6 TFLOP/s: 0.05944 ms. 53.99 MB at 560 GB/s: 0.09641 ms, 10372 images/s.
    here = measured(task="inference", backend="xpu", dtype="float16", latency_ms=Latency(median=16 / 10372 * 1000))
    found = ceiling(here, Costs(flops=8.1784e9, bytes=53.99e6), of(A770))
    assert found is not None and found.bound == "memory"
    assert found.fraction == pytest.approx(1.0, rel=1e-3)


def test_the_published_times_give_the_published_share_of_the_peak() -> None:
    # vgg16 with cuDNN on the RTX 2060 SUPER: 115 % of the nominal peak, because Winograd does fewer operations than are counted.
    card = {"vendor": "nvidia", "pci_id": "10de:1f06", "name": "GeForce RTX 2060 SUPER"}
    here = measured(workload="vgg16", latency_ms=Latency(median=179.580))
    found = ceiling(here, Costs(flops=92.6482e9), of(card))
    assert found is not None and found.fraction == pytest.approx(1.15, abs=0.005)
    assert "memory not counted" in found.source


def test_an_iteration_of_two_latents_counts_both() -> None:
    # 5.97 it/s of 1608.5 GFLOP: 9.6 TFLOP/s, 7.0 % of 137.6.
    here = measured(
        workload="unet_sd21", task="inference", backend="xpu", dtype="float16", batch=2, throughput=Throughput(value=5.97, unit="it/s")
    )
    found = ceiling(here, Costs(flops=804.257e9), of(A770))
    assert found is not None and found.fraction == pytest.approx(0.070, abs=0.0005)


def test_float32_may_be_tf32_on_cuda_unless_it_is_switched_off() -> None:
    card = of({"vendor": "nvidia", "pci_id": "10de:20b2", "name": "A100 SXM4 80GB"})[0]
    assert peak_rate(measured(), card)[0] == 156
    assert peak_rate(measured(environment={"NVIDIA_TF32_OVERRIDE": "0"}), card)[0] == 19.5
    assert peak_rate(measured(workload="matmul", task="micro"), card)[0] == 19.5


def test_a_type_without_fast_units_is_computed_in_float32() -> None:
    card = of(GTX_1080)[0]
    assert peak_rate(measured(dtype="float16"), card)[0] == 8.873
    assert peak_rate(measured(dtype="mixed"), card)[0] == 8.873
    assert peak_rate(measured(dtype="int8"), card)[0] is None


def test_rates_need_no_costs() -> None:
    copy = measured(workload="memory_bandwidth", task="micro", batch=None, latency_ms=None, throughput=Throughput(value=280.0, unit="GB/s"))
    found = ceiling(copy, None, of(A770))
    assert found is not None and found.bound == "memory" and found.fraction == pytest.approx(0.5)


def test_an_unknown_device_or_untimed_work_has_no_ceiling() -> None:
    assert ceiling(measured(), Costs(flops=1e9), ()) is None
    assert ceiling(measured(latency_ms=None), Costs(flops=1e9), of(A770)) is None
    assert ceiling(measured(), None, of(A770)) is None


def test_a_processor_is_estimated() -> None:
    found = estimate(2, 2.5, {"fma", "avx", "avx2", "avx512f", "avx512_vnni"})
    assert found is not None and found.estimate
    assert found.vector["fp32"] == pytest.approx(0.32)  # 2 cores x 2.5 GHz x 64
    assert found.matrix == {"int8": pytest.approx(1.28)}
    here = measured(backend="cpu", task="inference", latency_ms=Latency(median=16 * 8.1784e9 / 0.32e12 * 1000 * 2))
    share = ceiling(here, Costs(flops=8.1784e9, bytes=1e8), [found])
    assert share is not None and share.fraction == pytest.approx(0.5)
    assert "estimate" in share.source
    assert estimate(2, 2.5, {"avx2", "fma", "avx"}).vector["fp32"] == pytest.approx(0.16)  # type: ignore[union-attr]
    assert estimate(2, 2.5, {"avx2", "avx"}).vector["fp32"] == pytest.approx(0.08)  # type: ignore[union-attr]
    assert estimate(2, 2.5, set()) is None
