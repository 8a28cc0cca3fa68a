"""Lines of styled spans, wrapped to a width. Colours are added last, so that the layout is the same with and without them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from msgspec import Struct

from gpudoctor.reporters.shared.escape import visible

SGR = {"good": "32", "bad": "1;31", "warn": "33", "dim": "2", "bold": "1", "command": "36"}

_ASCII = str.maketrans({"·": "-", "…": "...", "–": "-", "—": "-", "→": "->", "’": "'", "‘": "'", "×": "x", "™": "", "®": ""})


class Span(Struct, frozen=True):
    """A text in one style."""

    text: str
    style: str = ""


Line = tuple[Span, ...]


class Terminal(Struct, frozen=True):
    """The properties of the place that the text is written to."""

    width: int = 80
    colour: bool = False
    unicode: bool = True

    def draw(self, lines: Iterable[Line]) -> str:
        return "".join("".join(self._span(span) for span in _inert(line)).rstrip() + "\n" for line in lines)

    def shown(self, text: str) -> str:
        return text if self.unicode else text.translate(_ASCII).encode("ascii", "replace").decode()

    def _span(self, span: Span) -> str:
        text = self.shown(span.text)
        return f"\x1b[{SGR[span.style]}m{text}\x1b[0m" if self.colour and span.style and text.strip() else text


def _inert(line: Line) -> Line:
    """The line with protection against CI runners: GitHub reads '::' behind white space, and older syntax '##[' anywhere, as a command."""
    text = "".join(span.text for span in line)
    if "##[" in text:
        line = tuple(Span(span.text.replace("##[", "## ["), span.style) for span in line)
    return (Span("| "), *line) if text.lstrip().startswith("::") else line


def hanging(first: Line, text: str, width: int, *, style: str = "", last: str = "", quoted: bool = False) -> list[Line]:
    """The text wrapped beside `first`, with further lines indented by its width. `last` is set flush right where it fits. `quoted`: the
    words come from elsewhere, so that each further line begins with a mark."""
    indent = sum(len(span.text) for span in first)
    room = max(width - indent, 12)
    words = wrapped(text, room)
    if last and len(words[0]) + len(last) + 2 > room:
        words = wrapped(text, max(room - len(last) - 2, 16))
    lines: list[Line] = [(*first, Span(words[0], style))]
    if last:
        gap = max(width - indent - len(words[0]) - len(last), 2)
        lines = [(*lines[0], Span(" " * gap), Span(last, "dim"))]
    margin = Span(" " * (indent - 2) + "| ", "dim") if quoted and indent >= 2 else Span(" " * indent)
    return lines + [(margin, Span(line, style)) for line in words[1:]]


def wrapped(text: str, room: int) -> list[str]:
    """The text in lines. Words are never broken, so that paths and versions stay in one piece."""
    flat = " ".join(visible(text).split())
    return textwrap.wrap(flat, room, break_long_words=False, break_on_hyphens=False) or [""]


def joined(parts: Iterable[str], width: int, *, indent: int = 0, separator: str = " · ") -> list[str]:
    """The parts on as few lines as possible, broken only between parts."""
    lines: list[str] = []
    for part in (visible(part) for part in parts if part):
        if lines and len(lines[-1]) + len(separator) + len(part) <= width:
            lines[-1] += separator + part
        else:
            lines.append((" " * indent if lines else "") + part)
    return lines
