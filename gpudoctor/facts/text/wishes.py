"""Whether a text as a whole asks for something new of a program: the messages in it are examples, and nobody has a trouble to cure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudoctor.facts.text.line_shapes import SPEAKS_OF_ONESELF
from gpudoctor.facts.text.polarity import TROUBLE, polarity
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.signature import Numbered

LOOKED_AT = 400
_HEADINGS = (
    "feature (?:request|description|proposal|idea)", "the feature, motivation and pitch", "is your feature request related to a problem",
    "describe the (?:solution|feature|enhancement) you", "enhancement(?: request| description| proposal)?", "proposal",
)  # fmt: skip
_FORM = lazy(rf"^\s{{0,3}}(?:#{{1,6}} ?|\*\*)\W{{0,4}}(?:{'|'.join(_HEADINGS)})\b", re.IGNORECASE)
"""The first heading of the form in which trackers ask for a feature."""
_TAG = lazy(r"^\W{0,3}[\[(](?:feature|enhancement|rfc|proposal|wish)(?: request)?[\])]", re.IGNORECASE)
_HAPPENED = lazy(
    r"^Traceback|^\s+File \"|^\s{0,3}(?:#{1,6} ?|\*\*)\W{0,4}(?:describe the bug|to reproduce|steps to|what happened|actual)", re.IGNORECASE
)
"""Signs of a run that failed, or of a form for bugs."""
_FIRST = 3
"""Lines among which the heading stands."""


def is_a_wish(lines: Sequence[Numbered]) -> bool:
    """A form or a title of a wish, without a run that failed and without a person who says that something does not work."""
    texts = [line.text for line in lines[:LOOKED_AT] if line.text.strip()]
    if not any(_FORM.match(text) or _TAG.match(text) for text in texts[:_FIRST]) or any(map(_HAPPENED.match, texts)):
        return False
    return not any(SPEAKS_OF_ONESELF.search(text) and polarity(text) == TROUBLE for text in texts[1:])
