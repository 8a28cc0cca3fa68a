"""Parses JSON that somebody else wrote: every error in it is a ValueError."""

from __future__ import annotations

from typing import Any

from gpudoctor.model.bounds import check_json


def loads(text: str) -> Any:
    """The value of a JSON text. Raises ValueError for other text, for too deep nesting, and for numbers that no float can hold."""
    import json  # imported here, since gpudoctor's own files are read by msgspec, which does not limit the digits of a number

    check_json(text)
    try:
        return json.loads(text, parse_int=_whole)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _whole(digits: str) -> int:
    """The number. Raises ValueError for more digits than a float can hold, which would raise OverflowError in any computation."""
    if len(digits) > 30:
        raise ValueError(f"a number of {len(digits)} digits; at most 30 are read")
    return int(digits)
