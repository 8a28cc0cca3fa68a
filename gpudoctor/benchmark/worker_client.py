"""One request to one worker in its own process: used by the trials, the sweep and the probe of operators."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, field

from gpudoctor.benchmark import workers
from gpudoctor.benchmark.monitors.main_memory import free_memory
from gpudoctor.model.measurement import FAILED, OK, SKIPPED
from gpudoctor.system.framework_child import Caches

Line = Mapping[str, Any]


class Said(Struct, frozen=True, kw_only=True):
    """The result of one request. `lines`: all lines of the worker, each with its `stage`, unvalidated."""

    status: str = OK
    lines: tuple[Line, ...] = ()
    result: Line = field(default_factory=dict)
    reason: str = ""
    """Why it failed or was skipped."""
    out_of_memory: bool = False
    silent: float = 0.0
    """Seconds between its last line and its end."""

    @property
    def ok(self) -> bool:
        return self.status == OK


Ask = Callable[[Line, Mapping[str, str]], Said]
"""(request, variables that are added to the environment)"""


def through(host: workers.WorkerHost, python: str, limit: float, caches: Caches | None = None, *, on_processor: bool = False) -> Ask:
    """A function that sends requests to workers. `limit`: seconds for one. `on_processor`: it gets no more addresses than free
    memory, so that a request for too much is refused before anything is written."""

    def ask(request: Line, variables: Mapping[str, str]) -> Said:
        lines: list[Line] = []
        received = time.monotonic()

        def on_stage(stage: str, table: Line) -> None:
            nonlocal received
            received = time.monotonic()
            if stage != "progress":
                lines.append({**table, "stage": stage})

        space = None
        if on_processor:
            free, _ = free_memory(host)
            space = None if free is None else free + RESERVED
        answer = workers.ask(host, python, request, limit=limit, caches=caches, variables=variables, on_stage=on_stage, address_space=space)
        return Said(
            status=answer.status, lines=tuple(lines), result=answer.result, reason=answer.reason, out_of_memory=answer.out_of_memory,
            silent=time.monotonic() - received,
        )  # fmt: skip

    return ask


RESERVED = 6 << 30
"""Bytes of addresses that libraries and thread stacks take without using them."""

__all__ = ["FAILED", "OK", "SKIPPED", "Ask", "Line", "Said", "through"]
