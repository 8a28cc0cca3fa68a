"""The reader of JSON that somebody else wrote: every way in which it can be wrong is a ValueError."""

from __future__ import annotations

from typing import Any

from gpudoctor.model.bounds import check_json


def loads(text: str) -> Any:
    """Raises ValueError for what is no JSON, what is nested too deep, and for numbers that no machine counts with."""
    import json  # late: our own files are read by msgspec, which knows no limit for the digits of a number

    check_json(text)
    try:
        return json.loads(text, parse_int=_whole)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _whole(digits: str) -> int:
    """A number of more digits than a float can hold would raise OverflowError wherever it is reckoned with."""
    if len(digits) > 30:
        raise ValueError(f"a number of {len(digits)} digits; at most 30 are read")
    return int(digits)
