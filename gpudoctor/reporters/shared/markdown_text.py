"""Escapes strings of an examined machine in Markdown: they are text, and never a link, a mention, a reference or HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.reporters.shared.escape import visible

LONGEST = 1500
"""The number of characters of a text outside of a block."""
_ADDRESS = lazy(r"(?:https?|ftp|ssh|git|file|mailto|javascript|data)\+?\w{0,8}:[^\s<>`\"')\]]*|\bwww\.[^\s<>`\"')\]]+", re.IGNORECASE)
_MARKS = lazy(r"(&amp;|&lt;|&gt;)|([\\`*\[\]~$]|(?<![^\W_])_|_(?![^\W_]))")
_START = lazy(r"^(\s*)([-+=#]|\d+(?=[.)]))")
"""Characters that would begin a list or a heading."""
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_LINKED = lazy(r"(@(?=\w)|[#!&%~$](?=[\w\"])|\bGH-(?=\d))")
_COMMIT = lazy(r"(?<![0-9A-Za-z])([0-9a-fA-F]{8})([0-9a-fA-F]{32})(?![0-9A-Za-z])")
"""Forty hexadecimal digits, which a tracker would link as a commit."""
BREAK = "\N{ZERO WIDTH SPACE}"
"""A zero-width space behind @ or #, so that no name is mentioned and no issue is referenced."""


def text(value: str) -> str:
    """Escapes a string as one line of running text."""
    shown = _cut(visible(value).strip())
    parts: list[str] = []
    end = 0
    for match in _ADDRESS.finditer(shown):
        parts += [_plain(shown[end : match.start()]), code(match[0])]
        end = match.end()
    marked = "".join([*parts, _plain(shown[end:])])
    return _START.sub(lambda m: m[1] + (f"{m[2]}\\" if m[2].isdigit() else f"\\{m[2]}"), marked)


def _plain(value: str) -> str:
    value = _COMMIT.sub(rf"\1{BREAK}\2", _LINKED.sub(rf"\1{BREAK}", value))
    value = "".join(_HTML.get(letter, letter) for letter in value)
    return _MARKS.sub(lambda m: m[1] or "\\" + m[2], value)


def code(value: str) -> str:
    """The text as inline code, between as many backticks as it requires."""
    shown = _cut(visible(value).strip())
    if not shown:
        return ""
    fence = "`" * (_longest_run(shown) + 1)
    padding = " " if shown[0] == "`" or shown[-1] == "`" else ""
    return f"{fence}{padding}{shown}{padding}{fence}"


def cell(marked: str) -> str:
    """The output of text() or code(), escaped for a table."""
    return re.sub(r"(?<!\\)\|", r"\\|", marked.replace("\n", " "))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the cells of `rows` are already Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell(each) for each in line) + " |" for line in lines)


def block(value: str, language: str = "") -> str:
    """Several lines, unchanged, between fences that none of them can end."""
    shown = visible(value, multiline=True).strip("\n").replace("\t", "    ")
    fence = "`" * max(_longest_run(shown) + 1, 3)
    return f"{fence}{language}\n{shown}\n{fence}"


def folded(title: str, content: str) -> str:
    """A folded section; `title` is our own text, `content` is Markdown."""
    return f"<details>\n<summary>{title}</summary>\n\n{content}\n\n</details>" if content else ""


def units(value: str) -> int:
    """The length in UTF-16 units, which trackers count."""
    return len(value.encode("utf-16-le", "surrogatepass")) // 2


def _longest_run(value: str) -> int:
    return max((len(run) for run in re.findall(r"`+", value)), default=0)


def _cut(value: str) -> str:
    return value if len(value) <= LONGEST else value[: LONGEST - 1] + "…"
