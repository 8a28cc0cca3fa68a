"""What a text proves to be absent: only what a whole listing in it lacks. A probe takes a machine's empty answer as proof, but a text
that shows a part of a machine gives such answers to nearly every question."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.sections import Section
from gpudoctor.model.facts import Absent, Facts, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.signature import Numbered

NOT_THERE = Unknown("not in the text")
_FILTER = lazy(r"\|\s*(?:sudo\s+)?(?:[efz]?grep|rg|ag|head|tail|awk|sed|cut|findstr|select-string|fgrep|uniq|wc|where)\b", re.IGNORECASE)
_CUT = lazy(
    r"^\W{0,6}(?:\.{3,}|…|\[?(?:\.{3}|…)\]?|[<\[({]?\s{0,8}(?:\.{3}\s{0,8})?(?:snip(?:ped)?|truncated|cut|omitted|skipped|trimmed|redacted|"
    r"(?:\d+ )?(?:more )?(?:lines|rows|packages|entries) (?:omitted|skipped|removed|truncated|cut|more)|and (?:so on|\d+ more)|etc)\b"
    r"[^\n]{0,30})\W{0,6}$",
    re.IGNORECASE,
)
_OF_PACKAGES = ("dpkg-query", "rpm", "pacman", "packages", "apt")
"""Lists of the system's packages: hundreds of rows of which people show those that they think matter."""
_WHOLE = (
    "clinfo", "vulkaninfo", "sycl-ls", "rocminfo", "rocm-smi", "amd-smi", "nvidia-smi", "gc-", "vipu", "xpu-smi", "mokutil", "powershell",
    "system_profiler", "sysctl", "sw_vers", "lspci", "adapters", "modinfo", "dkms", "lsmod", "kernel.modules",
)  # fmt: skip
"""Programs that list all items of a kind, so that an item missing from their output is absent."""
_OF_THE_SYSTEM = ("not macOS", "no IPU software")
"""Reasons that follow from the system that the text names."""


def is_filtered(typed: str) -> bool:
    """Whether the command line pipes its listing to a filter: grep, head, cut."""
    return _FILTER.search(typed) is not None


def is_cut(lines: Sequence[Numbered]) -> bool:
    """Whether the lines have a mark of omission: '...', '[snip]', '(200 more lines)'."""
    return any(_CUT.match(line.text) for line in lines)


def is_whole(section: Section) -> bool:
    """Whether neither the command nor the person left anything out, as far as the text shows."""
    return not is_filtered(section.typed) and not is_cut(section.lines)


def _proves(source: str, evidence: Evidence) -> bool:
    if source.startswith(_OF_THE_SYSTEM):
        return bool(evidence.platforms)
    program = source.partition(" ")[0]
    if program.startswith(_OF_PACKAGES) or program in evidence.partial:
        return False
    if source.startswith("/"):
        return source in evidence.files
    if source.isupper():
        return any(name in evidence.variables for name in source.split(", "))
    return program.startswith(_WHOLE)


def unproven(facts: Facts, evidence: Evidence) -> None:
    """Makes unknown every absence that a probe concluded from what the text merely does not show."""
    for name, fact in list(facts.items()):
        if isinstance(fact, Unknown) or not _says_no(fact) or name.startswith("text.") or name in evidence.facts:
            continue
        if not _proves(fact.source, evidence):
            facts.set(name, NOT_THERE)


def _says_no(fact: Known | Absent) -> bool:
    if isinstance(fact, Absent):
        return True
    return fact.value is False or (isinstance(fact.value, (list, tuple)) and not fact.value)
