"""Limits on the nesting and the keys of a foreign text, checked before a parser reads it.

Parsers of TOML and JSON recurse into brackets, and the parser of TOML keeps every beginning of a dotted key: a file of some hundred
bytes could take gigabytes. The checks here take linear time, so that they are no target of such an attack themselves.
"""

from __future__ import annotations

import re

from gpudoctor.model.lazy_pattern import lazy

DEEPEST = 100
"""Brackets within brackets. A report has about 15, a lock file 4."""
LONGEST_KEY = 32
"""Parts of a dotted key. The longest in use, tool.poetry.group.dev.dependencies.NAME, has six."""
MOST_PARTS = 2_000_000
"""Sum of the squared lengths of all dotted keys of one file: the parser's memory grows with it."""
MOST_ENTRIES = 300_000
"""Keys, values and tables of one TOML file: its parser takes up to 20 microseconds for each. A lock file of 3 MB has 100,000."""
DEEPEST_PATH = 128
LONGEST_PATH = 4096
"""Characters: the longest path that Linux opens."""

_JSON_STRING = lazy(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
_TOML_TEXT = lazy(
    r'''"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*(?:"{3,5}|\\?\Z)'''
    r"""|'''[^']*(?:'(?!'')[^']*)*(?:'{3,5}|\Z)"""
    r"""|"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*(?:"|\\?(?=\n|\Z))"""
    r"""|'[^'\n]*(?:'|(?=\n|\Z))"""
    r"""|\#[^\n]*""",
    re.DOTALL,
)
_NO_BRACKETS = lazy(r"[^\[\]{}]+")
_BETWEEN_KEYS = lazy(r"[=,{}\[\]\n]")


class TooComplex(ValueError):
    """A text that is nested deeper, or has longer keys, than any genuine one. The message says what was exceeded, and the limit."""


def check_json(text: str) -> None:
    """Raises TooComplex for brackets that are nested too deep; whether it is JSON is for the parser to say."""
    if text.count("[") + text.count("{") > DEEPEST:
        _check_depth(_JSON_STRING.sub("", text))


def check_toml(text: str) -> None:
    """Raises TooComplex for brackets that are nested too deep and for dotted keys that are too long."""
    bare = _TOML_TEXT.sub("s", text)
    _check_depth(bare)
    entries = sum(map(bare.count, "=,["))
    if entries > MOST_ENTRIES:
        raise TooComplex(f"it has {entries} keys, values and tables; at most {MOST_ENTRIES} are read")
    squares = 0
    for part in _BETWEEN_KEYS.split(bare):
        dots = part.count(".")
        if dots >= LONGEST_KEY:
            raise TooComplex(f"a key has {dots + 1} parts; at most {LONGEST_KEY} are read")
        squares += dots * dots
    if squares > MOST_PARTS:
        raise TooComplex("the dotted keys have too many parts in all; write them as tables")


def check_path(path: str) -> None:
    """Raises TooComplex for a path that no system would open, since each of its folders is stored."""
    if len(path) > LONGEST_PATH:
        raise TooComplex(f"the path {path[:60]!r}… has {len(path)} characters; at most {LONGEST_PATH} are read")
    if path.count("/") + path.count("\\") > DEEPEST_PATH:
        raise TooComplex(f"the path {path[:60]!r}… is more than {DEEPEST_PATH} folders deep")


def _check_depth(bare: str) -> None:
    """The depth of nesting: the number of times that innermost pairs of brackets can be removed."""
    brackets = _NO_BRACKETS.sub("", bare)
    for _ in range(DEEPEST):
        if not brackets:
            return
        fewer = brackets.replace("[]", "").replace("{}", "")
        if len(fewer) == len(brackets):
            break
        brackets = fewer
    if len(brackets) > DEEPEST or "[]" in brackets or "{}" in brackets:
        raise TooComplex(f"brackets are nested more than {DEEPEST} deep, or are not closed")
