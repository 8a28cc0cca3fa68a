"""Python packages and their versions: pip list, freeze and show, conda list, what an installation printed, and requirements."""

from __future__ import annotations

import re

from gpudoctor.facts.probes.dist_info import RELEVANT, normalise
from gpudoctor.facts.text.absence import is_whole
from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.sections import Section, Sheet
from gpudoctor.model.lazy_pattern import lazy

_VERSION = r"\d[\w.!]*(?:\+[\w.]+)?"
_PIP_HEAD = lazy(r"^Package\s+Version\b")
_PIP_ROW = lazy(rf"^(?P<name>[A-Za-z][\w.\-]*)\s+(?P<version>{_VERSION})(?:\s+\S.*)?$")
_CONDA_HEAD = lazy(r"^# packages in environment at|^# Name\s+Version\s+Build|^\s*Name\s+Version\s+Build")
_PINNED = lazy(rf"(?<![\w.\-])(?P<name>[A-Za-z][\w.\-]*)(?:\[[\w,\-]+\])?==(?P<version>{_VERSION})(?![\w*])")
_BUILD_ASKED = lazy(
    r"\s(?:--index-url|-i)[= ]https://download\.pytorch\.org/whl/(?:nightly/|test/)?(?P<build>xpu|cu\d{2,3}|rocm\d[\d.]{0,6})/?(?=\s|$)"
)
"""The index of one build of PyTorch: its wheels of torch 2.9.1 are called 2.9.1+cu128, though the command says `torch==2.9.1`."""
_OF_PYTORCH = ("torch", "torchvision", "torchaudio")
_FROZEN = lazy(rf"(?P<name>[A-Za-z][\w.\-]*)==(?P<version>{_VERSION})")
_SHOWN = lazy(r"^Name: (?P<name>[\w.\-]+)$")
_INSTALLED = lazy(r"^\s*Successfully installed (?P<list>.+)$")
_INSTALLED_ONE = lazy(rf"(?P<name>[A-Za-z][\w.]*(?:-[A-Za-z][\w.]*)*)-(?P<version>{_VERSION})")
_SATISFIED = lazy(rf"^Requirement already satisfied: (?P<name>[\w.\-]+)(?:[^\w.\s\-]\S*)? in .*?(?:\((?P<version>{_VERSION})\))?$")
_UV = lazy(rf"^ (?P<sign>[-+~]) (?P<name>[A-Za-z][\w.\-]*)==(?P<version>{_VERSION})(?: \(.*\))?$")
_POETRY = lazy(rf"^\s*[-•] (?:Installing|Updating|Downgrading) (?P<name>[A-Za-z][\w.\-]*) \((?:\S+ -> )?(?P<version>{_VERSION})[):]")
"""What uv and poetry changed: with '-' a distribution is gone."""
_ERROR = lazy(r"^ERROR|requires|which is incompatible|Could not find|No matching|from versions", re.IGNORECASE)
_ORIGIN = lazy(r"^\W*\w+ installed from\b", re.IGNORECASE)
"""A field of an issue form: how a package came, as 'pip install tensorflow-gpu==1.14'. Its version stands in another field."""
_OWN_LINE = lazy(
    rf"^[\s*\->•`]*(?P<name>[A-Za-z][\w.\-]*?)[`*]*(?:\s*[:=]\s*|\s+(?:version\s+|v)?)[`*]*(?P<version>\d{{1,5}}\.\d{_VERSION[2:]})[`*.,;]{{0,4}}(?:\s+\(.*\))?$"
)
_OF_ANY_LANGUAGE = lazy(r"^[\s*\->•`]*onnxruntime(?![\w.-]|\s{2})", re.IGNORECASE)
"""'onnxruntime: 1.11.0' of an issue form may be the library of C++, Java or C#; a row of a list has its columns, or another
wheel beside it."""
_WHOLE_LIST = lazy(
    r"^(?:sudo\s+)?(?:\S*/)?(?:(?:uv\s+|python[\d.]*(?:\.exe)?\s+-m\s+)?pip[\d.]*(?:\.exe)?|conda|mamba|micromamba)\s+list"
    r"(?:\s+(?:-v|--verbose|--disable-pip-version-check|--format[= ]\w+|--python[= ]\S+|(?:-n|--name|-p|--prefix)[= ]\S+|2>\S+))*$"
)
"""What lists everything: no pattern, no --outdated, --user, --local or --not-required, nothing behind a pipe."""


