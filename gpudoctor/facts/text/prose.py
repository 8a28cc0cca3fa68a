"""Free text: 'A770 on Ubuntu 22.04, kernel 5.19, IPEX 1.13.120'. Only what cannot be meant otherwise becomes a fact."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from gpudoctor.facts.text.elsewhere import at_hand
from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.naming import GFX, name_gpu, name_system
from gpudoctor.facts.text.sections import Sheet
from gpudoctor.model.lazy_pattern import lazy

_NUMBER = r"(?:version |release |v\.?|==|= ?|: ?)?\s*(?P<version>\d+\.\d+(?:\.\d+)*(?:(?:a|b|rc|\.post|\.dev)\d+)*(?:\+[\w.]+)?)"
PRODUCTS: Mapping[str, str] = {
    "torch": r"(?:py)?torch", "intel-extension-for-pytorch": r"ipex|intel[- _]extension[- _]for[- _]pytorch", "torchvision": r"torchvision",
    "torchaudio": r"torchaudio", "tensorflow": r"tensorflow|tf(?=[ \-]?\d)", "tensorflow-directml-plugin": r"tensorflow-directml-plugin",
    "torch-directml": r"torch[-_]directml", "onnxruntime-gpu": r"onnxruntime-gpu",
    "openvino": r"openvino", "jax": r"jax", "jaxlib": r"jaxlib", "xformers": r"xformers", "flash-attn": r"flash[- _]att(?:n|ention)",
    "bitsandbytes": r"bitsandbytes|bnb", "vllm": r"vllm", "triton": r"triton", "triton-windows": r"triton-windows",
    "deepspeed": r"deepspeed", "numpy": r"numpy",
    "poptorch": r"poptorch", "transformers": r"transformers",
}  # fmt: skip
WORDS: Mapping[str, tuple[str, ...]] = {
    "intel-extension-for-pytorch": ("ipex", "extension"), "tensorflow": ("tensorflow", "tf"), "torch-directml": ("directml",),
    "flash-attn": ("flash",), "bitsandbytes": ("bitsandbytes", "bnb"),
}  # fmt: skip
"""One of these stands in whatever names the product; else its name itself does."""
Products = Sequence[tuple[str, tuple[str, ...]]]
"""Those that a text names, with their words."""
_POINTED = lazy(r"\d\.\d")
"""A part of every version that is read here."""


@cache
def package_pattern(name: str) -> re.Pattern[str]:
    """The pattern of a product and its version, compiled only for texts that name the product."""
    return lazy(rf"(?<![\w\-/.])(?:{PRODUCTS[name]})\s{{0,2}}{_NUMBER}(?![\w*])", re.IGNORECASE)


_PYTHON = lazy(r"(?<![\w\-/])python\s?(?:version\s?)?:?\s?(?P<version>3\.\d{1,2}(?:\.\d{1,2})?)\b", re.IGNORECASE)
_KERNEL = lazy(r"\bkernel(?: version)?:?\s(?:is\s)?(?:Linux\s)?(?P<version>[3-9]\.\d{1,2}(?:\.\d+)*[\w.\-+]*)", re.IGNORECASE)
_NVIDIA_DRIVER = lazy(
    r"\b(?:nvidia[- ]?)?driver(?: version)?s?:?\s(?:is\s|v)?(?P<version>[3-9]\d{2}\.\d{2,3}(?:\.\d{2})?)\b", re.IGNORECASE
)
# LM Studio numbers its ROCm engines 1.x and 2.x; ROCm itself left those numbers in 2020.
_ROCM = lazy(
    r"(?<!\+)(?<!whl/)(?<!nightly/)\bROCm\s?(?:version:?\s)?v?(?P<version>[3-9]\.\d+(?:\.\d+)?)\b|/opt/rocm-(?P<path>\d\.\d+(?:\.\d+)?)/",
    re.IGNORECASE,
)
_ONEAPI = lazy(
    r"\boneAPI(?: Base Toolkit)?\s(?:version\s)?(?P<version>20\d\d\.\d(?:\.\d)?)\b|BaseKit_p_(?P<file>20\d\d\.\d(?:\.\d)?)", re.IGNORECASE
)
_RUNTIME = lazy(
    r"\b(?:compute[- ]runtime|NEO|intel-opencl-icd|IGC and driver|driver)\s(?:version\s|release\s)?v?"
    r"(?P<version>(?:19|2\d)\.\d{2}\.\d{4,5}(?:\.\d+)?)",
    re.IGNORECASE,
)
_CHIP = lazy(r"DG[12]|Battlemage(?: G\d\d)?", re.IGNORECASE)
"""'Arc A770 (DG2)' is one card."""
_IPEX_PAIR = lazy(
    r"needs to work with (?:Intel-)?PyTorch (?P<ipex>\d\.\d{1,3})[\d.]*\*?,? but (?:Intel-)?PyTorch (?P<torch>\d{1,3}\.\d[\w.+]*) is found",
    re.IGNORECASE,
)
"""IPEX's message when it is imported with another torch. Its releases have the version number of the torch that they need."""
_EXAMPLE = lazy(
    r"\b(?:such as|(?:cards?|gpus?|devices?|hardware|models?) like|^like|e\.g\.|"
    r"for (?:example|instance)|(?:requires?|recommends?|needs?) "
    r"(?:an?|at least|something like))(?!\S)(?![^.;!?\n]{0,40}\b(?:my|our|i have|i own|mine)\b)[^.;!?\n)]{0,120}",
    re.IGNORECASE,
)
"""A card after these words is an example of its kind."""
_ANOTHER = lazy(
    r"(?:\bunlike|\bcompared (?:to|with)|\bin contrast to|\bversus|\bvs\.?|\bwhereas|"
    r"\b(?:friend|colleague|coworker|brother|neighbou?r)(?:'s|’s)|\bsomeone (?:else )?with|\bothers? with|"
    r"\b(?:do|did|does)(?: not|n't|n’t) (?:have|own)|\bused to (?:have|use)|\bmy (?:old|older|previous|former))(?!\S)"
    r"[^,.;:!?\n)]{0,80}",
    re.IGNORECASE,
)
"""A card after these words serves as a comparison with the one at hand."""
_CHANGED = r"\b(?:chang|switch|mov|upgrad|swapp|migrat|exchang|replac)(?:e|es|ed|ing)?\b"
_CHANGED_FROM = lazy(rf"{_CHANGED}[^.;!?\n]{{0,90}}?(?=\s(?:to|with|for|by|→|->)\s[^.;!?\n]{{0,30}}?\d{{3,4}})", re.IGNORECASE)
_CHANGED_TO = lazy(rf"(?P<kept>{_CHANGED}\s(?:\w+\s)?to\b[^.;!?\n]{{0,60}}?)\bfrom\b[^.,;!?\n]{{0,60}}", re.IGNORECASE)
_NO_CARD = lazy(
    r"\b(?:driver|kernel|firmware|v?bios|software|model|tensor|weight|data|batch|slot|torch|rocm|cuda|ubuntu|windows|linux|python|version|os)",
    re.IGNORECASE,
)
"""What else is changed: the card beside it stays."""
"""'Switched to an RX 7900 XT from a 6800': the card that went is no more at hand."""
_NO_LINE = lazy(
    r"^\s*(?:File \"|at |#\d+ |ERROR[:!] |Traceback|warning:|E\s)|incompatible|requires|not supported|support[s]? |mismatch", re.IGNORECASE
)
_FOR_SOME_SYSTEMS = lazy(r"\s{0,4};\s{0,4}\(?(?:sys_platform|platform_\w+|python_version|os_name|extra)\b")
"""An environment marker of a requirement, which may not hold here."""
_IMAGE = lazy(r"\b(?:docker|podman|nerdctl)\s(?:run|pull|create|exec|build)\s.*")
"""The name of an image holds a system, which the host of a container need not have."""
_ADDRESS = lazy(r"https?://\S+")
"""A link leads to pages about systems and cards that need not be the ones at hand."""
LONGEST = 400
"""Letters of a line that can be prose."""


