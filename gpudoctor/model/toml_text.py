"""The TOML parser of the running Python: tomllib, or tomli before 3.11."""

from __future__ import annotations

import sys
from typing import Any

from gpudoctor.model.bounds import check_toml

if sys.version_info >= (3, 11):
    from tomllib import loads as _loads
else:
    from tomli import loads as _loads


def loads(text: str) -> dict[str, Any]:
    """Parses a text of unknown origin. Raises ValueError (or a subclass) for invalid TOML and for a text that is nested too deep."""
    check_toml(text)
    try:
        return _loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def loads_ours(text: str) -> dict[str, Any]:
    """Parses a table of our own package, without the checks for hostile input."""
    return _loads(text)
