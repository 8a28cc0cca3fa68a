"""All facts as a searchable tree: dotted names as the checks use them, with their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpudoctor.reporters.html.element import Element, element
from gpudoctor.reporters.html.words import count, scalar, size

FLAT = 8
"""The number of plain values up to which a table is not folded."""
DEEPEST = 12
LONG = 12
"""The number of plain values of a list that are written on one line."""


def section(facts: Mapping[str, Any], unknown: Mapping[str, str]) -> Element | None:
    """The section of the facts. `unknown`: unknown facts with their reasons."""
    if not (facts or unknown):
        return None
    return element(
        "section",
        element("h2", "Facts", id="facts"),
        element("p", f"{count(leaves(facts), 'fact')} that were read on this machine, by the names that checks use; ‘none’ means that"
                " it was looked for. What could not be determined stands at the end, with the reason.", class_="intro"),
        _search(),
        element("div", (_top(str(name), facts[name]) for name in sorted(facts, key=str)), _untold(unknown), class_="tree", id="tree"),
        aria_labelledby="facts",
    )  # fmt: skip


def leaves(value: Any) -> int:
    if isinstance(value, Mapping):
        return sum(leaves(inner) for inner in value.values())
    if _is_list_of_tables(value):
        return sum(leaves(inner) for inner in value)
    return 1


def _search() -> Element:
    """The search field, which the script shows; without a script the browser's own search finds everything."""
    return element(
        "form",
        element("label", "Search names and values", for_="search"),
        element("input", id="search", type="search", autocomplete="off", spellcheck="false", placeholder="kernel, driver, torch …"),
        element("p", class_="aside", id="matches", role="status"),
        id="searching", hidden="", role="search",
    )  # fmt: skip


def _top(name: str, value: Any) -> Element:
    if isinstance(value, Mapping) or _is_list_of_tables(value):
        return _fold(name, name, value, 1)
    return element("dl", _row(name, name, value))


def _untold(unknown: Mapping[str, str]) -> Element | None:
    if not unknown:
        return None
    heading = element("summary", element("span", "not determined"), element("span", count(len(unknown), "fact"), class_="aside"))
    rows = (element("div", element("dt", name), element("dd", why, class_="none")) for name, why in sorted(unknown.items()))
    return element("details", heading, element("div", element("dl", rows), class_="inside"))


def _fold(label: str, path: str, value: Any, depth: int) -> Element:
    number = leaves(value)
    words = count(len(value), "entry", "entries") if _is_list_of_tables(value) else count(number, "fact")
    heading = element("summary", element("span", label, class_="name"), element("span", words, class_="aside"))
    return element("details", heading, element("div", *_inside(path, value, depth), class_="inside"))


def _inside(path: str, value: Any, depth: int) -> list[Element]:
    """The content of a table: plain values first, then the folded ones."""
    named = value.items() if isinstance(value, Mapping) else ((f"[{number}]", each) for number, each in enumerate(value))
    rows: list[Element] = []
    folds: list[Element] = []
    for key, inner in named:
        place = f"{path}{key}" if str(key).startswith("[") else f"{path}.{key}"
        if depth < DEEPEST and (isinstance(inner, Mapping) or _is_list_of_tables(inner)) and inner:
            if isinstance(inner, Mapping) and len(inner) <= FLAT and not any(isinstance(each, Mapping | list) for each in inner.values()):
                rows += [_row(f"{key}.{name}", f"{place}.{name}", each) for name, each in inner.items()]
            else:
                folds.append(_fold(_labelled(str(key), inner), place, inner, depth + 1))
        else:
            rows.append(_row(str(key), place, inner))
    return ([element("dl", rows)] if rows else []) + folds


def _labelled(key: str, inner: Any) -> str:
    """The label of an item of a list: its name, where it has one."""
    name = inner.get("name") or inner.get("address") if isinstance(inner, Mapping) and key.startswith("[") else None
    return f"{key} {name}" if isinstance(name, str) else key


def _is_list_of_tables(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(isinstance(each, Mapping) for each in value)


def _row(label: str, path: str, value: Any) -> Element:
    content, kind = _shown(label, value)
    """The whole name is written out, so that the browser's own search finds it."""
    before = path.removesuffix(label)
    name = element("dt", element("span", before, class_="prefix") if before else None, label)
    return element("div", name, element("dd", content, **({"class_": kind} if kind else {})))


def _shown(label: str, value: Any) -> tuple[Element | str, str]:
    if value is None or value in ([], {}, ()):
        return "none", "none"
    if isinstance(value, int) and not isinstance(value, bool) and label.endswith("bytes"):
        return f"{value} ({size(value)})", ""
    if isinstance(value, Sequence) and not isinstance(value, str):
        items = [scalar(each) if not isinstance(each, Mapping | list) else str(each) for each in value]
        if len(items) <= LONG and not any("\n" in item or len(item) > 60 for item in items):
            return ", ".join(items), ""
        return element("ul", (element("li", item) for item in items)), ""
    return (scalar(value) if not isinstance(value, Mapping) else str(value)), ""
