"""Redacts JSON and XML: values are changed; keys, tags, numbers and layout are not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

_LITERAL = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
_TAG = re.compile(r"<(?!(?:secret|credentials|email)>)(/?[A-Za-z_][\w.:-]{0,80})[^<>]{0,4000}>|<[!?][^<>]{0,4000}>")


def is_json(text: str) -> bool:
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def is_xml(text: str) -> bool:
    return text.lstrip()[:1] == "<" and "</" in text


def in_json(text: str, of_key: Callable[[str], str], of_value: Callable[[str, str], str]) -> str:
    """Redacts JSON string by string. `of_value(key, text)` gets the last key; versions that begin with a digit are not passed to it."""
    kept: list[str] = []
    key, end = "", 0
    for match in _LITERAL.finditer(text):
        kept.append(text[end : match.start()])
        end = match.end()
        literal = match[0]
        try:
            plain = str(json.loads(literal, strict=False))
        except ValueError:
            plain = literal[1:-1]
        new = plain
        if text[end : end + 16].lstrip()[:1] == ":":
            key, new = plain, of_key(plain)
        elif key != "version" or not plain[:1].isdigit():
            new = of_value(key, plain)
        kept.append(literal if new == plain else json.dumps(new, ensure_ascii=literal.isascii()))
    return "".join([*kept, text[end:]])


def in_xml(text: str, of_value: Callable[[str, str], str], of_tag: Callable[[str], str]) -> str:
    """Redacts XML. `of_value(tag, text)` gets the text between tags and the tag before it, `of_tag` the text between < and >."""
    kept: list[str] = []
    key, end = "", 0
    for match in _TAG.finditer(text):
        between = text[end : match.start()]
        kept += [of_value(key, between) if between.strip() else between, f"<{of_tag(match[0][1:-1])}>"]
        end = match.end()
        opened = match[1] or ""
        key = "" if opened.startswith("/") else opened
    return "".join([*kept, of_value("", text[end:])])