def read(sheet: Sheet, evidence: Evidence) -> None:
    for section in sheet.sections:
        _whole_listing(section, evidence)
    wanted: list[tuple[int, str, str]] = []
    of_wheels = "onnxruntime-gpu" in sheet.lower
    for number, line in enumerate(sheet.lines):
        text = line.text
        if _ERROR.search(text) or _ORIGIN.match(text):
            continue
        changed = (_UV.match(text) if sheet.by_uv else None) or _POETRY.match(text)
        if changed:
            if changed.groupdict().get("sign") != "-":
                evidence.package(changed["name"], changed["version"])
            continue
        shown = _SHOWN.match(text)
        if shown and number + 1 < len(sheet.lines) and sheet.lines[number + 1].text.startswith("Version: "):
            evidence.package(shown["name"], sheet.lines[number + 1].text[9:])
        installed = _INSTALLED.match(text)
        if installed:
            for listed in filter(None, map(_INSTALLED_ONE.fullmatch, installed["list"].split())):
                evidence.package(listed["name"], listed["version"])
            continue
        satisfied = _SATISFIED.match(text)
        if satisfied and satisfied["version"]:
            evidence.package(satisfied["name"], satisfied["version"])
        own = _OWN_LINE.match(text)
        if own and RELEVANT.match(normalise(own["name"])) and (of_wheels or not _OF_ANY_LANGUAGE.match(text)):
            evidence.package(own["name"], own["version"])
            continue
        for pinned in _PINNED.finditer(text[:2000]):
            for_some_systems = re.match(r"\s*;", text[pinned.end() :])  # an environment marker, which may not hold here
            if RELEVANT.match(normalise(pinned["name"])) and not for_some_systems:
                wanted.append((line.number, pinned["name"], _as_wheel(pinned["name"], pinned["version"], text)))
    there = dict(evidence.packages)
    evidence.other_pins = {number for number, name, version in wanted if _differs(there.get(normalise(name)), version)}
    for number, name, version in wanted:  # a pinned version counts where the text shows none that is installed, and names one release
        if normalise(name) not in there and number not in evidence.other_pins:
            evidence.package(name, version)


def _differs(installed: str | None, pinned: str) -> bool:
    """Whether a command pins another release than is installed: what it names beside that belongs to another environment."""
    return installed is not None and installed.partition("+")[0] != pinned.partition("+")[0]


def _as_wheel(name: str, version: str, command: str) -> str:
    """The version with the local part that the wheel of the command's index has."""
    asked = _BUILD_ASKED.search(command) if normalise(name) in _OF_PYTORCH and "+" not in version else None
    return f"{version}+{asked['build']}" if asked else version


def _whole_listing(section: Section, evidence: Evidence) -> None:
    head = next((number for number, line in enumerate(section.lines) if _PIP_HEAD.match(line.text) or _CONDA_HEAD.match(line.text)), None)
    rows = section.lines[head + 1 :] if head is not None else []
    frozen = [found for line in section.lines if (found := _FROZEN.fullmatch(line.text))]
    row_count = 0
    for line in rows:
        found = _PIP_ROW.match(line.text)
        if found:
            evidence.package(found["name"], found["version"])
            row_count += 1
        elif line.text.strip() and not line.text.startswith(("-", "#")):
            break
    for found in frozen:
        evidence.package(found["name"], found["version"])
    is_listing = row_count >= 8 or len(frozen) >= 12
    if is_listing:
        evidence.saw("a list of Python packages")
    if is_listing and row_count >= 15 and is_whole(section) and _WHOLE_LIST.match(section.typed.strip()):
        names = [found["name"].lower() for line in rows if (found := _PIP_ROW.match(line.text))]
        # uv makes environments without pip; any other list without it was cut without a sign
        evidence.all_packages = evidence.all_packages or "pip" in names or section.program == "uv"
