"""Charts as SVG that adapt to the width of the page. Positions are per cent of the width, so that text keeps its size on a phone. Each
chart has a title and a description in words, and a table with the numbers beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct

from gpudoctor.reporters.html.element import Child, Element, element

LONGEST = 32
"""The number of letters of a label that fit beside a value at a width of 360 pixels."""


def figure(name: str, title: str, description: str, height: int, shapes: Iterable[Element], *more: Child, caption: Child = None) -> Element:
    """A chart with its caption. `name` is unique on the page, for ids; `description` describes in words what a person sees; `more` follows
    the drawing."""
    drawing = element(
        "svg", element("title", title, id=f"{name}-title"), element("desc", description, id=f"{name}-desc"), *shapes,
        class_="chart", role="img", width="100%", height=str(height), aria_labelledby=f"{name}-title", aria_describedby=f"{name}-desc",
    )  # fmt: skip
    return element("figure", element("figcaption", element("strong", title), caption), drawing, *more)


def text(x: float, y: float, words: str, class_: str = "", anchor: str = "start") -> Element:
    return element("text", shortened(words), x=percent(x), y=f"{y:g}", class_=class_ or "words", text_anchor=anchor)


def rectangle(x: float, y: float, width: float, height: float, class_: str) -> Element:
    return element("rect", x=percent(x), y=f"{y:g}", width=percent(max(width, 0)), height=f"{height:g}", rx="2", class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Element:
    return element("line", x1=percent(x1), y1=f"{y1:g}", x2=percent(x2), y2=f"{y2:g}", class_=class_)


def dot(x: float, y: float, class_: str, radius: float = 4) -> Element:
    return element("circle", cx=percent(x), cy=f"{y:g}", r=f"{radius:g}", class_=class_)


def percent(value: float) -> str:
    return f"{min(max(value, 0.0), 100.0):.2f}%"


def shortened(words: str) -> str:
    """The label without its middle: what distinguishes two measurements is at both ends."""
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 15]}…{words[-14:]}"


class Bar(Struct, frozen=True, kw_only=True):
    """A bar. `share` and `tick` are parts of a full bar; a value above 1 is drawn as a full bar with a sign. `kind` is a look of the
    style sheet."""

    label: str
    value: str
    share: float
    tick: float | None = None
    kind: str = "plain"


ROW = 46


def bars(rows: Sequence[Bar], whole: float = 1.0) -> tuple[int, list[Element]]:
    """The height and the shapes of the bars. `whole` is the value at the right end; a grid line marks each quarter of it."""
    height = ROW * len(rows) + 6
    shapes: list[Element] = []
    for number, row in enumerate(rows):
        top = ROW * number
        shapes += [
            text(0, top + 16, row.label), text(100, top + 16, row.value, "value", "end"),
            rectangle(0, top + 24, 100, 12, "track"), rectangle(0, top + 24, 100 * row.share / whole, 12, f"bar {row.kind}"),
        ]  # fmt: skip
        if row.share > whole * 1.005:
            shapes.append(line(99.4, top + 21, 99.4, top + 39, "beyond"))
        if row.tick is not None:
            shapes.append(line(100 * row.tick / whole, top + 20, 100 * row.tick / whole, top + 40, "tick"))
    return height, shapes


class Point(Struct, frozen=True, kw_only=True):
    """A point of a curve. `value` is None where there is no measurement; `words` gives the reason."""

    label: str
    value: float | None
    words: str
    kind: str = "plain"


PANEL = 196


def panel(points: Sequence[Point], marks: Sequence[tuple[int, str]], top_words: str) -> tuple[int, list[Element]]:
    """The height and the shapes of a curve over ordered positions. `marks` are upright lines, each with its position and word;
    `top_words` is the highest value in words."""
    most = max((point.value for point in points if point.value is not None), default=0.0)
    low, high = PANEL - 42, 30
    step = 92 / max(len(points) - 1, 1)
    places = [4 + step * number for number in range(len(points))] if len(points) > 1 else [50.0]

    def height(value: float) -> float:
        return low - (low - high) * (value / most if most > 0 else 0)

    shapes: list[Element] = [line(0, low, 100, low, "axis"), line(0, high, 100, high, "grid"), text(0, high - 8, top_words, "value")]
    for place, word in marks:
        shapes += [line(places[place], high, places[place], low, "mark-line"), text(places[place], PANEL - 2, word, "value", "middle")]
    for (x, here), (x_next, following) in zip(zip(places, points, strict=True), list(zip(places, points, strict=True))[1:], strict=False):
        if here.value is not None and following.value is not None:
            shapes.append(line(x, height(here.value), x_next, height(following.value), "curve"))
    every = max(math.ceil(len(points) / 9), 1)
    for number, (x, point) in enumerate(zip(places, points, strict=True)):
        if point.value is None:
            shapes.append(element("text", "✕", x=percent(x), y=f"{low - 6:g}", class_="missing", text_anchor="middle"))
        else:
            shapes.append(dot(x, height(point.value), f"point {point.kind}"))
        if number % every == 0:
            shapes.append(text(x, PANEL - 22, point.label, "words", "middle"))
    return PANEL, shapes


class RatioMark(Struct, frozen=True, kw_only=True):
    """A ratio and its confidence interval, as the chart draws them."""

    label: str
    value: str
    ratio: float
    low: float | None
    high: float | None
    kind: str


def spans(rows: Sequence[RatioMark], slower: str, faster: str) -> tuple[int, list[Element]]:
    """The height and the shapes of ratios on a logarithmic axis, with an upright line at 1 in the middle."""
    ends = [abs(math.log(each)) for row in rows for each in (row.ratio, row.low, row.high) if each is not None and each > 0]
    reach = max([*ends, math.log(1.25)]) * 1.08

    def x(ratio: float) -> float:
        return 50 + 50 * math.log(max(ratio, 1e-9)) / reach

    height = ROW * len(rows) + 28
    shapes: list[Element] = [
        text(0, 14, f"← {slower}", "words"), text(100, 14, f"{faster} →", "words", "end"), line(50, 22, 50, height, "axis"),
    ]  # fmt: skip
    for number, row in enumerate(rows):
        top = ROW * number + 22
        shapes += [text(0, top + 16, row.label), text(100, top + 16, row.value, "value", "end")]
        shapes.append(line(0, top + 30, 100, top + 30, "track-line"))
        if row.low is not None and row.high is not None:
            shapes.append(line(x(row.low), top + 30, x(row.high), top + 30, f"interval {row.kind}"))
        shapes.append(dot(x(row.ratio), top + 30, f"point {row.kind}", 5))
    return height, shapes
