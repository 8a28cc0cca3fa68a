"""Turns pasted bytes into numbered lines: decoded, without colours, quoting and line ends of other systems."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.signature import Numbered

LONGEST_LINE = 20_000
"""Letters of a line that are read. Longer ones are data, not messages."""
_ESCAPES = lazy(r"\x1b(?:\[[0-9;:?<=>]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])")
_CONTROLS: dict[int, str | None] = dict.fromkeys((*range(0, 9), 11, 12, *range(14, 32), 127, *range(128, 160), 8203, 65279))
_CONTROLS.update(dict.fromkeys((0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069)))
_CONTROLS.update({0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"', 0xA0: " "})
"""Invisible letters go, and typographic quotes, as gcc and word processors set them, become plain ones."""
_QUOTED = lazy(r"^(?!>>>)(?:> ?){1,4}")
_STAMP = lazy(r"^(?:\[?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)\]?[ \t])")
"""What docker logs --timestamps and CI logs put before every line."""
_BUILD_STEP = lazy(r"^#\d{1,3} \d{1,5}\.\d{1,3}(?: |$)")
"""What docker build puts before the output of a step: '#14 107.3 '."""
_FAILED_STEP = lazy(r"^ ?> (?:importing|exporting|resolve|\[[^\]]{1,60}\] \S.*):\s*$")
"""The head of the lines that docker build repeats of a failed step; each begins with its time alone: '12.80 '."""
_TIME_OF_STEP = lazy(r"^\d{1,5}\.\d{1,4}(?: |$)")

_EXCEPTION = lazy(r"^(?:E\s+)?[A-Za-z_][\w.]*(?:Error|Exception|Warning): .*\w$")
_GOES_ON = lazy(r"^[a-z]+[.,]? [A-Za-z][^=(){}\[\]]*$")
_BROKEN_AT = range(50, 100)
"""Letters of a line that was broken because it was too long."""


def decode(raw: bytes) -> str:
    """The text, read as UTF-8, as UTF-16 as PowerShell writes it into files, or else as Windows' western code page. Never fails."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16", "replace")
    if raw[:400].count(b"\0") > len(raw[:400]) // 4:
        return raw.decode("utf-16-le" if raw[1:2] == b"\0" else "utf-16-be", "replace")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("utf-8", "replace")
        broken = text.count("\ufffd")
        whole = sum(letter > "\x7f" for letter in text) - broken
        return text if whole >= broken else raw.decode("cp1252", "replace")


def lines_of(text: str, first: int = 1) -> list[Numbered]:
    """Clean lines with the numbers that they have in the text."""
    rows = text.replace("\r\n", "\n").split("\n")
    return [Numbered(first + number, clean(row)) for number, row in enumerate(rows)]


def clean(row: str) -> str:
    """One line as a terminal would show it: a progress bar in its last state, no escapes, no invisible letters, no quoting."""
    row = row[:LONGEST_LINE]
    if "\r" in row:
        row = row.rstrip("\r").rpartition("\r")[2]
    if "\x1b" in row:
        row = _ESCAPES.sub("", row)
    if row[:1] == "#":
        row = _BUILD_STEP.sub("", row, count=1)
    if not row.isascii() or not row.isprintable():
        row = row.translate(_CONTROLS)
    return row.rstrip()


def unquoted(lines: Sequence[Numbered]) -> list[Numbered]:
    """The lines without the marks of e-mail and Markdown quoting, where many lines have them, and without a log's time stamps."""
    filled = [line for line in lines if line.text.strip()]
    quoted = sum(_QUOTED.match(line.text) is not None for line in filled)
    stamped = sum(_STAMP.match(line.text) is not None for line in filled)
    if quoted > 2 or (filled and quoted * 3 > len(filled)):
        lines = [_without_its_mark(line) for line in lines]
    if stamped > 2 and stamped * 2 > len(filled):
        lines = [replace(line, text=_STAMP.sub("", line.text, count=1)) for line in lines]
    return _rejoined(_without_times_of_steps(lines))


def _without_times_of_steps(lines: Sequence[Numbered]) -> Sequence[Numbered]:
    if not any(_FAILED_STEP.match(line.text) for line in lines):
        return lines
    return [replace(line, text=_TIME_OF_STEP.sub("", line.text, count=1)) for line in lines]


def _without_its_mark(line: Numbered) -> Numbered:
    found = _QUOTED.match(line.text)
    return Numbered(line.number, line.text[found.end() :], quoted=True) if found else line


def _rejoined(lines: Sequence[Numbered]) -> list[Numbered]:
    """The lines, with the last line of a traceback rejoined where a mail program or a form broke it before a word in small letters."""
    whole: list[Numbered] = []
    width = 0
    """The length of the line above, if that is an exception or its continuation; else 0."""
    for line in lines:
        if width in _BROKEN_AT and _GOES_ON.match(line.text):
            whole[-1] = replace(whole[-1], text=f"{whole[-1].text} {line.text}")
            width = len(line.text)
        else:
            whole.append(line)
            width = len(line.text) if len(line.text) in _BROKEN_AT and _EXCEPTION.match(line.text) else 0
    return whole
