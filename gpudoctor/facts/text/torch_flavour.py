"""Which CUDA a torch without a local version was built for: who writes 'PyTorch 1.10, cudatoolkit 11.3' does not mean PyPI's default."""

from __future__ import annotations

import re

from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.sections import Sheet
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.rules.versions import dotted_of_digits

_CONDA = lazy(
    r"(?<![\w\-])(?:cudatoolkit|pytorch-cuda)(?: version)?\s{0,3}(?:[=:]{1,2}\s?)?(?P<cuda>\d{1,2}(?:\.(?:\d|x))?)", re.IGNORECASE
)
_BUILD = lazy(r"\bpy3\.\d{1,2}_cuda_?(?P<cuda>\d{1,2}\.\d)")
_INDEX = lazy(r"(?:whl/|\d[+\-_])cu(?P<digits>\d{2,3})\b")
_BESIDE = lazy(
    r"(?<![\w\-/.])(?:py)?torch(?: version)?[ \t]{0,2}[:=v]{0,2}[ \t]?\d+\.\d+(?:\.\d+)?(?P<link>[ \t,(+/\-]{0,3}"
    r"(?:built |compiled )?(?:for |with )?)(?:cuda|cu)[ \-:]?v?(?P<cuda>\d{1,2}\.(?:\d|x)|\d{2,3}\b)",
    re.IGNORECASE,
)
_COMPUTES = lazy(r"which is of (?:cuda|compute) capability|\bCUDA error: |CUDA out of memory|with CUDA capability sm_|cuDNN error: ")
_LISTED = lazy(
    r"^[ \t>]*(?:py)?torch(?: version)?[ \t:=]+v?\d[\w.]*[ \t]*(?:pypi\S*)?$|\btorch==|^Version: |__version__", re.MULTILINE | re.IGNORECASE
)
_NO_CUDA = lazy(
    r"is_available|\bcpu\b|not compiled with cuda|\bno (?:cuda|gpu)\b|(?:not|n't) (?:see|find|use|detect)|pip install", re.IGNORECASE
)
_INTEL = lazy(r"\bxpu\b|\barc (?:pro )?[ab]\d{2,3}m?\b|intel arc|arc\(tm\)", re.IGNORECASE)
_NVIDIA = lazy(r"nvidia|geforce|\b[rg]tx\b|\bcuda\b|tesla|quadro", re.IGNORECASE)
_JETSON = lazy(r"\bjetson\b|\bjetpack\b|-tegra\b", re.IGNORECASE)
NOT_SAID = "x"


def read(sheet: Sheet, evidence: Evidence) -> None:
    version = evidence.packages.get("torch", "")
    if not version or ("+" in version and "+cuda" not in version) or "a0" in version or "torch.version_file" in evidence.facts:
        return
    cuda_versions = _cuda_versions_in(sheet.text)
    if cuda_versions:
        evidence.fact(
            "torch.version_file", {"version": version, "cuda": cuda_versions.pop() if len(cuda_versions) == 1 else NOT_SAID}, "text"
        )
    elif evidence.platforms[:1] == ["windows"] and (
        _COMPUTES.search(sheet.text) or not (_LISTED.search(sheet.text) or _NO_CUDA.search(sheet.text))
    ):
        # Either a CUDA build wrote the message, or the sentence leaves out '+cu124' or '+xpu': PyPI's CPU build for Windows is not meant.
        intel = _INTEL.search(sheet.text) and not _NVIDIA.search(sheet.text)
        evidence.fact("torch.version_file", {"version": version, "xpu" if intel else "cuda": NOT_SAID}, "text")
    elif _JETSON.search(sheet.text) and not _NO_CUDA.search(sheet.text):  # NVIDIA's wheels for Jetson carry no local version either
        evidence.fact("torch.version_file", {"version": version, "cuda": NOT_SAID}, "text")


def _cuda_versions_in(text: str) -> set[str]:
    found = {match["cuda"] for match in (*_CONDA.finditer(text), *_BUILD.finditer(text))}
    found |= {dotted_of_digits(match["digits"]) for match in _INDEX.finditer(text)}
    # 'PyTorch 1.10, CUDA 11.3' may name the toolkit beside it
    found |= {NOT_SAID if match["link"].strip() == "," else _dotted(match["cuda"]) for match in _BESIDE.finditer(text)}
    return {value if re.fullmatch(r"\d+\.\d", value) else NOT_SAID for value in found}


def _dotted(cuda: str) -> str:
    """'11.3' from '113' or from '11.3'."""
    return cuda if "." in cuda else dotted_of_digits(cuda)
