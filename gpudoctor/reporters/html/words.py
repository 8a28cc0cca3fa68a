"""How the page writes numbers, states and names, and the marks beside them."""

from __future__ import annotations

import re
from typing import Any

from gpudoctor.reporters.html.element import Element, element

STATES = {
    "ok": "ok", "warning": "warning", "broken": "broken", "unknown": "not checked", "not-reached": "not reached",
    "incomplete": "not installed", "not-applicable": "no device",
}  # fmt: skip
KINDS = {
    "ok": "good", "warning": "warn", "broken": "bad", "unknown": "doubt", "not-reached": "idle", "incomplete": "idle",
    "not-applicable": "idle", "error": "bad", "info": "note",
}  # fmt: skip
"""The look of the style sheet for each state and severity."""
MARKS = {
    "good": "M4 8.5 7 11.5 12.5 5", "bad": "M5 5 11 11 M11 5 5 11", "warn": "M8 4.2v4.6 M8 11.6v.2", "note": "M8 7.4v4.4 M8 4.4v.2",
    "doubt": "M6 6.2a2 2 0 1 1 3 1.7c-.8.4-1 .8-1 1.5 M8 11.8v.1", "idle": "M5.5 8h5",
}  # fmt: skip
"""The strokes of each look on a square of 16 by 16: each has a shape of its own, so that no meaning depends on the colour."""


def mark(kind: str) -> Element:
    """The sign of a look; the word beside it says the same."""
    return element(
        "svg",
        element("circle", cx="8", cy="8", r="7"),
        element("path", d=MARKS[kind]),
        class_=f"mark {kind}", viewBox="0 0 16 16", width="16", height="16", aria_hidden="true", focusable="false",
    )  # fmt: skip


def state(status: str) -> Element:
    kind = KINDS.get(status, "doubt")
    return element("span", mark(kind), STATES.get(status, status), class_=f"state {kind}")


def size(count: int | float | None) -> str:
    """Bytes in powers of ten, as drivers and cards are sold."""
    if count is None:
        return "–"
    for unit, divisor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= divisor:
            return f"{number(count / divisor)} {unit}"
    return f"{count:g} B"


def number(value: float) -> str:
    """A number with three significant digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def milliseconds(value: float | None) -> str:
    if value is None:
        return "–"
    if value >= 10_000:
        return f"{value / 1000:.1f} s"
    return f"{number(value * 1000)} µs" if value < 0.1 else f"{number(value)} ms"


def count(quantity: int, word: str, many: str = "") -> str:
    return f"{quantity} {word if quantity == 1 else many or word + 's'}"


def moment(created: str) -> Element:
    """A time such as 2026-11-20T10:00:00Z in the usual notation; any other text as it is."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", created, re.ASCII):
        return element("span", created)
    return element("time", f"{created[:10]} {created[11:16]} UTC", datetime=created)


def scalar(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def slug(text: str) -> str:
    """The text reduced to characters that an HTML id may have."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()[:80] or "x"
