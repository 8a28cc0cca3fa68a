"""Text as a reader sees it, in which names are then searched: no terminal sequences, no invisible characters, one form of letters."""

from __future__ import annotations

import html
import re
import unicodedata
from urllib.parse import unquote

_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_OVERSTRUCK = re.compile(r"[^\n\x08]\x08")
_CONTROL = re.compile(r"[\x01-\x08\x0b\x0e-\x1f\x7f]")
_WRITTEN_OTHERWISE = re.compile(r"%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|&#?\w{1,8};|\\[\"']")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-7][0-9A-Fa-f])|([\"']))")


def clean(text: str) -> str:
    """The text without terminal sequences, control and invisible characters; letters composed, wide and mathematical ones as plain ones.

    Line ends, tabs and the zero bytes that separate fields stay.
    """
    if text.isascii():
        if not _CONTROL.search(text):
            return text
    elif unicodedata.is_normalized("NFC", text) and not any(_other(letter) != letter for letter in set(text)):
        return text
    text = _SEQUENCE.sub("", text)
    if "\x08" in text:
        text = _OVERSTRUCK.sub("", text)
    changes = {ord(letter): other for letter in set(text) if (other := _other(letter)) != letter}
    return unicodedata.normalize("NFC", text.translate(changes))


def _other(letter: str) -> str:
    """The plain form of a letter; '' for an invisible one."""
    if letter < "\x7f":
        return "" if letter < " " and letter not in "\0\t\n\f\r\x1b" else letter
    kind = unicodedata.category(letter)
    if kind in ("Cc", "Cf", "Cs") and letter != "\x85":
        return "" if kind != "Cs" else "\N{REPLACEMENT CHARACTER}"
    if kind[0] in "LN" and ("\uff00" <= letter <= "\uffef" or letter >= "\U0001d400"):
        plain = unicodedata.normalize("NFKC", letter)
        return plain if plain.isascii() and plain.isalnum() else letter
    return letter


def decoded(line: str) -> str:
    """The line with percent signs, JSON escapes and HTML entities decoded; unchanged where it has none, or they decode to line ends."""
    if not _WRITTEN_OTHERWISE.search(line):
        return line
    plain = _ESCAPE.sub(lambda m: m[3] or chr(int(m[1] or m[2], 16)), line)
    plain = html.unescape(plain) if "&" in plain else plain
    if "%" in plain:
        plain = unquote(plain, errors="replace")
    plain = clean(plain)
    return line if re.search(r"[\x00\r\n\f\v\x1c-\x1e\x85\u2028\u2029\ud800-\udfff]", plain) else plain


def folded(word: str) -> str:
    """A key by which spellings of a name are equal that differ in case, accents or Unicode form."""
    if word.isascii():
        return word.lower()
    return "".join(letter for letter in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(letter))
