"""Lines that name an error without reporting it: counters that stand at zero, lists of status codes, and codes in a compiler's message."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.signature import Numbered

LONGEST = 600
"""Letters of a line that are looked at."""
_FAULT = (
    r"(?:xid(?: ?#?\d{1,3})?|errors?|failures?|faults?|warnings?|crash(?:es)?|timeouts?|hangs?|resets?|violations?|mismatch(?:es)?|"
    r"(?:un)?correctable|(?:remapped|retired|pending)[\w ]{0,12}|replays?|ooms?|exceptions?)"
)
_SUM = r"(?:[ _-](?:count(?:er)?s?|total|events?|occurrences|summary|volatile|aggregate|seen|found|sum|hits))?"
_ZERO = r"(?:0(?:\.0)?|none|zero)\b(?![.\d:x%])"
_COUNTERS = (
    rf"\b{_FAULT}(?:[ _-]{_FAULT})?{_SUM}['\"\]]?\s{{0,4}}[:=|│]\s{{0,8}}['\"]?{_ZERO}['\"]?\s{{0,8}}(?:[|│,;).\]}}]|$)",
    rf"\b(?:count(?:er)?s?|number|total|occurrences) of (?:\w+ ){{0,2}}{_FAULT}\s?(?:[:=]|is|was)\s?{_ZERO}",
    rf"^\W{{0,4}}\w{{0,60}}{_FAULT}\w{{0,20}}\{{[^}}]{{0,300}}\}} 0(?:\.0)?\s*$",
    rf"^\W{{0,4}}\w{{1,60}}_{_FAULT}(?:_total|_count)? 0(?:\.0)?\s*$",
    rf"^\W{{0,12}}(?:\w+ ){{0,2}}summary: 0 {_FAULT}",
    rf"(?<![\w.-])0 (?:x )?{_FAULT}(?: (?:in|on|since|during|over|after|for|total|seen|found|reported|logged)\b|\s*[,;.)]|\s*$)",
)
_AT_ZERO = lazy("|".join(_COUNTERS), re.IGNORECASE)
_MORE = lazy(
    rf"\b{_FAULT}{_SUM}['\"\]]?\s{{0,4}}[:=|│]\s{{0,8}}['\"]?[1-9]|\b[1-9]\d{{0,8}} (?:x )?{_FAULT}\b|\berror: |\*ERROR\*|\bfailed\b|"
    rf"\bbut\b|\bhowever\b|\bstill\b",
    re.IGNORECASE,
)
_NAME = r"(?:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+){1,8}|(?:cuda|hip)Error[A-Z]\w{2,60}|miopenStatus[A-Z]\w{2,60})"
_PAIR = rf"{_NAME}['\"`]?\s?[=:(|]{{0,2}}\s{{0,8}}(?:-\d{{1,5}}|0x[0-9a-fA-F]{{1,8}}|\d{{1,4}})\)?"
_SEVERAL = lazy(rf"{_PAIR}\s?[,;|/]\s?(?:and )?{_PAIR}")
_ALONE = lazy(
    rf"^\W{{0,6}}(?:#define |case |static const int )?{_PAIR}\s?[,;:|]?\s*(?:(?://|/\*|#|[|–-]).*)?$|^\W{{0,6}}-?\d{{1,5}}\s?[:=|"
    rf"–-]\s?{_NAME}\s*[,;|]?$"
)
_CODE_OF_A_LIBRARY = (
    r"(?:miopenStatus|cudaError[A-Z]|hipError[A-Z]|CUDA_ERROR_|CUDNN_STATUS_|CUBLAS_STATUS_|rocblas_status_|HSA_STATUS_|CL_|ZE_RESULT_|UR_RESULT_|"
    r"PI_ERROR_|VK_ERROR_|ncclSystem|ncclUnhandled|nccl\w*Error|NVML_ERROR_)\w*"
)
_IN_SOURCE = lazy(
    rf"\b(?:enumerat(?:ion value|or)|case value|switch|identifier|symbol|name|member|constant|use of|"
    rf"value)\b[^\n]{{0,40}}['\"‘’`]{_CODE_OF_A_LIBRARY}['\"‘’`]|"
    rf"['\"‘’`]{_CODE_OF_A_LIBRARY}['\"‘’`][^\n]{{0,40}}\b(?:not handled|was not declared|undeclared|redefin\w+|not a member|"
    rf"is deprecated|unused|not covered)",
)


def is_at_zero(text: str) -> bool:
    """'Xid 54 count: 0', 'ERROR SUMMARY: 0 errors', '| uncorrectable | 0 |', and no other number or message in the line."""
    text = text[:LONGEST]
    return _AT_ZERO.search(text) is not None and _MORE.search(text) is None


def names_codes(lines: Sequence[Numbered], row: int) -> bool:
    """Whether the row names several codes with their numbers, or one in a list of such rows, or one in a compiler's message."""
    text = lines[row].text[:LONGEST]
    if _SEVERAL.search(text) or _IN_SOURCE.search(text):
        return True
    if _ALONE.match(text) is None:
        return False
    return any(_ALONE.match(lines[near].text[:LONGEST]) for near in (row - 1, row + 1) if 0 <= near < len(lines))
