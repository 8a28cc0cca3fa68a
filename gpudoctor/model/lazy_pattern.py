"""Regular expressions that are compiled at their first use: most texts need few, and compiling all takes longer than reading a text."""

from __future__ import annotations

import re
from typing import Any, cast


class LazyPattern:
    """A proxy for a compiled expression, made by `lazy`."""

    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        """The method of the compiled expression, stored so that the look-up happens once for each name."""
        found = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, found)
        return found


def lazy(text: str, flags: int = 0) -> re.Pattern[str]:
    """The expression, compiled at its first use."""
    return cast("re.Pattern[str]", LazyPattern(text, flags))