def read(sheet: Sheet, evidence: Evidence) -> None:
    named = bool(evidence.gpus)
    products = [(name, words) for name in PRODUCTS for words in (WORDS.get(name, (name,)),) if any(word in sheet.lower for word in words)]
    listed = len(evidence.packages) > 1
    title = next((line.number for line in sheet.lines if line.text.strip()), 0)
    of_tables = _rows_of_a_table(sheet, products) if products else set()
    for line in sheet.lines:
        text = line.text
        if not text or len(text) > LONGEST or line.number in of_tables:
            continue
        plain = _ADDRESS.sub(" ", text) if "://" in text else text
        pair = _IPEX_PAIR.search(text)
        if pair and "intel-extension-for-pytorch" not in evidence.packages:
            evidence.package("intel-extension-for-pytorch", pair["ipex"])
            evidence.package("torch", pair["torch"])
        is_statement = pair is None and not _NO_LINE.search(text)
        if is_statement:
            of_another = line.number in evidence.other_pins or (listed and line.number == title)  # a title may name another version, too
            if _POINTED.search(text) and not of_another:
                _versions(text, products, evidence)
            if "/etc/os-release" not in evidence.files:
                name_system(at_hand(plain if "container" in evidence.platforms else _IMAGE.sub(" ", plain)), evidence)
        if not named:
            for part in re.split(r"[,;()]| on | with | under | and | in ", _of_this_machine(plain))[:12]:
                name_gpu(part, evidence, prose=True)
    products_of = {maker for maker, name in evidence.gpus if not _CHIP.fullmatch(name)}
    evidence.gpus = [(maker, name) for maker, name in evidence.gpus if maker not in products_of or not _CHIP.fullmatch(name)]
    for target in dict.fromkeys(GFX.findall(sheet.text[:200_000])):
        evidence.gfx.append(f"gfx{target}")


