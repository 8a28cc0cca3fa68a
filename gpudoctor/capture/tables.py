"""Writes the tables of a capture as TOML and JSON: the same bytes for the same values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def toml(table: Mapping[str, Any]) -> bytes:
    """TOML with one line for each key. Values are flat: texts, numbers, booleans, lists, and tables of these."""
    return "".join(f"{_quoted(key)} = {_value(value)}\n" for key, value in table.items()).encode("utf-8", "replace")


def json_table(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def json_line(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_quoted(str(key))} = {_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return _quoted(str(value))
