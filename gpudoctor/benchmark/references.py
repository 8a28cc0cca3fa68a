"""Compares a measurement with the nearest published result of its device, and with the device's ceiling. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from gpudoctor.benchmark.reference_rows import OTHER_UNITS, SPEED_UNITS, DeviceRow, ReferenceRow
from gpudoctor.model.measurement import Ceiling, Measurement, Reference

FAMILIES = {"ipex": "torch", "poptorch": "torch", "keras": "tensorflow"}
BACKENDS = {"opencl": "ocl", "ipex": "xpu"}
NUMBERS = {"float64": "fp64", "float32": "fp32", "tf32": "tf32", "float16": "fp16", "bfloat16": "bf16", "int8": "int8", "uint8": "int8"}
ITEMS = ("images/s", "items/s", "samples/s")
TF32_OFF = "NVIDIA_TF32_OVERRIDE"


class Costs(Struct, frozen=True, kw_only=True):
    """What one item (image, latent ...) takes: floating point operations, and bytes to and from memory at the least (None: not counted)."""

    flops: float
    bytes: float | None = None


def nearest(
    measurement: Measurement, device: Sequence[DeviceRow], rows: Iterable[ReferenceRow], quantity: str = "speed"
) -> Reference | None:
    """The published result of the same device, workload, task and precision that comes nearest; None where there is none to compare with.

    Same framework family first, then same backend, then the nearest batch (by ratio), then same compilation; printed before approximate,
    new before old. `device` is what device_names.identify found. `quantity`: speed, or energy (images/s/W).
    """
    names = {row.name for row in device}
    fitting = []
    for row in rows:
        if row.usable and row.device in names and _same_work(measurement, row):
            ratio = speed_ratio(measurement, row) if quantity == "speed" else _energy_ratio(measurement, row)
            if ratio is not None and math.isfinite(ratio) and ratio > 0:
                fitting.append((row, ratio))
    if not fitting:
        return None
    newest_first = sorted(fitting, key=lambda found: found[0].date, reverse=True)
    row, ratio = min(newest_first, key=lambda found: _distance(measurement, found[0]))
    differs = list(differences(measurement, row))
    if len(names) > 1:
        differs.append(f"this may be another card: {', '.join(sorted(names))} share one PCI id")
    return Reference(ratio=ratio, value=row.value, unit=row.unit, source=_cited(row), differs=tuple(differs))


def differences(measurement: Measurement, row: ReferenceRow) -> Iterable[str]:
    """The conditions in which the published result differs, one clause each."""
    version = (row.framework_version or "").partition("+")[0]
    now = (measurement.framework_version or "").partition("+")[0]
    if row.framework and _family(row.framework) != _family(measurement.framework):
        yield f"{_join(row.framework, version)} then, {_join(measurement.framework, now)} now"
    elif row.framework and _minor(version) != _minor(now):
        yield f"{row.framework} {version or 'of unknown version'} then, {now or 'of unknown version'} now"
    if row.backend and _backend(row.backend) != _backend(measurement.backend):
        yield f"{row.backend} then, {measurement.backend} now"
    if row.batch and measurement.batch and row.batch != measurement.batch:
        yield f"batch {row.batch} then, {measurement.batch} now: compared per item"
    if row.dtype and row.dtype != measurement.dtype:
        yield f"{row.dtype} then, {measurement.dtype} now"
    if row.input and measurement.input and tuple(row.input) != tuple(measurement.input):
        yield f"input {'x'.join(map(str, row.input))} then, {'x'.join(map(str, measurement.input))} now"
    if row.compile != measurement.compile:
        yield f"compilation {row.compile} then, {measurement.compile} now"
    if row.optimizer and measurement.optimizer and row.optimizer != measurement.optimizer:
        yield f"{row.optimizer} then, {measurement.optimizer} now"
    if (row.replicas or 1) != (measurement.replicas or 1):
        yield f"{row.replicas} replicas then, {measurement.replicas or 1} now"
    yield from _other_clock(row.includes or (), measurement.includes or ())
    for name in sorted({*row.environment, *measurement.environment}):
        before, here = row.environment.get(name), measurement.environment.get(name)
        if before != here:
            yield f"{name} {_set(before)} then, {_set(here)} now"
    if row.os:
        yield f"{row.os} then"
    if row.quality == "approximate":
        yield "a round figure"
    yield from row.conditions


def _other_clock(then: Sequence[str], now: Sequence[str]) -> Iterable[str]:
    """What only one of the two timings includes; empty where either does not say what it includes."""
    if then and now:
        yield from (f"the clock saw {part} then, not now" for part in then if part not in now)
        yield from (f"the clock sees {part} now, not then" for part in now if part not in then)


def items_per_second(measurement: Measurement) -> float | None:
    """Items (images, latents) per second; None where nothing was timed or the batch is not known."""
    throughput, latency = measurement.throughput, measurement.latency_ms
    if throughput is not None and throughput.unit in ITEMS:
        return throughput.value
    if measurement.batch is None:
        return None
    if throughput is not None and throughput.unit == "it/s":
        return throughput.value * measurement.batch
    return 1000 * measurement.batch / latency.median if latency is not None and latency.median > 0 else None


def ceiling(measurement: Measurement, costs: Costs | None, device: Sequence[DeviceRow]) -> Ceiling | None:
    """The roofline: items per second that arithmetic or memory allow, and how much of the lower of the two was reached.

    Matrix products (TFLOP/s) and copies (GB/s) need no costs. None where the table has no peak for this precision.
    """
    if not device:
        return None
    row = device[0]
    said = _cited(row)
    peak, label = peak_rate(measurement, row)
    throughput = measurement.throughput
    if throughput is not None and throughput.unit == "TFLOP/s":
        return _reached(throughput.value, peak, "compute", "TFLOP/s", f"{label}: {said}") if peak else None
    if throughput is not None and throughput.unit == "GB/s":
        return _reached(throughput.value, row.gbs, "memory", "GB/s", f"{row.gbs:.4g} GB/s: {said}") if row.gbs else None
    speed = items_per_second(measurement)
    if speed is None or costs is None:
        return None
    roofs = []
    if peak and costs.flops > 0:
        roofs.append((peak * 1e12 / costs.flops, "compute", label))
    if row.gbs and costs.bytes:
        roofs.append((row.gbs * 1e9 / costs.bytes, "memory", f"{row.gbs:.4g} GB/s"))
    if not peak or not roofs:
        return None  # with one of the two roofs only, the limit that is named could be wrong
    attainable, bound, _ = min(roofs)
    words = ", ".join(words for _, _, words in roofs) + ("" if row.gbs and costs.bytes else ", memory not counted")
    return _reached(speed, attainable, bound, "items/s", f"{words}: {said}")


def peak_rate(measurement: Measurement, row: DeviceRow) -> tuple[float | None, str]:
    """(TFLOP/s, the same in words): the device's peak in the measurement's precision. A narrow type may always be computed in float32."""
    kind = NUMBERS.get(measurement.dtype)
    wanted = [kind] if kind else ["fp16", "bf16"] if measurement.dtype.startswith("mixed") else []
    found = [(units[name], f"{name} {words}") for name in wanted for words, units in _units(row) if name in units]
    if kind in ("tf32", "fp16", "bf16") or (wanted and kind is None):
        found += [(units["fp32"], f"fp32 {words}") for words, units in _units(row) if "fp32" in units]
    if kind == "fp32" and "tf32" in row.matrix and tf32_allowed(measurement):
        found.append((row.matrix["tf32"], "tf32 matrix"))
    if not found:
        return None, ""
    value, words = max(found)
    return value, f"{value:.4g} {'TOP/s' if kind == 'int8' else 'TFLOP/s'} {words}"


def tf32_allowed(measurement: Measurement) -> bool:
    """Whether float32 may silently run as TF32: on CUDA by default, but for torch's plain matrix products."""
    if measurement.backend != "cuda" or measurement.environment.get(TF32_OFF) == "0":
        return False
    return not (_family(measurement.framework) == "torch" and measurement.task == "micro")


