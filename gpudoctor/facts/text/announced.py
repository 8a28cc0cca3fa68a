"""Whether a line announces the message of a program that stands below it: 'I get this error:', 'init.py:209: UserWarning:'."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudoctor.facts.text import line_shapes as shapes
from gpudoctor.facts.text.polarity import HYPOTHETICAL, polarity
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.signature import Numbered

_REACH = 3
"""Lines above in which the announcement stands; those between are empty."""
_ANNOUNCING = lazy(
    r"(?:\b(?:\w{0,40}errors?|messages?|\w{0,40}warnings?|exceptions?|says?|reports?|prints?|complains?|fails?|failed|the following)\b"
    r"[^:：]{0,40}|"
    r"(?:报错|错误|エラー|Fehler(?:meldung)?)[^:：]{0,20})[:：]\s{0,4}$",
    re.IGNORECASE,
)


def is_announced(lines: Sequence[Numbered], row: int) -> bool:
    """Whether the line is what a program said, because the sentence above it says so. A guide announces what may appear."""
    text = lines[row].text.strip()
    if shapes.SPEAKS_OF_ONESELF.search(text) or text.endswith("?"):
        return False
    above = next((lines[near].text for near in range(row - 1, max(-1, row - _REACH), -1) if lines[near].text.strip()), "")
    if _ANNOUNCING.search(above) is None:
        return False
    guiding = (shapes.GUIDING, shapes.LEADS_TO_AN_EXAMPLE, shapes.EXPLAINS_AN_EXAMPLE, shapes.WISH, shapes.REQUEST)
    if any(shape.search(above) for shape in guiding):
        return False
    return polarity(above) != HYPOTHETICAL or shapes.SPEAKS_OF_ONESELF.search(above) is not None
