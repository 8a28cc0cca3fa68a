"""The measurements on the page: bars against the ceiling and against published results, a table, and remarks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpudoctor.model.measurement import FAILED, OK, SKIPPED, Measurement
from gpudoctor.model.report import Report
from gpudoctor.reporters.html import charts
from gpudoctor.reporters.html.element import Child, Element, element, source
from gpudoctor.reporters.html.table import table
from gpudoctor.reporters.html.words import mark, moment, size
from gpudoctor.reporters.measurement.side_by_side_text import same_work, times_apart, work
from gpudoctor.reporters.measurement.validation_text import SHORT, grouped, rate_text, right_ones, time_text

HEADS = ("Workload", "Batch", "Median", "Throughput", "Memory", "Ceiling", "Published", "Result")
NOTHING = "–"
TYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64"}
SLOW = 0.8
"""The share of the published speed below which a result is marked as slow."""


def section(report: Report) -> Element | None:
    if not report.measurements:
        return None
    facts = report.facts.get("measured")
    measured = facts.get("date") if isinstance(facts, Mapping) else None
    groups = list(dict.fromkeys((each.device, each.framework) for each in report.measurements))
    return element(
        "section",
        element("h2", "Measurements", id="measurements"),
        element("p", "By gpudoctor validate", [", ", moment(measured)] if isinstance(measured, str) else None,
                ". The ceiling is what the device could do at most: its arithmetic, or its memory where that is the narrower way.",
                class_="intro"),
        [_group(report, number, [each for each in report.measurements if (each.device, each.framework) == group])
         for number, group in enumerate(groups)],
        [_same_work(device, works) for device, works in same_work(report.measurements).items()],
        aria_labelledby="measurements",
    )  # fmt: skip


def _group(report: Report, number: int, mine: Sequence[Measurement]) -> Element:
    one = next((each for each in mine if each.status == OK), mine[0])
    name = one.device_name if one.device_name and one.device_name != one.device else ""
    framework = f"{one.framework} {one.framework_version or ''}".strip()
    return element(
        "div",
        element("h3", one.device, element("span", " · ".join(part for part in (name, framework) if part), class_="aside")),
        element("div", _ceilings(mine, number), _references(mine, number), class_="figures"),
        _table(mine, f"{one.device}, {framework}"),
        element("ul", (element("li", *line) for line in _remarks(mine)), class_="remarks"),
        class_="device",
    )


def _same_work(device: str, works: Sequence[Sequence[Measurement]]) -> Element:
    """One device, several frameworks: a row for each work, with what each framework reached."""
    frameworks = sorted({each.framework for alike in works for each in alike})
    rows: list[tuple[Child, ...]] = []
    for alike in works:
        reached = {each.framework: each for each in alike}
        apart = times_apart(alike)
        cells: list[Child] = [_reached(reached[name]) if name in reached else NOTHING for name in frameworks]
        rows.append((work(alike[0]), *cells, f"{apart:.1f} times" if apart is not None else NOTHING))
    heads = ("Work", *frameworks, "Fastest and slowest apart")
    return element(
        "div",
        element("h3", "The same work by several frameworks", element("span", device, class_="aside")),
        table(f"The same work on {device}", heads, rows, range(1, len(heads))),
        class_="device",
    )


def _reached(each: Measurement) -> Child:
    return [rate_text(each), element("span", "noisy", class_="under") if each.noisy else None]


def short_name(each: Measurement) -> str:
    words = [each.title, SHORT.get(each.task, each.task) if each.task != "micro" else "", TYPES.get(each.dtype, each.dtype)]
    return " ".join(word for word in words if word) + (f" b{each.batch}" if each.batch else "")


def _ceilings(mine: Sequence[Measurement], number: int) -> Element | None:
    rows = [
        charts.Bar(
            label=short_name(each), value=f"{_percent(each.ceiling.fraction)} · {_roof(each.ceiling.bound)}", share=each.ceiling.fraction,
            tick=each.ceiling.fraction / each.reference.ratio if each.reference is not None and each.reference.ratio > 0 else None,
            kind="noisy" if each.noisy else "plain",
        )
        for each in mine if each.status == OK and each.ceiling is not None
    ]  # fmt: skip
    if not rows:
        return None
    description = "; ".join(f"{row.label}: {row.value}" for row in rows)
    ticks = any(row.tick is not None for row in rows)
    explained = " A full bar is all of it." + (" The upright stroke is the published result." if ticks else "") + _hatched(rows)
    return charts.figure(f"ceilings-{number}", "Share of the ceiling", description, *charts.bars(rows), caption=element("span", explained))


def _references(mine: Sequence[Measurement], number: int) -> Element | None:
    compared = [(each, each.reference) for each in mine if each.status == OK and each.reference is not None]
    if not compared:
        return None
    whole = max(1.25, min(max(reference.ratio for _, reference in compared), 4.0))
    rows = [
        charts.Bar(
            label=short_name(each), value=f"{reference.ratio:.2f} ×, then {reference.value:g} {reference.unit}".rstrip(),
            share=reference.ratio, tick=1.0, kind="slow" if reference.ratio < SLOW else "noisy" if each.noisy else "plain",
        )
        for each, reference in compared
    ]  # fmt: skip
    description = "; ".join(f"{row.label}: {row.value}" for row in rows)
    explained = " The upright stroke is the published speed; beyond it is faster." + _hatched(rows)
    return charts.figure(f"references-{number}", "Speed against published results", description, *charts.bars(rows, whole),
                         caption=element("span", explained))  # fmt: skip


def _hatched(rows: Sequence[charts.Bar]) -> str:
    return " Pale bars are noisy." if any(row.kind == "noisy" for row in rows) else ""


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.{1 if fraction < 0.1 else 0}f} %"


def _roof(bound: str) -> str:
    return "memory bound" if bound == "memory" else "compute bound"


def _table(mine: Sequence[Measurement], where: str) -> Element:
    """The table of measurements, without the columns that have no value."""
    rows = [_row(each) for each in mine]
    kept = [place for place in range(len(HEADS)) if any(row[place] != NOTHING for row in rows)]
    numeric = [number for number, place in enumerate(kept) if 0 < place < len(HEADS) - 1]
    texts = [[row[place] for place in kept] for row in rows]
    return table(f"All measurements on {where}", [HEADS[place] for place in kept], texts, numeric)


def _row(each: Measurement) -> tuple[Child, ...]:
    done, latency = each.status == OK, each.latency_ms
    interval = latency.ci95_percent if latency is not None else None
    spread = element("span", f"± {interval:.1f} %", class_="under") if interval is not None else None
    kind = " ".join(filter(None, (each.task, each.optimizer, each.dtype)))
    return (
        [each.title, element("span", kind, class_="under")], str(each.batch or NOTHING),
        [time_text(each), spread] if done else NOTHING, rate_text(each) if done else NOTHING, size(each.memory_peak_bytes),
        _percent(each.ceiling.fraction) if each.ceiling else NOTHING,
        f"{each.reference.ratio:.2f} ×" if each.reference else NOTHING, _result(each),
    )  # fmt: skip


def _result(each: Measurement) -> Element:
    off = each.correctness if each.correctness is not None and not each.correctness.passed else None
    if each.status == SKIPPED:
        kind, word = "idle", "skipped"
    elif off is not None and off.computed_in:
        kind, word = "warn", f"computes in {off.computed_in}"
    elif each.status == FAILED or off is not None:
        kind, word = "bad", "wrong result" if off is not None else "failed"
    else:
        right = "right" if each.correctness is not None else "timed"
        kind, word = ("warn", f"{right}, noisy") if each.noisy else ("good", right)
    return element("span", mark(kind), word, class_=f"state {kind}")


def _remarks(mine: Sequence[Measurement]) -> Iterator[list[Child]]:
    """Why something failed, was skipped or is noisy, each reason once; the energy; and the sources of ceilings and published results."""
    for status, word in ((FAILED, "Failed"), (SKIPPED, "Skipped")):
        for reason, names in grouped([(each.reason or "no reason given", short_name(each)) for each in mine if each.status == status]):
            yield [element("strong", f"{word}: "), f"{names}: {reason}"]
    done = [each for each in mine if each.status == OK]
    for text in right_ones(done):
        yield [element("strong", "Right: "), text]
    for reason, names in grouped([(each.noisy, short_name(each)) for each in done if each.noisy], exactly=False):
        yield [element("strong", "Noisy: "), f"{names}: {reason}"]
    for each in done:
        if each.energy is not None and each.energy.mean_watts is not None:
            per = f", {each.energy.joules_per_item:.3g} J per item" if each.energy.joules_per_item is not None else ""
            yield [element("strong", "Energy: "), f"{short_name(each)}: {each.energy.mean_watts:.1f} W{per} ({each.energy.boundary}, "
                   f"{each.energy.source})"]  # fmt: skip
    for each in done:
        if each.reference is not None:
            differs = f" ({'; '.join(each.reference.differs)})" if each.reference.differs else ""
            yield [element("strong", "Published: "), f"{short_name(each)}: {each.reference.ratio:.2f} of the speed in ",
                   source(each.reference.source), differs]  # fmt: skip
    if done and not any(each.reference for each in done):
        yield ["No published result of this device to compare with."]
    for origin in dict.fromkeys(each.ceiling.source for each in done if each.ceiling is not None):
        yield [element("strong", "Ceiling: "), source(origin)]
    for note in dict.fromkeys(note for each in done for note in each.notes if note.startswith("energy not known")):
        yield [note[0].upper() + note[1:]]