def _rows_of_a_table(sheet: Sheet, products: Products) -> set[int]:
    """Numbers of the lines of a compatibility table: two or more lines that name the same products, each in another release."""
    rows: dict[tuple[str, ...], list[tuple[int, tuple[str, ...]]]] = {}
    for line in sheet.lines:
        if not line.text or len(line.text) > LONGEST or len(_POINTED.findall(line.text)) < 2:
            continue
        small = line.text.lower()
        named = [(name, found["version"]) for name, words in products
                 if any(word in small for word in words) and (found := package_pattern(name).search(line.text))]  # fmt: skip
        if len(named) >= 2:
            rows.setdefault(tuple(name for name, _ in named), []).append((line.number, tuple(version for _, version in named)))
    several = (found for found in rows.values() if len({versions for _, versions in found}) > 1)
    return {number for found in several for number, _ in found}


def _of_this_machine(text: str) -> str:
    """The line without cards that it names as examples, for comparison or as removed."""
    text = _CHANGED_FROM.sub(_without_a_card, _CHANGED_TO.sub(r"\g<kept> ", text))
    return _ANOTHER.sub(" ", _EXAMPLE.sub(" ", text))


def _without_a_card(changed: re.Match[str]) -> str:
    return changed[0] if _NO_CARD.search(changed[0]) else " "


def _versions(text: str, products: Products, evidence: Evidence) -> None:
    small = text.lower()
    for name, words in products:
        if name in evidence.packages or not any(word in small for word in words):
            continue
        found = package_pattern(name).search(text)
        if found and not _FOR_SOME_SYSTEMS.match(text, found.end()):
            evidence.package(name, found["version"])
    if "python.version" not in evidence.facts and (python := _PYTHON.search(text)):
        evidence.fact("python.version", python["version"], "text")
    kernel = _KERNEL.search(text)
    if kernel:
        evidence.files.setdefault("/proc/sys/kernel/osrelease", kernel["version"].rstrip(".") + "\n")
    for name, pattern in (("nvidia.driver.version", _NVIDIA_DRIVER), ("rocm.version", _ROCM), ("oneapi.active", _ONEAPI),
                          ("intel.compute_runtime.version", _RUNTIME)):  # fmt: skip
        found = pattern.search(text)
        if found and name not in evidence.facts:
            evidence.fact(name, next(value for value in found.groups() if value), "text")
