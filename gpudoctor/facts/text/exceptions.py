"""The last lines of tracebacks: which framework could not be imported, and with which message."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.sections import Sheet
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.signature import Numbered

_LAST = lazy(r"^(?:E\s+)?(?P<name>(?:Import|OS|ModuleNotFound|FileNotFound|Attribute)Error)\s*:\s*(?P<message>\S.*)$")
_ABOUT_IMPORT = lazy(
    r"cannot open shared object file|undefined symbol|not found \(required by|WinError|DLL load failed|No module named|"
    r"partially initialized|cannot import name|executable stack|invalid ELF header|file too short|incompatible architecture|_ARRAY_API|"
    r"numpy\.core\.multiarray|"
    r"needs to work with PyTorch|Could not load library|image not found|Library not loaded|symbol not found"
)
_PACKAGE = lazy(r"(?:site-packages|dist-packages)[/\\]+(?P<name>[A-Za-z_]\w*)[/\\.]")
_MODULE = lazy(r"^\s*(?:>>> )?(?:import|from)\s+(?P<name>[A-Za-z_]\w*)")
_OF_A_MODULE = lazy(r",? in <module>")
_ABOVE = 40
NAMES = {"functorch": "torch", "torchgen": "torch", "flash_attn_2_cuda": "flash_attn"}


def read(sheet: Sheet, evidence: Evidence) -> None:
    for index, line in enumerate(sheet.lines):
        found = _LAST.match(line.text)
        if found is None or not _ABOUT_IMPORT.search(found["message"][:4000]):
            continue
        framework = _framework(sheet.lines, index, found["message"])
        if framework:
            evidence.failed_import(framework, found["name"], found["message"][:2000])


def _framework(lines: Sequence[Numbered], index: int, message: str) -> str:
    """The package whose import failed: that of the outermost frame in site-packages that runs a module (a server or a framework that only
    calls it stands further out), else of the outermost one, else one that the message or an import names."""
    above = lines[max(0, index - _ABOVE) : index]
    begin = next((number for number in range(len(above) - 1, -1, -1) if above[number].text.startswith("Traceback")), 0)
    frames = [(line.text, package["name"]) for line in above[begin:] if (package := _PACKAGE.search(line.text))]
    if frames:
        name = next((package for text, package in frames if _OF_A_MODULE.search(text)), frames[0][1])
        return NAMES.get(name, name)
    package = _PACKAGE.search(message)
    if package:
        return NAMES.get(package["name"], package["name"])
    for line in reversed(above[begin:]):
        module = _MODULE.match(line.text)
        if module:
            return NAMES.get(module["name"], module["name"])
    missing = re.search(r"No module named '?(?P<name>\w+)", message)
    return missing["name"] if missing else ""
