"""Lines that only name a status code: nothing returned it.

A compiler complains about the name (`enumeration value 'hipErrorNoDevice' not handled`), an interpreter does not know it (`has no attribute
'CUDA_ERROR_NOT_INITIALIZED'`), or a list counts the codes of a library (`CL_INVALID_DEVICE -33, CL_INVALID_CONTEXT -34`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudoctor.model.lazy_pattern import lazy

_CODE = lazy(r"error|status|result|fail|invalid|out_of|not_found|not_available|_lost|streamcapture")
"""What is in the names of status codes, unlike those of functions and modules."""
_COMPLAINTS = lazy(
    r"has no (?:attribute|member(?: named)?) ['`\u2018\"]([\w.:]{1,80})"
    r"|(?:undeclared identifier|redefinition of|redeclaration of|cannot import name|enumeration value) ['`\u2018\"]([\w.:]{1,80})"
    r"|['`\u2018\"]([\w.:]{1,80})['\u2019\"] (?:was |is |has )?(?:not |un)(?:been )?(?:declared|defined|handled|covered|used)\b"
)
_PAIR = lazy(r"\b([a-z]\w{1,60}) {0,3}[=:(]? {0,3}\(?(0x[0-9a-f]{1,8}|-?\d{1,5})\b")


def only_named(line: str, code: str) -> bool:
    """Whether a line in lower case complains about the name `code` itself. False for what is no status code."""
    if not _CODE.search(code):
        return False
    return any(code in next(filter(None, found.groups()), "") for found in _COMPLAINTS.finditer(line))


def counted(line: str, code: str, beside: Sequence[str]) -> bool:
    """Whether `code` stands in a list of codes: the line, or one of the lines beside it, gives another code the next number."""
    own = {number for name, number in _codes(line) if code in name}
    if not own:
        return False
    others = [pair for text in (line, *beside) for pair in _codes(text) if code not in pair[0]]
    return any(abs(number - mine) == 1 for _, number in others for mine in own)


def _codes(line: str) -> list[tuple[str, int]]:
    return [(found[1], int(found[2], 16 if "x" in found[2] else 10)) for found in _PAIR.finditer(line) if _CODE.search(found[1])]


def bare_codes(literals: Sequence[Sequence[str]]) -> list[str]:
    """The literals of a signature that are names of status codes, without their '*'."""
    return [bare for choice in literals for literal in choice if re.fullmatch(r"\w+", bare := literal.strip("*")) and _CODE.search(bare)]
