"""Expressions that are compiled when they are used first: most texts need few of them, and compiling all costs more than reading."""

from __future__ import annotations

import re
from typing import Any, cast


class LazyPattern:
    """Stands for a compiled expression; `lazy` makes it."""

    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        """The method of the compiled expression, kept so that this is asked once for each name."""
        found = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, found)
        return found


def lazy(text: str, flags: int = 0) -> re.Pattern[str]:
    """An expression that is compiled when it is used first."""
    return cast("re.Pattern[str]", LazyPattern(text, flags))
