"""Tables that scroll by themselves where they are wider than the screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpudoctor.reporters.html.element import Child, Element, element

Cell = Child


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[Cell]], numeric: Sequence[int] = (), words: bool = False) -> Element:
    """A table; the first cell of a row is its heading. `numeric`: columns that are set flush right. `words`: the cells hold long texts,
    which wrap."""

    def cell(place: int, content: Cell) -> Element:
        side = {"class_": "number"} if place in numeric else {}
        return element("th", content, scope="row", **side) if place == 0 else element("td", content, **side)

    head = element("tr", (element("th", text, scope="col", **({"class_": "number"} if place in numeric else {}))
                          for place, text in enumerate(heads)))  # fmt: skip
    body = element("tbody", (element("tr", (cell(place, content) for place, content in enumerate(row))) for row in rows))
    style = {"class_": "words"} if words else {}
    whole = element("table", element("caption", caption), element("thead", head), body, **style)
    return element("div", whole, class_="scroll", role="region", tabindex="0", aria_label=caption)


def folded(summary: str, inner: Element) -> Element:
    """A table that folds, with the numbers of a chart."""
    return element("details", element("summary", summary), inner, class_="plain")
