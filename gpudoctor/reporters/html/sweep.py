"""Throughput, latency and memory as functions of the batch size: three curves over the same batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gpudoctor.model.batch_sweep import FAILED, MEMORY, Sweep, SweepPoint
from gpudoctor.reporters.html import charts
from gpudoctor.reporters.html.element import Child, Element, element
from gpudoctor.reporters.html.table import folded, table
from gpudoctor.reporters.html.words import milliseconds, number, size
from gpudoctor.reporters.measurement.sweep_text import ENDS

WORDS = {MEMORY: "memory is full", FAILED: "failed"}


def section(sweeps: Sequence[Sweep]) -> Element | None:
    if not sweeps:
        return None
    return element(
        "section",
        element("h2", "Batch size", id="batch"),
        element("p", "Throughput, latency and memory; the knee is where more costs more than it brings.", class_="intro"),
        [_sweep(sweep, place) for place, sweep in enumerate(sweeps)],
        aria_labelledby="batch",
    )


def _sweep(sweep: Sweep, place: int) -> Element:
    unit = sweep.unit or "items/s"
    panels = (
        ("Throughput", lambda point: point.throughput, lambda value: f"{number(value)} {unit}"),
        ("Latency", lambda point: point.latency_ms, milliseconds),
        ("Memory", lambda point: point.memory_bytes, size),
    )  # fmt: skip
    figures = [_panel(sweep, f"sweep-{place}-{name.lower()}", name, value, words) for name, value, words in panels]
    return element(
        "div",
        element("h3", sweep.workload, element("span", sweep.device, class_="aside")),
        element("ul", (element("li", *line) for line in _found(sweep)), class_="remarks"),
        element("div", figures, class_="figures thirds"),
        folded("The same as a table", _table(sweep, unit)),
        class_="device",
    )


def _panel(
    sweep: Sweep, name: str, title: str, value: Callable[[SweepPoint], float | None], words: Callable[[float], str]
) -> Element | None:
    known = [(point, value(point) if point.measured else None) for point in sweep.points]
    values = [each for _, each in known if each is not None]
    if not values:
        return None
    marked = {"knee": sweep.knee, "pick": sweep.chosen}
    named = [(place, [word for word, batch in marked.items() if batch == point.batch]) for place, point in enumerate(sweep.points)]
    marks = [(place, ", ".join(words_of)) for place, words_of in named if words_of]
    points = [
        charts.Point(label=str(point.batch), value=each, words=WORDS.get(point.status, point.status),
                     kind="chosen" if point.batch in marked.values() else "plain")
        for point, each in known
    ]  # fmt: skip
    missed = any(point.value is None for point in points)
    description = "; ".join(f"batch {point.label}: {words(point.value) if point.value is not None else point.words}" for point in points)
    top = words(max(values))
    note = element("span", " against batch" + (" (✕: did not run)" if missed else ""))
    return charts.figure(name, title, description, *charts.panel(points, marks, top), caption=note)


def _found(sweep: Sweep) -> Iterator[list[Child]]:
    if sweep.limit is None:
        reason = next((point.reason for point in sweep.points if point.reason), "no reason given")
        yield [element("strong", "No batch ran: "), reason]
        return
    if sweep.knee is not None:
        yield [element("strong", f"Knee: batch {sweep.knee}, "), "the smallest with 95 % of the best throughput"]
    yield [element("strong", f"Limit: batch {sweep.limit}, "), ENDS.get(sweep.ended_by, sweep.ended_by)]
    if sweep.max_latency_ms is not None:
        found = f"batch {sweep.chosen}" if sweep.chosen else "no batch"
        yield [element("strong", f"Pick: {found} "), f"within {sweep.max_latency_ms:g} ms"]
    if sweep.volatile:
        yield [element("strong", "Volatile: "), sweep.volatile]


def _table(sweep: Sweep, unit: str) -> Element:
    rows = (
        (str(point.batch), f"{number(point.throughput)} {unit}" if point.throughput is not None else "–", milliseconds(point.latency_ms),
         size(point.memory_bytes), f"{WORDS.get(point.status, point.status)}{': ' if point.reason else ''}{point.reason}")
        for point in sweep.points
    )  # fmt: skip
    heads = ("Batch", "Throughput", "Latency", "Memory", "Came to")
    return table(f"{sweep.workload} on {sweep.device}", heads, rows, numeric=(1, 2, 3))
