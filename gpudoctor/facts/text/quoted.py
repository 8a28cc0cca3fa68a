"""Whether a sentence speaks of a message that it quotes, and reports none: 'We wrote a chapter about "CUDA error: …".'"""

from __future__ import annotations

import re

from gpudoctor.facts.text.polarity import TROUBLE, polarity, sentences_of
from gpudoctor.facts.text.trouble_words import any_of
from gpudoctor.model.lazy_pattern import lazy

_QUOTED = lazy('"[^"\n]{10,200}"|“[^”\n]{10,200}”')
_NAMED = lazy(r"\bxid\b", re.IGNORECASE)
"""A word that names a trouble without reporting one."""
_FEWEST = 6
"""Words around the message from which on they are a sentence of their own."""
# fmt: off
# Words, several in a line.
_REPORTING = (
    "I", "my", "me", "we", "our", "get", "gets", "got", "getting", "sees?", "saw", "seen", "seeing", "says?", "said", "shows?", "shown",
    "prints?",
    "printed", "reports?", "reported", "throws?", "threw", "rais(?:es|ed)", "returns?", "returned", "gives?", "gave", "displays?",
    "appears?",
    "appeared", "pops?", "fails?", "failed", "failing", "ends?", "ended", "stops?", "stopped", "exits?", "exited", "dies", "died",
    "with", "but",
    "why", "receives?", "received", "encounter\\w*", "following", "when", "while", "after", "every", "each", "since", "now", "always",
    "again",
    "during", "errors?", "messages?", "warnings?", "problems?", "issues?", "exceptions?", "crash(?:es|ed)?", "log", "output", "then",
    "still",
    "complains?", "tells?", "told", "writes?", "wrote it", "logs?", "logged", "results?", "caus(?:es|ed)", "only", "just", "it",
)
# fmt: on
_REPORTS = lazy(any_of(_REPORTING), re.IGNORECASE)


def is_only_quoted(line: str) -> bool:
    """Whether every sentence with a quoted message only names it, and no other sentence of the line reports a trouble."""
    if _QUOTED.search(line) is None:
        return False
    return all(_only_names(sentence) if _QUOTED.search(sentence) else polarity(sentence) != TROUBLE for sentence in sentences_of(line))


def _only_names(sentence: str) -> bool:
    around = _NAMED.sub(" ", _QUOTED.sub(" ", sentence))
    return len(around.split()) >= _FEWEST and _REPORTS.search(around) is None and polarity(around, prose=False) != TROUBLE
