"""Why a framework could not be imported: the family of its exception, the signal that ended it, or that it did not end in time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpudoctor.facts.derive import missing
from gpudoctor.facts.derive._tables import table
from gpudoctor.knowledge.stack_names import stacks_on

FAMILIES = (
    # The first pattern that matches decides; its group 'what' is the library, symbol or version.
    ("glibcxx", r"version [`'](?P<what>(?:GLIBCXX|CXXABI)_[\d.]+)' not found"),
    ("glibc", r"version [`'](?P<what>GLIBC_[\d.]+)' not found"),
    ("numpy-abi", r"(?P<what>_ARRAY_API not found|compiled using NumPy 1\.x cannot|numpy\.dtype size changed|numpy\.core\.multiarray)"),
    ("missing-library", r"(?P<what>[\w+.-]+\.so[\w.]*): cannot open shared object file"),
    ("missing-library", r"(?:Could not load dynamic library|Could not load library) '?(?P<what>[\w+.-]+\.so[\w.]*)"),
    ("missing-dll", r"\[WinError 126\][^\n]*?(?:loading \"?(?P<what>[^\"\n]+\.dll))?"),
    ("damaged", r"(?P<what>[\w./+-]+\.so[\w.]*): (?:file too short|invalid ELF header|ELF load command|cannot read file data)"),
    ("stack", r"(?P<what>[\w./+-]+\.so[\w.]*): cannot enable executable stack"),
    ("symbol", r"undefined symbol: (?P<what>\w+)"),
    ("version-demand", r"(?P<what>[^\n]*(?:needs to work with PyTorch|requires PyTorch|requires torch)[^\n]*)"),
    ("circular", r"(?P<what>partially initialized module '\w+')"),
    ("architecture", r"(?P<what>incompatible architecture \(have '[^']+', need '[^']+'\)|wrong ELF class: \w+)"),
    ("missing-module", r"No module named '(?P<what>[\w.]+)'"),
)  # fmt: skip


_SHARED = frozenset(("azure", "backports", "google", "intel", "mpl_toolkits", "nvidia", "ruamel", "sphinxcontrib", "zope"))
"""Packages that several distributions fill: a module in them is missing where its own distribution is not installed."""


def classify(error: Mapping[str, Any]) -> tuple[str, str]:
    """(family, library or symbol or module that it concerns); the second is '' where there is none."""
    kind, name, message = (str(error.get(key) or "") for key in ("kind", "name", "message"))
    if kind == "timeout":
        return "timeout", ""
    if kind == "signal":
        label = name or message
        illegal = re.search(r"SIGILL|^4$|signal 4\b|Illegal instruction", label)
        return ("illegal-instruction" if illegal else "killed" if re.search(r"SIGKILL|^9$|signal 9\b", label) else "crash"), name
    for family, pattern in FAMILIES:
        match = re.search(pattern, message)
        if match and family == "missing-module" and _is_a_part(match["what"]):
            return "missing-part", match["what"]
        if match:
            return family, match["what"] or ""
    return "exception", name


def _is_a_part(module: str) -> bool:
    """Whether the module is missing from a package that is installed, in another release. Python names the top package where that is
    missing, so that a dotted name speaks of a part."""
    top, dot, _ = module.partition(".")
    return bool(dot) and top not in _SHARED and module not in table("module-packages")["module"]


def remedy(library: str, manager: str, executable: str) -> str:
    """What to do about a missing library, as commands or a sentence; '' where the table lacks it."""
    known = missing.remedy("so", library, manager)
    if known is None:
        return ""
    return known[1].replace('pip install "', f'{executable or "python"} -m pip install "')


def failures(frameworks: Mapping[str, Any], manager: str, executable: str) -> list[dict[str, Any]]:
    """The records of the fact python.import_failures, one for each framework with an error."""
    found = []
    for name, said in sorted(frameworks.items()):
        error = said.get("error") if isinstance(said, Mapping) else None
        if not isinstance(error, Mapping):
            continue
        family, what = classify(error)
        message = str(error.get("message") or "").strip()
        found.append({
            "framework": name, "stacks": stacks_on(name), "kind": str(error.get("kind") or ""),
            "name": str(error.get("name") or ""), "family": family,
            "what": what or "unknown", "message": message[:2000], "first_line": message.split("\n")[0][:200],
            "imported": bool(said.get("imported")),
            "remedy": remedy(what, manager, executable) or None if family == "missing-library" else None,
        })  # fmt: skip
    return found
