"""Combines the answers of several workers that ran at once: of replicas, by batch; of a collective, by message size. Pure.

A batch is divided between replicas and is done when its last part is: the n-th steps of all replicas are the n-th batch, and its latency
is the longest of theirs. Throughput is what all did in their common time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.benchmark import flop_model
from gpudoctor.benchmark.worker_group import OTHER, SILENT_FOR
from gpudoctor.benchmark.worker_numbers import number_of
from gpudoctor.benchmark.workers import WorkerAnswer
from gpudoctor.model.measurement import FAILED, OK

MOST = 100_000
"""The largest number of samples of one worker; an answer with more is refused."""


class Together(Struct, frozen=True):
    """One measurement by several workers. `rate`: items per second of all workers; None where it failed."""

    answer: WorkerAnswer
    rate: float | None = None
    each: tuple[float, ...] = ()
    """The rate of each replica."""
    message: int | None = None
    """The size of the message of a collective, in bytes."""


def failure(answers: Sequence[WorkerAnswer], name: str = "replica") -> WorkerAnswer | None:
    """The answer of the worker that failed or was skipped, for all; None where all are ok. Workers that were ended because of it are not
    blamed,
    but a silent one is named, since a hanging rank makes those fail that wait for it."""
    bad = [(rank, answer) for rank, answer in enumerate(answers) if answer.status != OK]
    if not bad:
        return None
    rank, answer = next((one for one in bad if OTHER not in one[1].reason), bad[0])
    label = f"{name} {rank + 1} of {len(answers)}: " if answer.status == FAILED else ""
    silent = [
        f"; {name} {place + 1} was silent for {one.reason.rpartition(SILENT_FOR)[2]}"
        for place, one in bad
        if place != rank and OTHER in one.reason and SILENT_FOR in one.reason
    ]
    return replace(
        answer, reason=f"{label}{answer.reason}{''.join(silent)}", out_of_memory=any(each.out_of_memory for _, each in bad),
        late=any(each.late for each in answers),
    )  # fmt: skip


def of_batches(answers: Sequence[WorkerAnswer]) -> Together:
    """Combines the answers of all replicas into one measurement."""
    bad = failure(answers)
    if bad is not None:
        return Together(bad)
    times = [_times(answer.result) for answer in answers]
    rates = [_rate(answer.result) for answer in answers]
    if any(one is None for one in times) or any(one is None for one in rates):
        return Together(_no_numbers(answers))
    latency = _latency([one for one in times if one is not None])
    items = [number_of(answer.result.get("items_per_step")) or 0.0 for answer in answers]
    counts = [int(number_of(answer.result.get("iterations")) or 0) for answer in answers]
    peaks = [answer.result.get("memory_peak_bytes") for answer in answers]
    known_peaks = [peak for peak in peaks if isinstance(peak, int) and not isinstance(peak, bool)]
    firsts = [number_of(answer.result.get("first_ms")) for answer in answers]
    result = {
        **answers[0].result, **latency, "iterations": min(counts), "items_per_step": sum(items), "outputs": _outputs(answers),
        "memory_peak_bytes": sum(known_peaks) if len(known_peaks) == len(answers) else None,
        "first_ms": max((first for first in firsts if first is not None), default=None),
        "steady": all(answer.result.get("steady") is not False for answer in answers),
    }  # fmt: skip
    known = tuple(rate for rate in rates if rate is not None)
    return Together(replace(_slowest(answers), result=result), sum(known), known)


def of_messages(answers: Sequence[WorkerAnswer], messages: Sequence[int]) -> list[Together]:
    """The measurements of a collective, one for each message size: an operation is done when the last rank has its result."""
    bad = failure(answers, "rank")
    if bad is not None:
        return [Together(bad)]
    found: list[Together] = []
    for place, message in enumerate(messages):
        tables = [_at(answer.result.get("sizes"), place) for answer in answers]
        times = [_times(table) for table in tables]
        if any(samples is None for samples in times) or any(number_of(table.get("items_per_step")) is None for table in tables):
            return [*found, Together(_no_numbers(answers))]
        latency = _latency([samples for samples in times if samples is not None])
        result = {
            **answers[0].result, **latency, "iterations": tables[0].get("iterations"), "items_per_step": tables[0].get("items_per_step"),
            "outputs": _outputs(answers),
        }  # fmt: skip
        items, median = number_of(result["items_per_step"]), latency["latency_ms"]["median"]
        found.append(Together(replace(_slowest(answers), result=result), (items or 0.0) * 1000 / median, message=message))
    return found


def _latency(times: Sequence[Sequence[float]]) -> dict[str, Any]:
    """`latency_ms` and `noisy` by the slowest replica of each round. `times`: seconds of each step, by replica."""
    rounds = [max(parts) for parts in zip(*times, strict=False)]  # a faster replica does more rounds
    summary: dict[str, Any] = flop_model.timing().summary(rounds, 1)
    return {"latency_ms": summary["latency_ms"], "noisy": summary["noisy"]}


def _times(table: Mapping[str, Any]) -> list[float] | None:
    """The seconds of each sample; None where the worker's samples are not valid times."""
    samples = table.get("samples_us")
    if not isinstance(samples, list) or not 2 <= len(samples) <= MOST:
        return None
    numbers = [number_of(value) for value in samples]
    return [max(number, 0.1) / 1e6 for number in numbers if number is not None] if all(_not_negative(numbers)) else None


def _not_negative(numbers: Iterable[float | None]) -> Iterable[bool]:
    return (number is not None and number >= 0 for number in numbers)


def _rate(table: Mapping[str, Any]) -> float | None:
    """Items per second: all items of the window, divided by its duration; None for invalid numbers."""
    steps, seconds, items = (number_of(table.get(name)) for name in ("iterations", "window_s", "items_per_step"))
    if steps is None or items is None or not seconds or min(steps, seconds, items) <= 0:
        return None
    return steps * items / seconds


def _outputs(answers: Sequence[WorkerAnswer]) -> list[Any]:
    found: list[Any] = []
    for answer in answers:
        rows = answer.result.get("outputs")
        found += rows if isinstance(rows, list) else []
    return found


def _slowest(answers: Sequence[WorkerAnswer]) -> WorkerAnswer:
    return max(answers, key=lambda answer: answer.seconds)


def _no_numbers(answers: Sequence[WorkerAnswer]) -> WorkerAnswer:
    return replace(answers[0], status=FAILED, reason="measure: the times of the workers are no numbers", stage="measure", result={})


def _at(listed: Any, place: int) -> Mapping[str, Any]:
    row = listed[place] if isinstance(listed, list) and place < len(listed) else None
    return row if isinstance(row, Mapping) else {}
