"""The TOML reader of this Python: tomllib, or tomli before 3.11."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    from tomllib import loads as _loads
else:
    from tomli import loads as _loads


def loads(text: str) -> dict[str, Any]:
    return _loads(text)
