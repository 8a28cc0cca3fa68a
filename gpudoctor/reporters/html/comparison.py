"""Two reports compared on the page: the speed of each measurement with its interval, and the differences between the machines."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.model.comparison import Comparison, ComparisonRow
from gpudoctor.reporters.html import charts
from gpudoctor.reporters.html.element import Element, element
from gpudoctor.reporters.html.table import folded, table
from gpudoctor.reporters.html.words import milliseconds
from gpudoctor.reporters.measurement.comparison_text import how_to_read, seen_from
from gpudoctor.reporters.measurement.validation_text import SHORT

LOOKS = {"faster": "good", "slower": "bad", "same": "idle", "unknown": "doubt"}
SAID = {"same": "no difference", "unknown": "cannot tell"}
"""The words for verdicts; 'no difference' means that none is significant."""


def headline(found: Comparison) -> str:
    if found.speed is None or not found.rows:
        return f"{found.here} beside {found.there}"
    return f"{found.speed:.2f} × the speed of {found.there}"


def section(found: Comparison) -> Element:
    shown = found.rows
    return element(
        "section",
        element("h2", "Beside another report", id="comparison"),
        element("p", element("strong", found.here), " here against ", element("strong", found.there), " there.",
                f" All together {found.speed:.2f} × (geometric mean; above 1 is faster here)." if found.speed and shown else None,
                class_="intro"),
        _figure(found) if shown else element("p", "No measurement is in both reports."),
        _lists(found),
        _machines(found),
        aria_labelledby="comparison",
    )  # fmt: skip


def _figure(found: Comparison) -> Element:
    rows = [
        charts.RatioMark(label=_name(row), value=f"{row.speed:.2f} ×, {SAID.get(row.verdict, row.verdict)}", ratio=row.speed,
                     low=row.low, high=row.high, kind=LOOKS.get(row.verdict, "doubt"))
        for row in found.rows
    ]  # fmt: skip
    description = "; ".join(f"{row.label}: {row.value}" for row in rows)
    height, shapes = charts.spans(rows, "slower here", "faster here")
    note = element("span", f" The stroke is the 95 % interval; the middle is equal speed. {' '.join(how_to_read(found))}".rstrip())
    figure = charts.figure("comparison-speed", "Speed here by speed there", description, height, shapes, caption=note)
    heads = ("Measurement", found.here, found.there, "Speed", "95 % interval", "Seen from", "Processes", "Verdict", "What else differs")
    cells = ((_name(row), milliseconds(row.here_ms), milliseconds(row.there_ms), f"{row.speed:.2f} ×", _interval(row), seen_from(row),
              str(row.processes), SAID.get(row.verdict, row.verdict), "; ".join(row.differs) or "–") for row in found.rows)  # fmt: skip
    return element("div", figure, folded("The same as a table", table("Measurements of both reports", heads, cells, (1, 2, 3, 4, 5, 6))))


def _name(row: ComparisonRow) -> str:
    words = [row.workload, SHORT.get(row.task, row.task) if row.task != "micro" else "", row.dtype]
    return " ".join(word for word in words if word) + (f" b{row.batch}" if row.batch else "")


def _interval(row: ComparisonRow) -> str:
    return f"{row.low:.2f} to {row.high:.2f}" if row.low is not None and row.high is not None else "–"


def _lists(found: Comparison) -> list[Element]:
    parts = (("Broken on one side", found.broken), ("Only here", found.only_here), ("Only there", found.only_there))
    return [_list(title, items) for title, items in parts if items]


def _list(title: str, items: Sequence[str]) -> Element:
    return element("div", element("h3", title), element("ul", (element("li", item) for item in items)))


def _machines(found: Comparison) -> Element:
    if not found.machines:
        return element("p", "Nothing that is known of the two machines differs.", class_="aside")
    rows = ((each.name, each.here, each.there) for each in found.machines)
    heads = ("What", found.here, found.there)
    return element("div", element("h3", "What differs between the machines"), table("The two machines", heads, rows, words=True))
