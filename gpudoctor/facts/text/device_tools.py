"""GPUs and their kernel drivers as lspci (without numbers), lshw and inxi print them."""

from __future__ import annotations

import re

from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.sections import Sheet
from gpudoctor.model.lazy_pattern import lazy

_PCI = lazy(
    r"^[\s>|]*(?P<slot>(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) "
    r"(?:VGA compatible controller|3D controller|Display controller|Processing accelerators): (?P<name>.+)$"
)
_NUMBERED = lazy(r"\[[0-9a-f]{4}:[0-9a-f]{4}\]")
_IN_USE = lazy(r"^\s+Kernel driver in use: (?P<driver>[\w\-]+)")
_MODULES = lazy(r"^\s+Kernel modules: (?P<modules>[\w\-, ]+)")
_MAKERS = (
    ("intel", lazy(r"^Intel Corporation ")), ("nvidia", lazy(r"^NVIDIA Corporation ")),
    ("amd", lazy(r"^Advanced Micro Devices, Inc\. \[AMD(?:/ATI)?\] ")), ("graphcore", lazy(r"^Graphcore (?:Ltd )?")),
)  # fmt: skip
_PRODUCT = lazy(r"\[(?P<product>[^\[\]]{2,80})\]")
_IPU_CARDS = (("[c2]", "0001"), ("[s1]", "0002"))
_LSHW = lazy(r"^\s+(?P<label>product|vendor|configuration): (?P<value>\S.*)$")
_INXI = lazy(r"^\s*Device-\d+: (?P<name>.{1,160}?)(?: vendor: .{1,160}?)? driver: (?P<driver>[\w\-]+|N/A)\b")


def read(sheet: Sheet, evidence: Evidence) -> None:
    if "controller: " in sheet.lower or "processing accelerators: " in sheet.lower:
        _lspci(sheet, evidence)
    if "*-display" in sheet.lower:
        _lshw(sheet, evidence)
    if "device-1: " in sheet.lower and "driver: " in sheet.lower:
        _inxi(sheet, evidence)


def product_of(name: str) -> tuple[str, str] | None:
    """Vendor and product of a device as lspci names it without numbers: 'Intel Corporation DG2 [Arc A770] (rev 08)'."""
    for maker, pattern in _MAKERS:
        found = pattern.match(name)
        if found:
            rest = re.sub(r" \(rev \w+\)[^\n]*", "", name[found.end() :]).strip()
            named = _PRODUCT.search(rest)
            return maker, (named["product"] if named else rest)[:80]
    return None


def _card_of(name: str) -> tuple[str, str] | None:
    """Vendor and product by the name that drivers and the tables of devices use: 'Arc A770 Graphics'."""
    card = product_of(name)
    return (card[0], f"{card[1]} Graphics") if card and card[0] == "intel" and card[1].startswith("Arc ") else card


def _lspci(sheet: Sheet, evidence: Evidence) -> None:
    """Leaves lines with numbers ([8086:56a0]) to the probe, which reads more from them. The lines of -k below a device name its driver."""
    card: tuple[str, str] | None = None
    ipus: list[str] = []
    for line in sheet.lines:
        found = _PCI.match(line.text)
        if found:
            card = None if _NUMBERED.search(found["name"]) else _card_of(found["name"])
            if card:
                evidence.gpu(*card)
                evidence.saw("lspci")
            number = next((number for word, number in _IPU_CARDS if word in found["name"].lower()), None)
            if card and card[0] == "graphcore" and number:
                ipus.append(f"{found['slot']} Processing accelerators [1200]: {found['name']} [1d95:{number}]")
        elif card and (driver := _IN_USE.match(line.text)):
            evidence.drivers[card] = driver["driver"]
            ipus += [f"\tKernel driver in use: {driver['driver']}"] * (card[0] == "graphcore")
        elif card and _MODULES.match(line.text):
            evidence.drivers.setdefault(card, None)  # the line of the driver would stand above this one
        elif not line.text[:1].isspace():
            card = None
    if ipus and all(maker == "graphcore" for maker, _ in evidence.gpus):
        evidence.command(("lspci", "-nnk"), "\n".join(ipus) + "\n")


def _lshw(sheet: Sheet, evidence: Evidence) -> None:
    card: dict[str, str] | None = None
    for line in sheet.lines:
        if line.text.strip().startswith("*-"):
            card = {} if line.text.strip().startswith("*-display") else None
        found = _LSHW.match(line.text)
        if card is None or found is None:
            continue
        card[found["label"]] = found["value"].strip()
        named = _card_of(f"{card['vendor']} {card['product']}") if {"vendor", "product"} <= set(card) else None
        if named and found["label"] == "vendor":
            evidence.gpu(*named)
            evidence.saw("lshw")
        driver = re.search(r"\bdriver=([\w\-]+)", card.get("configuration", ""))
        if named and found["label"] == "configuration":
            evidence.drivers[named] = driver[1] if driver else None


def _inxi(sheet: Sheet, evidence: Evidence) -> None:
    for line in sheet.lines:
        found = _INXI.match(line.text)
        if not found:
            continue
        maker = next((maker for maker in ("nvidia", "amd", "intel") if found["name"].lower().startswith(maker)), None)
        product = _PRODUCT.search(found["name"])
        if maker:
            card = (maker, (product["product"] if product else found["name"])[:80])
            evidence.gpu(*card)
            evidence.drivers[card] = None if found["driver"] == "N/A" else found["driver"]
            evidence.saw("inxi")
