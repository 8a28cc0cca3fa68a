"""Strings of the examined machine are untrusted: control sequences are removed before they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from gpudoctor.model.lazy_pattern import lazy

# CSI, then OSC/DCS/APC strings with their end, then the remaining two-character escapes.
_SEQUENCE = lazy(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)


def visible(text: str, *, multiline: bool = False) -> str:
    """The text without terminal sequences, control, bidirectional and zero-width characters; white space becomes a space.

    With `multiline`, line feeds and tabs are kept.
    """
    if text.isprintable():
        return text
    keep = "\n\t" if multiline else ""
    cleaned = []
    for char in _SEQUENCE.sub("", text):
        if char.isprintable() or char in keep:
            cleaned.append(char)
        elif char.isspace():
            cleaned.append(" ")
        elif "\ud800" <= char <= "\udfff":
            cleaned.append("\N{REPLACEMENT CHARACTER}")
    return "".join(cleaned)


def plain(value: Any) -> Any:
    """The value as JSON: strings made visible, keys as strings, numbers finite, any other object as its text."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return visible(value, multiline=True)
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {visible(str(key)): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, (set, frozenset)):
        return [plain(inner) for inner in sorted(value, key=str)]
    return visible(str(value), multiline=True)
