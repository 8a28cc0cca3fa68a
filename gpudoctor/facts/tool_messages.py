"""The messages with which tools and frameworks of the examined machine failed, in which signatures are looked for as in a pasted log.

The kernel log is not among them: it may speak of the past, which checks that ask for `kernel.log` take into account.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpudoctor.model.facts import Facts
from gpudoctor.model.signature import Numbered

ERRORS = {
    "nvidia.smi.error": "nvidia-smi", "opencl.error": "OpenCL", "rocm.rocminfo.error": "rocminfo", "sycl.ls.error": "sycl-ls",
    "xpu_smi.error": "xpu-smi", "poplar.gc_info.error": "gc-info", "poplar.vipu.error": "vipu",
}  # fmt: skip
APART = 30
"""The number of empty lines between two messages, over which no signature reaches: it is the limit of knowledge.structure."""


def said(facts: Facts) -> list[Numbered]:
    """The lines of all messages, each with the tool that printed it. Their numbers are negative and rise to -1, apart from those of a
    text."""
    lines: list[tuple[str, str]] = []
    for speaker, words in _speeches(facts):
        lines += [("", "")] * APART if lines else []
        lines += [(speaker, line) for line in words.splitlines()]
    return [Numbered(place - len(lines), text, speaker) for place, (speaker, text) in enumerate(lines)]


def _speeches(facts: Facts) -> Iterator[tuple[str, str]]:
    frameworks = facts.value("python.frameworks")
    for name, framework in frameworks.items() if isinstance(frameworks, Mapping) else ():
        error = framework.get("error") if isinstance(framework, Mapping) else None
        if isinstance(error, Mapping) and error.get("message"):
            yield f"import {name}", f"{error.get('name') or error.get('kind') or 'error'}: {error['message']}"
    for fact, speaker in ERRORS.items():
        if words := facts.value(fact):
            yield speaker, str(words)
