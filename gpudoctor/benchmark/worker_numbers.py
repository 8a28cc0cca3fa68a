"""Validates numbers that a worker reports: anything else in their place becomes None."""

from __future__ import annotations

import math
from typing import Any


def number_of(value: Any) -> float | None:
    """The value as a finite float; None for anything else, and for integers too large for a float."""
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
    """The value as an integer from 0 to a limit that keeps later arithmetic finite; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**60 else None