def _cited(row: DeviceRow | ReferenceRow) -> str:
    return f"{row.source} ({row.date})" if row.date else row.source


def _units(row: DeviceRow) -> tuple[tuple[str, Mapping[str, float]], ...]:
    return ("vector", row.vector), ("matrix", row.matrix)


def _reached(value: float, roof: float, bound: str, unit: str, source: str) -> Ceiling:
    return Ceiling(fraction=value / roof, bound=bound, source=source, attainable=roof, unit=unit)


def _same_work(measurement: Measurement, row: ReferenceRow) -> bool:
    if (row.workload, row.task) != (measurement.workload, measurement.task) or row.dtype is None:
        return False
    narrow = measurement.dtype.startswith("mixed") or measurement.dtype in ("float16", "bfloat16")
    return row.dtype == measurement.dtype or (row.dtype == "mixed" and narrow)


def speed_ratio(measurement: Measurement, row: ReferenceRow) -> float | None:
    """The ratio of the measured speed to the published one, for units of time or of speed; None where they cannot be converted."""
    direction = SPEED_UNITS.get(row.unit)
    if direction is None:
        return None
    published, here = row.images_per_second, items_per_second(measurement)
    if published and here:
        return here / published
    if measurement.throughput is not None and measurement.throughput.unit == row.unit and row.batch == measurement.batch and row.value:
        return (measurement.throughput.value / row.value) ** direction
    return None


def _energy_ratio(measurement: Measurement, row: ReferenceRow) -> float | None:
    joules = measurement.energy.joules_per_item if measurement.energy is not None else None
    if row.unit != "images/s/W" or not joules or joules < 0:
        return None
    return (1 / joules / row.value) ** OTHER_UNITS[row.unit]


def _distance(measurement: Measurement, row: ReferenceRow) -> tuple[bool, bool, float, bool, bool]:
    batches = abs(math.log(measurement.batch / row.batch)) if measurement.batch and row.batch else 0.0
    return (
        _family(row.framework or "") != _family(measurement.framework),
        _backend(row.backend or "") != _backend(measurement.backend),
        batches,
        row.compile != measurement.compile,
        row.quality == "approximate",
    )


def _family(framework: str) -> str:
    return FAMILIES.get(framework, framework)


def _backend(backend: str) -> str:
    return BACKENDS.get(backend, backend)


def _minor(version: str) -> tuple[str, ...]:
    return tuple(version.split(".")[:2])


def _join(*words: str) -> str:
    return " ".join(word for word in words if word)


def _set(value: str | None) -> str:
    return "unset" if value is None else f"= {value}"
