"""The TOML reader of this Python: tomllib, or tomli before 3.11."""

from __future__ import annotations

import sys
from typing import Any

from gpudoctor.model.bounds import check_toml

if sys.version_info >= (3, 11):
    from tomllib import loads as _loads
else:
    from tomli import loads as _loads


def loads(text: str) -> dict[str, Any]:
    """Raises ValueError, in one of its kinds, for what is no TOML, and for what is nested too deep to be read."""
    check_toml(text)
    try:
        return _loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def loads_ours(text: str) -> dict[str, Any]:
    """A table of our own package, which nobody else wrote and which needs no check."""
    return _loads(text)
