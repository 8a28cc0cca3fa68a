"""Whether a text shows ZLUDA at work: a program for CUDA runs through it on an AMD card."""

from __future__ import annotations

import re

from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.sections import Sheet
from gpudoctor.model.facts import Known
from gpudoctor.model.lazy_pattern import lazy

_AT_WORK = lazy(
    r"\bZLUDA(?: version)?:? v?\d|\[ZLUDA\]|\bzluda\.exe\b|[\\/]\.?zluda[\\/]|--use-zluda\b|\bComfyUI-Zluda\b|"
    r"(?<!not )(?<!n't )\b(?:with|using|through|via|on|runs?|run|under) ZLUDA\b",
    re.IGNORECASE,
)
_ASKED = lazy(r"\b(?:without|would|should|could|can I|instead of|or with|an option|alternative)\b", re.IGNORECASE)
"""Words of a sentence that weighs ZLUDA."""


def read(sheet: Sheet, evidence: Evidence) -> None:
    if any(_AT_WORK.search(line.text) and not _ASKED.search(line.text) for line in sheet.lines):
        evidence.facts["text.zluda"] = Known(True, "text")
