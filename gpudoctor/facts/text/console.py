"""What somebody asked at Python's prompt, or with `python -c`, and what it answered: torch's version and which devices it sees."""

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
        asked, at_once = _ASKED.match(question), _AT_ONCE.search(question)
        if at_once and (both := _BOTH.match(answer)):
            version = version or both["version"]
            seen.setdefault(at_once["device"], both["seen"] == "True")
        elif asked and asked["what"] == "__version__" and (told := _VERSION.match(answer)):
            version = version or told["version"]
        elif asked and (said := _ANSWER.match(answer)):
            seen.setdefault(asked["what"].partition(".")[0], said["seen"] == "True")
    if version:
        evidence.package("torch", version)
        evidence.saw("Python's prompt")
        for device, there in seen.items():
            evidence.torch_sees(device, there, version)
