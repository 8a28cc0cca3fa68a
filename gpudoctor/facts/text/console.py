"""What was typed at Python's prompt, or with `python -c`, and the output: torch's version and which devices it sees."""

from __future__ import annotations

from itertools import pairwise

from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.sections import Sheet
from gpudoctor.model.lazy_pattern import lazy

_ASKED = lazy(
    r"^\s*(?:>>> ?|In \[\d+\]: )(?:import torch; ?)?(?:print\()?torch\.(?P<what>__version__|(?:cuda|xpu)\.is_available\(\))\)?;?\s*$"
)
_AT_ONCE = lazy(r"print\(\s*torch\.__version__\s*,\s*torch\.(?P<device>cuda|xpu)\.is_available\(\)\s*\)")
_VERSION = lazy(r"^(?:Out\[\d+\]: )?['\"]?(?P<version>\d+\.\d+\.\d+(?:(?:a|rc|\.dev)\d+)?(?:\+[\w.]+)?)['\"]?$")
_ANSWER = lazy(r"^(?:Out\[\d+\]: )?(?P<seen>True|False)$")
_BOTH = lazy(r"^(?P<version>\d{1,4}\.\d{1,4}\.\d{1,4}\S{0,60}) (?P<seen>True|False)$")


def read(sheet: Sheet, evidence: Evidence) -> None:
    version = ""
    seen: dict[str, bool] = {}
    lines = [line.text.strip() for line in sheet.lines if line.text.strip()]
    for question, answer in pairwise(lines):
        typed, at_once = _ASKED.match(question), _AT_ONCE.search(question)
        if at_once and (pair_shown := _BOTH.match(answer)):
            version = version or pair_shown["version"]
            seen.setdefault(at_once["device"], pair_shown["seen"] == "True")
        elif typed and typed["what"] == "__version__" and (version_shown := _VERSION.match(answer)):
            version = version or version_shown["version"]
        elif typed and (truth_shown := _ANSWER.match(answer)):
            seen.setdefault(typed["what"].partition(".")[0], truth_shown["seen"] == "True")
    if version:
        evidence.package("torch", version)
        evidence.saw("Python's prompt")
        for device, available in seen.items():
            evidence.torch_sees(device, available, version)
