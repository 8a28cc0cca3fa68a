"""Numbers that a worker reports: whatever stands in their place instead is None, and none of it is trusted."""

from __future__ import annotations

import math
from typing import Any


def number_of(value: Any) -> float | None:
    """A finite number; None for anything else, and for a whole number that no float holds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def positive_number(value: Any) -> float | None:
    found = number_of(value)
    return found if found is not None and found > 0 else None


def not_negative_number(value: Any) -> float | None:
    found = number_of(value)
    return found if found is not None and found >= 0 else None


def count_of(value: Any) -> int | None:
    """A whole number from 0 on that no arithmetic of ours overflows with."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**60 else None
