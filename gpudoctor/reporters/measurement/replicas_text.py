"""Measurements of `validate --replicas`: latency of whole batches, total throughput, throughput per watt; and the chosen batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.model.batch_pick import BatchPick
from gpudoctor.model.measurement import OK, Measurement
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.layout import Line, Span, hanging

FEW = 20
HEAD = ("batch", "p50 ms", "p95 ms", "p99 ms", "together", "per watt")


def lines(measurements: Sequence[Measurement], picks: Sequence[BatchPick], width: int) -> Iterator[Line]:
    """The lines; empty without a measurement by replicas. `measurements`: of any kind."""
    shared = [each for each in measurements if each.replicas and each.batch and each.status == OK]
    for key in dict.fromkeys(map(_key, shared)):
        mine = sorted((each for each in shared if _key(each) == key), key=lambda each: each.batch or 0)
        first = mine[0]
        yield from hanging(
            (), f"{first.workload} {first.task} {first.dtype}: {_processes(first)} on {first.device}{_clock(first)}", width, style="bold"
        )
        yield from _table(mine)
        yield ()
    for pick in picks:
        yield from _picked(pick, width)


def _key(each: Measurement) -> tuple[object, ...]:
    return each.workload, each.task, each.dtype, each.framework, each.device, each.replicas


def _processes(each: Measurement) -> str:
    return f"{each.replicas} processes share each batch" if (each.replicas or 1) > 1 else "one process"


def _clock(each: Measurement) -> str:
    """What the measured time includes; '' where inputs and results stay on the device."""
    begins = "images" if "preprocess" in each.includes else "numbers on the host" if "host_to_device" in each.includes else ""
    if "device_to_host" in each.includes:
        return f", timed from {begins or 'inputs on the device'} to results on the host"
    return f", timed from {begins}" if begins else ""


def _table(mine: Sequence[Measurement]) -> Iterator[Line]:
    rows = [_cells(each) for each in mine]
    shown = [place for place in range(len(HEAD)) if any(row[place] != "-" for row in rows)]
    widths = [max(len(HEAD[place]), *(len(row[place]) for row in rows)) for place in range(len(HEAD))]
    for place, row in enumerate([HEAD, *rows]):
        text = "  ".join(row[column].rjust(widths[column]) for column in shown)
        yield (Span(f"  {text}", "" if place else "dim"),)


def _cells(each: Measurement) -> tuple[str, ...]:
    latency, energy = each.latency_ms, each.energy
    times = [None, None, None] if latency is None else [latency.p50, latency.p95, latency.p99]
    unit = visible(each.throughput.unit) if each.throughput is not None else ""
    rate = f"{each.throughput.value:.4g} {unit}" if each.throughput is not None else "-"
    per_watt = energy.throughput_per_watt if energy is not None else None
    return (
        str(each.batch), *("-" if value is None else f"{value:.4g}" for value in times), rate,
        "-" if per_watt is None else f"{per_watt:.3g} {unit}/W",
    )  # fmt: skip


def _picked(pick: BatchPick, width: int) -> Iterator[Line]:
    name = f"{pick.workload} {pick.dtype} on {pick.device}"
    if pick.batch is None:
        text = f"no batch of {name} keeps {pick.max_latency_ms:g} ms ({pick.what})"
        yield from hanging((Span("Pick:  ", "warn"),), text, width)
        return
    text = f"batch {pick.batch} of {name}: the largest whose {pick.what} keeps {pick.max_latency_ms:g} ms"
    if pick.measured_ms is not None and pick.smoothed_ms is not None and abs(pick.measured_ms - pick.smoothed_ms) > 0.01 * pick.smoothed_ms:
        text += f" ({pick.smoothed_ms:.4g} ms in line with the other batches; {pick.measured_ms:.4g} ms by itself)"
    few = pick.steps is not None and pick.steps < FEW
    text += f"; {pick.steps} batches were timed, which is few for a percentile: a longer --duration" if few else ""
    yield from hanging((Span("Pick:  ", "warn" if few else "good"),), text, width)
