"""The same work by several frameworks on one device, the fastest first: part of the screen of `gpudoctor validate`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.model.measurement import OK, Measurement
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.layout import Line, Span, hanging

APART = 1.25
"""Speeds that differ by more are said to, where neither is noisy."""
TASKS = {"training": " train", "inference": " infer"}
PROCESSOR = "the processor"


def lines(measurements: Sequence[Measurement], width: int) -> Iterator[Line]:
    """The lines; empty where no workload was measured with more than one framework."""
    for device, groups in same_work(measurements).items():
        yield from hanging((), f"The same on {visible(device)}, fastest first", width, style="bold")
        room = max(len(work(group[0])) for group in groups) + 2
        for group in groups:
            yield from hanging((Span("  "), Span(visible(work(group[0])).ljust(room), "dim")), _speeds(group), width)


def same_work(measurements: Sequence[Measurement]) -> dict[str, list[list[Measurement]]]:
    """By device, the measurements of each workload that several frameworks ran there, the fastest first."""
    groups: dict[tuple[object, ...], list[Measurement]] = {}
    for each in measurements:
        if each.status == OK and each.throughput is not None and not each.replicas:
            key = _device(each), each.title, each.task, each.dtype, each.batch, each.throughput.unit, each.includes, each.optimizer
            groups.setdefault(key, []).append(each)
    found: dict[str, list[list[Measurement]]] = {}
    for (device, *_), mine in groups.items():
        if len({each.framework for each in mine}) > 1:
            found.setdefault(str(device), []).append(sorted(mine, key=_speed, reverse=True))
    return found


def times_apart(group: Sequence[Measurement]) -> float | None:
    """The ratio of the first to the last speed of a group of `same_work`; None where they hardly differ, or a noisy one decides."""
    first, last = group[0], group[-1]
    apart = _speed(first) / _speed(last) if _speed(last) > 0 else 1.0
    return apart if apart > APART and not (first.noisy or last.noisy) else None


def _device(each: Measurement) -> str:
    """A key of the device: the processor is one for all frameworks; a card is identified by its address."""
    if each.backend == "cpu":
        return PROCESSOR
    address = each.conditions.gpu_address if each.conditions is not None else None
    return address or each.device_name or each.device


def work(each: Measurement) -> str:
    return f"{each.title}{TASKS.get(each.task, '')} {each.dtype}" + (f" b{each.batch}" if each.batch else "")


def _speeds(group: Sequence[Measurement]) -> str:
    """'openvino 0.402, onnxruntime 0.400, torch 0.190 TFLOP/s; 2.1 times apart'."""
    words = ", ".join(f"{visible(each.framework)} {_number(_speed(each))}" + (" (noisy)" if each.noisy else "") for each in group)
    unit = visible(group[0].throughput.unit) if group[0].throughput is not None else ""
    apart = times_apart(group)
    return f"{words} {unit}" + (f"; {apart:.1f} times apart" if apart is not None else "")


def _speed(each: Measurement) -> float:
    return each.throughput.value if each.throughput is not None else 0.0


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"
