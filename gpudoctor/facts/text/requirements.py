"""Which torch a resolver was asked for, or has beside what wants another one: pip, conda, uv and poetry say it in their own ways."""

from __future__ import annotations

import re

from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.sections import Sheet
from gpudoctor.model.lazy_pattern import lazy

_VERSION = r"(?P<version>\d+\.\d+(?:\.\d+)?(?:\+[a-z0-9.]{2,12})?)"
_ASKED = lazy(
    rf"(?:requirement|distribution found for|requested(?: \(constraint\))?|cannot install|version of|because|depends on|and you require) "
    rf"`?torch(?:==|\{{==)'?{_VERSION}|cannot install [^\n]{{0,300}}?\btorch=={_VERSION.replace('version', 'other')}|"
    rf"but you have torch {_VERSION.replace('version', 'have')}|candidates for torch \({_VERSION.replace('version', 'poetry')}\)|"
    rf"distribution `torch=={_VERSION.replace('version', 'uv')}",
    re.IGNORECASE,
)

_PARTNER_ASKED = lazy(
    rf"(?:requirement|distribution found for|requested(?: \(constraint\))?|cannot install|no versions? of|candidates for) "
    rf"`?(?P<package>torchvision|torchaudio)(?:==| ?\()'?{_VERSION}", re.IGNORECASE,
)  # fmt: skip


def read(sheet: Sheet, evidence: Evidence) -> None:
    """text.torch_asked: the first such release, with its local part; else text.partner_asked."""
    found = _ASKED.search(sheet.text)
    if found:
        evidence.fact("text.torch_asked", next(value for value in found.groups() if value), "text")
        return
    partner = _PARTNER_ASKED.search(sheet.text)
    if partner:
        evidence.fact("text.partner_asked", f"{partner['package'].lower()} {partner['version']}", "text")
