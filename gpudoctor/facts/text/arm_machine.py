"""The processor of the machine at hand, where the text shows that it is an Arm one: an answer of a tool, or the name of a board."""

from __future__ import annotations

import re

from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.sections import Sheet
from gpudoctor.model.lazy_pattern import lazy

_ANSWER = lazy(
    r"^\s{0,8}(?:\$ )?(?:uname -m\W{1,4})?(?:aarch64|arm64)\s*$|"
    r"\b(?:aarch64|arm64) GNU/Linux\b|^\s{0,20}Architecture:\s{1,60}(?:aarch64|arm64)\b",
    re.IGNORECASE | re.MULTILINE,
)
"""What uname, lscpu and dpkg answer."""
_BOARD = lazy(
    r"\bRaspberry Pi (?:[345]|Zero 2)\b|\bOrange Pi (?:3|4|5|CM\d)|\b(?:Radxa )?Rock ?5[A-C]?\b|\bRK35\d{2}\b|"
    r"\bGraviton ?\d|\bAmpere Altra\b|\bSnapdragon X\b|\bWindows (?:11 )?on ARM\b",
    re.IGNORECASE,
)
"""Machines that there are with an Arm processor only."""
_SAID = lazy(
    r"\b(?:my|an?|this|our|on)(?: \w{1,12}){0,2} (?:aarch64|arm64) (?:machine|board|server|host|vm|instance|laptop|system|device)\b",
    re.IGNORECASE,
)
_NOT_MINE = lazy(
    r"\b(?:unlike|not|no|than|instead of|another|also|or|compared (?:to|with)|vs\.?|for|like|e\.g\.|such as|supports?|on (?:the )?other)\W+"
    r"(?:an?\W+|my\W+|the\W+|on\W+)*$",
    re.IGNORECASE,
)
"""Words before a machine that is not the one at hand."""
_OTHER = lazy(r"\b(?:x86[_-]64|amd64)\b", re.IGNORECASE)


def read(sheet: Sheet, evidence: Evidence) -> None:
    """Sets platform.machine where one machine is shown and no other processor beside it."""
    if _OTHER.search(sheet.text) or "macos" in evidence.platforms:
        return
    for pattern in (_ANSWER, _BOARD, _SAID):
        for found in pattern.finditer(sheet.text):
            if not _NOT_MINE.search(sheet.text[max(0, found.start() - 60) : found.start()]):
                evidence.fact("platform.machine", "arm64" if "arm64" in found[0].lower() else "aarch64", "text")
                return
