"""Packs a report into a few lines of base64, small enough for an issue, and unpacks it."""

from __future__ import annotations

import base64
import binascii
import re
import zlib

BEGIN, END = "gpudoctor.report/1 packed", "end of gpudoctor.report/1"
WIDTH = 120
LARGEST = 64_000_000
"""The largest size of an unpacked document, in bytes."""
_BLOCK = re.compile(rf"^[ \t>]*{re.escape(BEGIN)}[ \t]*\r?$((?:\r?\n[ \t>]*[A-Za-z0-9+/=]{{1,200}}[ \t]*\r?$)+)", re.MULTILINE)


def pack(document: str) -> str:
    """The document, compressed with zlib and encoded as base64, between two marker lines."""
    letters = base64.b64encode(zlib.compress(document.encode("utf-8"), 9)).decode("ascii")
    lines = (letters[start : start + WIDTH] for start in range(0, len(letters), WIDTH))
    return "\n".join((BEGIN, *lines, END))


def unpack(text: str) -> str | None:
    """The packed document in a text, quoted or not; None where there is none. Raises ValueError for a damaged one."""
    found = _BLOCK.search(text)
    if found is None:
        return None
    unfolding = zlib.decompressobj()
    try:
        packed = base64.b64decode(re.sub(r"[\s>]", "", found[1]), validate=True)
        document = unfolding.decompress(packed, LARGEST)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"the packed report is damaged ({error})") from None
    if not unfolding.eof:
        raise ValueError("the packed report is cut off or too large")
    return document.decode("utf-8", "replace")
