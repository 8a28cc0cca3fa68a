"""A child of ours on another system, where neither our interpreter nor our payloads lie: the script comes on standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from gpudoctor.system.target_programs import program

# The payload takes the folder of its own file off sys.path, which is '' where a script comes on standard input.
_BESIDE = "import os; __file__ = os.path.join(os.getcwd(), 'payload.py')\n"


def carried(argv: Sequence[str], stdin_text: str) -> tuple[list[str], str]:
    """The same command for another system, and its standard input."""
    words = ["python3" if word == sys.executable else word for word in argv[:1]] + list(argv[1:])
    payloads = program("payloads") + os.sep
    for place, word in enumerate(words):
        if word.startswith(payloads) and not stdin_text:
            with open(word, encoding="utf-8") as file:
                return [*words[:place], "-", *words[place + 1 :]], _BESIDE + file.read()
    return words, stdin_text
