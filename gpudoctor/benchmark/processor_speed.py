"""A processor's ceiling by measurement: the fastest speed of this run. Pure.

A formula (cores x clock x width) is wrong by half in either direction: a virtual machine does not show clocks, cores boost, and what one
clock holds differs between makers. So the roof of arithmetic is the fastest matrix product of a kept library (NumPy's BLAS, oneDNN, MKL)
or of any framework of the run, and that of memory the largest traffic; what a network reached beyond them raises the roof.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.benchmark.conditions import products
from gpudoctor.benchmark.reference_rows import DeviceRow
from gpudoctor.benchmark.references import NUMBERS, Costs, ceiling, items_per_second
from gpudoctor.model.measurement import OK, Ceiling, Measurement

MEMORY = "memory"
BEYOND = 2.0
"""A step that moves less than this many times the last-level cache is not limited by memory."""


class Reached(Struct, frozen=True):
    """A measured speed: operations of a type, or bytes, per second."""

    kind: str
    """fp32, fp64, bf16 ... or memory"""
    per_second: float
    words: str


class OnProcessor(Struct, frozen=True):
    """A measurement on the processor, the cost of one item, and the worker's results for other libraries."""

    measured: Measurement
    costs: Costs | None = None
    products: Any = None

    @property
    def batch(self) -> int:
        return self.measured.batch or 1


def reached(rows: Iterable[OnProcessor], cache: int | None) -> Iterator[Reached]:
    """All speeds of a run. `cache`: the size of the last-level cache in bytes."""
    for row in rows:
        each = row.measured
        for name, flops, _ in products(row.products):
            yield Reached("fp32", flops, f"the matrix product of {name}")
        if each.status != OK or each.throughput is None:
            continue
        kind = NUMBERS.get(each.dtype)
        if each.throughput.unit == "TFLOP/s" and kind:
            yield Reached(kind, each.throughput.value * 1e12, f"the matrix product of {each.framework}")
        elif each.workload == "memory_bandwidth":
            yield Reached(MEMORY, each.throughput.value * 1e9, f"c = a + b of {each.framework}")
        elif row.costs is not None and (items := items_per_second(each)) is not None:
            words = f"{each.workload} {each.task} of {each.framework}"
            if kind:
                yield Reached(kind, items * row.costs.flops, words)
            if row.costs.bytes and _beyond(row.costs, row.batch, cache):
                yield Reached(MEMORY, items * row.costs.bytes, words)


def peaks(formula: DeviceRow | None, speeds: Sequence[Reached]) -> DeviceRow | None:
    """The roofs of this processor. `formula`: what they would be by cores, clock and width. Of a type that no matrix product was measured
    in the formula's share is taken, brought to the speed that float32 reached; without any product only the formula is left, as long as
    nothing was faster."""
    best = {
        kind: max((each for each in speeds if each.kind == kind), key=lambda each: each.per_second) for kind in {s.kind for s in speeds}
    }
    single, memory = best.get("fp32"), best.get(MEMORY)
    product = any(each.kind == "fp32" and each.words.startswith("the matrix product") for each in speeds)
    if single is None or not product:
        too_slow = formula is None or (single is not None and single.per_second > formula.vector.get("fp32", 0.0) * 1e12)
        return None if formula is None or too_slow else replace(formula, gbs=_gbs(memory))
    scale = single.per_second / 1e12 / formula.vector["fp32"] if formula is not None and formula.vector.get("fp32") else None
    matrix = {name: value * scale for name, value in formula.matrix.items()} if formula is not None and scale else {}
    for kind, each in best.items():
        if kind not in (MEMORY, "fp32", "fp64"):
            matrix[kind] = max(each.per_second / 1e12, matrix.get(kind, 0.0))
    double = max(single.per_second / 2e12, best["fp64"].per_second / 1e12 if "fp64" in best else 0.0)
    words = f"the fastest measured here, {single.words}" + (f"; {memory.words}" if memory is not None else "")
    return DeviceRow(
        name="processor", vendor="cpu", source=words, date="", vector={"fp32": single.per_second / 1e12, "fp64": double}, matrix=matrix,
        rates="measured", gbs=_gbs(memory),
    )  # fmt: skip


def roof(row: OnProcessor, peak: DeviceRow | None, cache: int | None) -> Ceiling | None:
    """The fraction of the ceiling that a measurement reached."""
    costs = row.costs
    if costs is not None and not _beyond(costs, row.batch, cache):
        costs = Costs(flops=costs.flops)
    return ceiling(row.measured, costs, (peak,)) if peak is not None and row.measured.status == OK else None


def _beyond(costs: Costs, batch: int, cache: int | None) -> bool:
    """Whether a step moves so much more than the caches hold that memory may limit it; True where their size is unknown."""
    return costs.bytes is not None and (cache is None or costs.bytes * batch > BEYOND * cache)


def _gbs(memory: Reached | None) -> float | None:
    return memory.per_second / 1e9 if memory is not None else None
