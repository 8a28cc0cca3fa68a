"""One call of an assistant in a process of its own, which gpudoctor.cli.mcp starts. It prints {"text": …, "failed": …}."""

from __future__ import annotations

import contextlib
import gc
import json
import sys
import threading
from collections.abc import Mapping
from typing import Any

from gpudoctor.start import SELDOM


def main(given: Mapping[str, Any]) -> None:
    """Answers one call and prints the answer."""
    from gpudoctor.cli.assistant_tools import Allowed
    from gpudoctor.cli.mcp import answer, looks_here
    from gpudoctor.system.memory_limit import limited_memory

    gc.set_threshold(*SELDOM)
    name, arguments = str(given["name"]), dict(given["arguments"])
    # Examining this machine starts frameworks, which would inherit the limit and fail under it.
    with contextlib.nullcontext() if looks_here(name, arguments) else limited_memory():
        text, failed = answer(name, arguments, Allowed(files=given["files"], python=given["python"]), threading.Event())
    sys.stdout.write(json.dumps({"text": text, "failed": failed}))
