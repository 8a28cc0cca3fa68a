"""Turns a pasted text into a host that probes can query, and into the facts that no probe gives in that form."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib import import_module

from gpudoctor.facts import text
from gpudoctor.facts.probes.gpus import named_gpu
from gpudoctor.facts.text import others_words
from gpudoctor.facts.text.absence import NOT_THERE, unproven
from gpudoctor.facts.text.elsewhere import at_hand
from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.sections import Sheet
from gpudoctor.facts.text.topics import stacks_of, vendors_of
from gpudoctor.model.deadline import Deadline
from gpudoctor.model.facts import Facts, Incomplete, Known
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.signature import Numbered
from gpudoctor.system.pasted_host import PastedHost

_OF_BOTH_BUILDS = lazy(r"\d{1,2}\.\d{1,3}(?:\.\d{0,3}0)?(?:\.post\d{1,3})?")
"""Releases of IPEX without the local version that names the build: those for cards have a patch number that ends in zero."""
_ARM_BOARDS = lazy(r"\bJetson\b|\bGH200\b|\bGB[123]\d{1,2}\b|\bDGX Spark\b", re.IGNORECASE)
"""NVIDIA's modules that hold the processor besides the GPU."""
_OF_A_MAKER = lazy(r"\((?:r|tm|c)\)|[®™]|\b(?:nvidia|geforce|amd|radeon|instinct|tesla|intel|arc|graphics|gpu)\b|[\s\-]", re.IGNORECASE)
_MAPS = ("python.distributions", "packages", "env", "libraries", "libraries.all", "libraries.cached", "python.conda_packages")


def take(lines: Sequence[Numbered], deadline: Deadline | None = None) -> tuple[Evidence, Sheet]:
    """Everything that the readers recognise until the deadline is over."""
    sheet, evidence = Sheet(others_words.at_hand(lines)), Evidence()
    for name, words in text.ALL:
        if deadline is not None and deadline.over():
            break
        if words and not any(word in sheet.lower for word in words):
            continue
        read: Callable[[Sheet, Evidence], None] = import_module(f"gpudoctor.facts.text.{name}").read
        read(sheet, evidence)
    if not evidence.platforms and {"lspci", "lshw", "inxi", "intel_gpu_top -L", "intel_gpu_top", "rocminfo"} & set(evidence.recognised):
        evidence.platform("linux")
    return evidence, sheet


def machine_of(evidence: Evidence) -> PastedHost:
    """The host of a pasted text, which probes query like any other."""
    ipex = evidence.packages.get("intel-extension-for-pytorch", "")
    if _OF_BOTH_BUILDS.fullmatch(ipex) and any(maker == "intel" or maker.startswith("8086:") for maker, _ in evidence.gpus):
        # A person who writes 'IPEX 2.1.10' about an Arc leaves out '+xpu': the CPU build cannot run on a card.
        evidence.packages["intel-extension-for-pytorch"] = f"{ipex}+xpu"
    platform = evidence.platforms[0] if evidence.platforms else "linux"
    return PastedHost(evidence.commands, evidence.files, evidence.variables, evidence.python(), platform)


def settle(evidence: Evidence, sheet: Sheet, facts: Facts) -> None:
    """Completes the probes' facts: what the text does not show becomes unknown, and what it states outright fills the gaps."""
    for name in _MAPS:
        fact = facts.get(name)
        if isinstance(fact, Known) and isinstance(fact.value, dict) and not (name == "python.distributions" and evidence.all_packages):
            facts.set(name, Known(Incomplete(fact.value), fact.source))
    if not isinstance(facts.get("python.distributions"), Known):
        facts.set("python.distributions", Known(Incomplete(evidence.packages), "text") if evidence.packages else NOT_THERE)
    unproven(facts, evidence)
    if not evidence.platforms and not evidence.files:
        facts.set("platform.kind", NOT_THERE)
    if "container" not in evidence.platforms:
        facts.set("container.kind", NOT_THERE)
    if evidence.gpus and all(_ARM_BOARDS.search(name) for _, name in evidence.gpus):
        evidence.facts.setdefault("platform.machine", Known("aarch64", "text"))
    for name, fact in evidence.facts.items():
        if not isinstance(facts.get(name), Known):
            facts.set(name, fact)
    _drivers_not_shown(evidence, facts)
    _gpus(evidence, facts)
    facts.set("text.stacks", Known(stacks_of(sheet.lower, evidence, facts), "text"))
    lower = at_hand(sheet.lower)
    facts.set("text.vendors", Known(vendors_of(lower, evidence), "text"))
    facts.set("text.other_vendors", Known(vendors_of(_without_the_missing(lower, evidence), evidence), "text"))
    facts.set("text.readers", Known(list(evidence.recognised), "text"))


def _without_the_missing(lower: str, evidence: Evidence) -> str:
    """The text without the names of missing items: 'nvcc: command not found' does not make it a text about NVIDIA."""
    missing = evidence.facts.get("text.missing")
    for item in missing.value if isinstance(missing, Known) else ():
        lower = lower.replace(str(item["name"]).lower(), " ")
    return lower


def _drivers_not_shown(evidence: Evidence, facts: Facts) -> None:
    """Marks the drivers as not shown: `lspci -nn` without -k lists no driver, which does not prove that none is bound."""
    listing = evidence.commands.get(("lspci", "-nnk"), "")
    if not listing or "Kernel driver in use:" in listing or "Kernel modules:" in listing:
        return
    for name in ("pci.devices", "gpus"):
        records = [{**record, "driver": NOT_THERE} if record.get("driver") is None else record for record in facts.value(name) or []]
        if records:
            facts.set(name, Known(records, "lspci"))


def _gpus(evidence: Evidence, facts: Facts) -> None:
    known = facts.value("gpus")
    if known:
        return
    gpus: list[dict[str, object]] = []
    listed: set[tuple[object, object]] = set()
    whole = [name for _, name in evidence.gpus[:64] if name not in evidence.cut_names]
    for maker, name in evidence.gpus[:64]:
        if name in evidence.cut_names and any(other.startswith(name) for other in whole):
            continue
        gpu = named_gpu(maker, name, len(gpus))
        if (maker, name) in evidence.drivers:
            gpu["driver"] = evidence.drivers[maker, name]
        spelled = _OF_A_MAKER.sub("", str(gpu["name"])).lower()
        if (gpu["vendor"], spelled or gpu["name"]) not in listed:
            listed.add((gpu["vendor"], spelled or gpu["name"]))
            gpus.append(gpu)
    targets = list(dict.fromkeys(evidence.gfx))
    if len(targets) == 1 and not any(gpu["vendor"] == "amd" for gpu in gpus):
        gpu = named_gpu("amd", targets[0], len(gpus))
        gpu["gfx"] = targets[0]
        gpus.append(gpu)
    if not gpus:
        for name in ("gpus", "gpu.vendors", "gpu.count"):
            facts.set(name, NOT_THERE)
        return
    facts.set("gpus", Known(gpus, "text"))
    facts.set("gpu.vendors", Known(sorted({str(gpu["vendor"]) for gpu in gpus}), "text"))
