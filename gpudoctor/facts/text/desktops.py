"""Reads how Windows, macOS and conda describe a machine: dxdiag, Intel's System Support Utility, system_profiler as text, wsl --version,
docker info, conda info."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from gpudoctor.facts.probes.windows import ADAPTERS
from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.sections import Sheet
from gpudoctor.model.lazy_pattern import lazy

_PAIR = lazy(r"^\s*(?P<key>[A-Z][\w ()/]{2,40}?)\s*:\s+(?P<value>\S.*)$")
_PROBLEM_CODE = lazy(r"(?<!\w)\d{1,2}(?!\w)")
_SSU_HEADING = lazy(r'^(?P<margin>\s*)- "(?P<name>[^"]{2,100})"\s*$')
_SSU_PAIR = lazy(r'^\s*(?P<key>[A-Z][\w ]{2,40}):"(?P<value>[^"]{1,300})"\s*$')
_VIRTUAL = lazy(r"^\s*(?:virtual packages : )?(?P<name>__cuda|__glibc|__linux|__win)=(?P<value>\d[\d.]*)=")
_WSL_VERSION = lazy(r"^(?:WSL\b.{0,20}?|.{0,20}?\bWSL)\s*[:：]\s*\d+\.\d+\.\d+(?:\.\d+)?\s*$")
_WSL_KERNEL = lazy(r"[:：]\s*(?P<release>\d+\.\d+\.\d+\.\d+-\d+)\s*$")
_WINDOWS_BUILD = lazy(r"^(?:Windows\b.{0,20}?|.{0,20}?\bWindows)\s*[:：]\s*10\.0\.(?P<build>\d{5})")


def read(sheet: Sheet, evidence: Evidence) -> None:
    for sign, reader in _READERS:
        if sign in sheet.lower:
            reader(sheet, evidence)


def _dxdiag(sheet: Sheet, evidence: Evidence) -> None:
    """Records display devices in the form in which the probe gets them from Windows."""
    cards: list[dict[str, object]] = []
    for line in sheet.lines:
        found = _PAIR.match(line.text)
        if not found:
            continue
        key, value = found["key"].lower(), found["value"].strip()
        if key == "card name":
            cards.append({"Name": value})
        elif cards and key == "manufacturer":
            cards[-1].setdefault("AdapterCompatibility", value)
        elif cards and key == "device key" and "VEN_" in value:
            cards[-1].setdefault("PNPDeviceID", value)
        elif cards and key == "driver version" and re.match(r"\d+\.\d+\.\d+\.\d+$", value):
            cards[-1].setdefault("DriverVersion", value)
        elif cards and key == "dedicated memory" and (size := re.match(r"(\d+) MB", value)):
            cards[-1].setdefault("AdapterRAM", int(size[1]) * 2**20)
        elif cards and key == "device problem code" and (code := _PROBLEM_CODE.search(value)):
            cards[-1].setdefault("ConfigManagerErrorCode", int(code[0]))
    _adapters(cards, "dxdiag", evidence)


def _intel_support(sheet: Sheet, evidence: Evidence) -> None:
    """The display devices of Intel's System Support Utility: a heading with the name, and below it `key:"value"`, indented deeper."""
    cards: list[dict[str, object]] = []
    heading, depth, inside = "", 0, False
    keys = {"pnp device id": "PNPDeviceID", "driver version": "DriverVersion", "status": "Status"}
    for line in sheet.lines:
        title = _SSU_HEADING.match(line.text)
        if title and not (inside and len(title["margin"]) > depth):
            heading, depth, inside = title["name"], len(title["margin"]), False
        found = _SSU_PAIR.match(line.text)
        if not found:
            continue
        key, value = found["key"].lower(), found["value"].strip()
        if key == "adapter compatibility" and heading:
            cards.append({"Name": heading, "AdapterCompatibility": value})
            inside = True
        elif inside and key in keys and value != "Not Available":
            cards[-1].setdefault(keys[key], value)
    _adapters(cards, "Intel SSU", evidence)


def _adapters(cards: list[dict[str, object]], source: str, evidence: Evidence) -> None:
    if cards:
        listing = json.dumps(cards)
        evidence.command(("powershell", *ADAPTERS), listing)
        evidence.command(("powershell.exe", *ADAPTERS), listing)
        evidence.platform("windows")
        evidence.saw(source)


def _system_profiler(sheet: Sheet, evidence: Evidence) -> None:
    cards: list[dict[str, str]] = []
    keys = {"total number of cores": "sppci_cores", "vendor": "spdisplays_vendor", "vram (total)": "spdisplays_vram",
            "vram (dynamic, max)": "spdisplays_vram"}  # fmt: skip
    for line in sheet.lines:
        found = _PAIR.match(line.text)
        if not found:
            continue
        key, value = found["key"].lower(), found["value"].strip()
        if key == "chipset model":
            cards.append({"sppci_model": value})
        elif cards and key in keys:
            cards[-1].setdefault(keys[key], value)
        elif cards and key in ("metal support", "metal family"):
            cards[-1].setdefault("spdisplays_mtlgpufamilysupport", "spdisplays_" + value.lower().replace(" ", ""))
        elif key == "chip" and value.startswith("Apple"):
            evidence.command(("sysctl", "-n", "machdep.cpu.brand_string"), value)
    if cards:
        evidence.command(("system_profiler", "SPDisplaysDataType", "-json"), json.dumps({"SPDisplaysDataType": cards}))
        evidence.platform("macos")
        evidence.saw("system_profiler")


def _wsl(sheet: Sheet, evidence: Evidence) -> None:
    """Reads `wsl --version` in any language: the words differ, the forms of the version numbers do not."""
    start = next((number for number, line in enumerate(sheet.lines) if _WSL_VERSION.match(line.text)), None)
    if start is None:
        return
    evidence.platform("wsl2")
    evidence.saw("wsl --version")
    for line in sheet.lines[start + 1 : start + 9]:
        kernel, windows = _WSL_KERNEL.search(line.text), _WINDOWS_BUILD.match(line.text)
        if kernel:
            evidence.files.setdefault("/proc/sys/kernel/osrelease", kernel["release"] + "\n")
        if windows:
            evidence.fact("windows.build", int(windows["build"]), "wsl --version")


def _docker(sheet: Sheet, evidence: Evidence) -> None:
    if re.search(r"^ ?Default Runtime: ", sheet.text, re.MULTILINE) and re.search(r"^ ?Runtimes: ", sheet.text, re.MULTILINE):
        evidence.saw("docker info")


def _conda(sheet: Sheet, evidence: Evidence) -> None:
    """Reads conda's virtual packages: the CUDA version that the driver supports, and the kernel."""
    for line in sheet.lines:
        found = _VIRTUAL.match(line.text)
        if not found:
            continue
        evidence.saw("conda info")
        evidence.fact("python.kind", "conda", "conda info")
        if found["name"] == "__cuda":
            evidence.fact("nvidia.cuda_max", found["value"], "conda info")
        elif found["name"] == "__linux":
            evidence.platform("linux")
        elif found["name"] == "__win":
            evidence.platform("windows")


_READERS: tuple[tuple[str, Callable[[Sheet, Evidence], None]], ...] = (
    ("card name:", _dxdiag), ("adapter compatibility:", _intel_support),
    ("chipset model:", _system_profiler), ("wsl", _wsl), ("default runtime:", _docker),
    ("virtual packages", _conda),
)  # fmt: skip
