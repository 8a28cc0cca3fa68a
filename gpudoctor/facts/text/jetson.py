"""NVIDIA's Jetson modules: the text names the board, its JetPack, or the release of its Linux."""

from __future__ import annotations

import re

from gpudoctor.facts.probes.machine import JETPACKS
from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.sections import Sheet
from gpudoctor.model.lazy_pattern import lazy

_FAMILIES = r"AGX Orin|Orin NX|Orin Nano(?: Super)?|AGX Xavier|Xavier NX|AGX Thor|T[45]000|Thor|TX[12]i?|TK1|Nano|Orin|Xavier"
_MODULE = lazy(
    rf"\bJetson[ -](?P<name>{_FAMILIES})\b|\b(?P<bare>AGX Orin|Orin NX|Orin Nano|AGX Xavier|Xavier NX|AGX Thor)\b", re.IGNORECASE
)
_BOARD = lazy(
    r"\bjetson\b(?!\.|-ai-lab|[ -](?:zoo|containers?|ai lab|wheels?|forum|builds?))|\bjetpack\b|-tegra\b|\bL4T\b|\bnv_tegra_release\b",
    re.IGNORECASE,
)
_JETPACK = lazy(r"\bJetPack(?: SDK)?(?: version)?[ :=]{1,3}v?(?P<version>\d(?:\.\d(?:\.\d)?)?)\b", re.IGNORECASE)
_LINUX = lazy(r"\bL4T[ :=vr]{1,3}(?P<l4t>3\d)\.\d|#? ?R(?P<release>3\d) \(release\), REVISION: \d", re.IGNORECASE)
_NOT_MINE = lazy(
    r"\b(?:unlike|not|no|than|instead of|another|also|or|compared (?:to|with)|vs\.?|for|like|e\.g\.|such as|on (?:the )?other)\W+"
    r"(?:an?\W+|my\W+|the\W+|on\W+)*(?:NVIDIA )?$",
    re.IGNORECASE,
)
"""Words before a board that is not the one at hand."""


def read(sheet: Sheet, evidence: Evidence) -> None:
    """What the machine itself would say in /proc/device-tree/model and /etc/nv_tegra_release."""
    board = next(
        (found for found in _BOARD.finditer(sheet.text) if not _NOT_MINE.search(sheet.text[max(0, found.start() - 60) : found.start()])),
        None,
    )
    if board is None:
        return
    module = _MODULE.search(sheet.text)
    name = next((word for word in module.groups() if word), "") if module else ""
    evidence.files.setdefault("/proc/device-tree/model", f"NVIDIA Jetson {name}".strip())
    jetpack, linux = _JETPACK.search(sheet.text), _LINUX.search(sheet.text)
    if jetpack:
        evidence.fact("jetson.jetpack", jetpack["version"], "text")
    elif linux and (version := JETPACKS.get(linux["l4t"] or linux["release"])):
        evidence.fact("jetson.jetpack", version, "text")
