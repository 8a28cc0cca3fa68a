"""Calls of gpudoctor's own modules in a separate process, which can be ended at any time: by a time limit or by the caller."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from gpudoctor.system.process_reaper import kill_started_by

_START = (
    "import json, sys; call = json.loads(sys.stdin.buffer.read()); sys.path[:] = call['path']; "
    "from importlib import import_module; import_module(call['module']).main(call['given'])"
)


class Helped(Struct, frozen=True):
    """The result of such a call. `said`: what it printed; `problem`: '' or why there is no answer: stopped, timeout, too-large, crashed
    (with the last line)."""

    said: str = ""
    problem: str = ""


def call(module: str, given: Mapping[str, Any], *, limit: float, stop: threading.Event, most: int = 1_000_000) -> Helped:
    """Runs `main(given)` of a module of gpudoctor with this interpreter; what it prints is the answer.

    The folder that gpudoctor was started in is not searched for modules. When `limit` seconds are over or `stop` is set, the process and
    all that it has started end within a tenth of a second.
    """
    from gpudoctor.system.processes import Guard, execute

    started: list[int] = []
    path = [entry for entry in sys.path if os.path.isabs(entry)]
    guard = Guard(watch=lambda: "no caller is waiting" if stop.is_set() else "", on_start=started.append)
    ran = execute(
        [sys.executable, "-I", "-c", _START], sys.executable, timeout=limit, limit=most, env=dict(os.environ), niced=False, guard=guard,
        stdin_text=json.dumps({"path": path, "module": module, "given": dict(given)}),
    )  # fmt: skip
    if ran.rc != 0:
        for pid in started:
            kill_started_by(pid)
    if ran.rc == 0:
        return Helped(ran.stdout)
    if ran.stopped or ran.timed_out or ran.truncated:
        return Helped(problem="stopped" if ran.stopped else "timeout" if ran.timed_out else "too-large")
    lines = [line for line in ran.stderr.splitlines() if line.strip()]
    return Helped(problem=f"crashed: {lines[-1][:200] if lines else f'signal {ran.signal}'}")
