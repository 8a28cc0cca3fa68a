"""Lines that only name status codes, which nothing returned.

A compiler complains about the name (`enumeration value 'hipErrorNoDevice' not handled`), an interpreter does not know it (`has no attribute
'CUDA_ERROR_NOT_INITIALIZED'`), or a list gives the codes of a library their numbers (`CL_INVALID_DEVICE -33, CL_INVALID_CONTEXT -34`).
"""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.signature import Numbered

LONGEST = 600
"""Letters of a line that are looked at."""
_CODE = (
    r"(?:miopenStatus[A-Z]|(?:cuda|hip)(?:Error|StreamCapture)[A-Z]|CUDA_ERROR_|CUDNN_STATUS_|CUBLAS_STATUS_|rocblas_status_|HSA_STATUS_|CL_|"
    r"ZE_RESULT_|UR_RESULT_|PI_ERROR_|VK_ERROR_|nccl(?:System|Unhandled|\w{0,40}Error)|NVML_ERROR_)\w{0,60}"
)
_QUOTED = rf"['\"\u2018\u2019`](?:\w{{1,40}}(?:::|\.)){{0,4}}{_CODE}['\"\u2018\u2019`]"
_COMPLAINT = lazy(
    r"\b(?:enumerat(?:ion value|or)|case value|switch|identifier|symbol|name|named|member|attribute|constant|use of|value|"
    rf"re(?:definition|declaration) of)\b[^\n]{{0,40}}?{_QUOTED}|"
    rf"{_QUOTED}[^\n]{{0,40}}?\b(?:not (?:handled|covered|used|defined|declared)|was not declared|undeclared|undefined|redefin\w+|"
    r"not a member|is deprecated|unused)"
)
_NAME = rf"(?:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+){{1,8}}|{_CODE})"
_PAIR = rf"{_NAME}['\"`]?\s?[=:(|]{{0,2}}\s{{0,8}}(?:-\d{{1,5}}|0x[0-9a-fA-F]{{1,8}}|\d{{1,4}})\)?"
_SEVERAL = lazy(rf"(?<!\w){_PAIR}\s?[,;|/]\s?(?:and )?{_PAIR}")
_ALONE = lazy(
    rf"^\W{{0,6}}(?:#define |case |static const int )?{_PAIR}\s?[,;:|]?\s*(?:(?://|/\*|#|[|–-]).*)?$|^\W{{0,6}}-?\d{{1,5}}\s?[:=|"
    rf"–-]\s?{_NAME}\s*[,;|]?$"
)


def names_codes(lines: Sequence[Numbered], row: int) -> bool:
    """Whether the row complains about the name of a code, or gives several codes their numbers, alone or in a list of such rows."""
    text = lines[row].text[:LONGEST]
    if _COMPLAINT.search(text) or _SEVERAL.search(text):
        return True
    if _ALONE.match(text) is None:
        return False
    return any(_ALONE.match(lines[near].text[:LONGEST]) for near in (row - 1, row + 1) if 0 <= near < len(lines))
