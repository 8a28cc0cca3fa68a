"""Runs a payload on another system, where gpudoctor is not installed: the script comes on standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from gpudoctor.system.target_programs import program

# A payload removes the folder of its file from sys.path, which is '' where a script comes on standard input.
_BESIDE = "import os; __file__ = os.path.join(os.getcwd(), 'payload.py')\n"


def carried(argv: Sequence[str], stdin_text: str) -> tuple[list[str], str]:
    """(command, standard input) with which another system runs the payload of a command."""
    words = ["python3" if word == sys.executable else word for word in argv[:1]] + list(argv[1:])
    payloads = program("payloads") + os.sep
    for place, word in enumerate(words):
        if word.startswith(payloads) and not stdin_text:
            with open(word, encoding="utf-8") as file:
                return [*words[:place], "-", *words[place + 1 :]], _BESIDE + file.read()
    return words, stdin_text
