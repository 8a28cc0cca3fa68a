"""Runs one worker: receives its stages, protects the machine from it (memory, hangs), and reports how it ended."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from gpudoctor.benchmark.flop_model import WORKER
from gpudoctor.benchmark.monitors.main_memory import memory_is_short
from gpudoctor.benchmark.monitors.processor_load import ticks_in_a_second, ticks_of
from gpudoctor.benchmark.pulse import GRACE, Pulse
from gpudoctor.model.measurement import FAILED, OK, SKIPPED
from gpudoctor.system.framework_child import Caches, ending, one_line, signal_of, table_of, variables_of
from gpudoctor.system.host import Ran, Text
from gpudoctor.system.processes import Guard

OUTPUT = 4_000_000
"""Bytes on a stream: more is taken for an endless loop."""
STAGES = ("import", "job", "device", "build", "correctness", "first", "ready", "measure", "progress", "operators", "operator", "verdict",
          "result", "skipped", "failed")  # fmt: skip
ASIDE = ("progress", "verdict")
"""Said in the middle of a stage."""
IDLE_STAGES = ("build", "correctness", "first", "measure")
OnStage = Callable[[str, Mapping[str, Any]], None]
OnAnswer = Callable[["WorkerAnswer"], None]


class WorkerHost(Protocol):
    """The methods that a worker needs of a host (system.local_host.LocalHost)."""

    def run_worker(
        self, argv: Sequence[str], *, timeout: float, limit: int, env: Mapping[str, str], guard: Guard, stdin_text: str = ""
    ) -> Ran: ...
    def read(self, path: str, *, limit: int = 1_000_000) -> Text: ...
    def exists(self, path: str) -> bool: ...
    def main_memory(self) -> tuple[int, int] | None: ...
    def env(self, name: str) -> str | None: ...


class WorkerAnswer(Struct, frozen=True, kw_only=True):
    """How a worker ended. `stage`: the last one that it began; `result`: the table of its result line, unvalidated."""

    status: str
    stage: str = ""
    reason: str = ""
    result: Mapping[str, Any] = field(default_factory=dict)
    device: Mapping[str, Any] = field(default_factory=dict)
    out_of_memory: bool = False
    late: bool = False
    """Whether it was ended at its time limit."""
    seconds: float = 0.0
    silent: float = 0.0
    """Seconds between its last line and its end."""
    worked: float = 0.0
    """Seconds of processor time that it took during these; 0 where it was not measured."""


def ask(
    host: WorkerHost,
    python: str,
    request: Mapping[str, Any],
    *,
    limit: float,
    caches: Caches | None = None,
    variables: Mapping[str, str] | None = None,
    on_stage: OnStage | None = None,
    on_start: Callable[[int], None] | None = None,
    address_space: int | None = None,
    stop: Callable[[], str] | None = None,
    on_answer: OnAnswer | None = None,
    idle: float | None = None,
    worker: str = WORKER,
) -> WorkerAnswer:
    """Runs the worker with `request`. `limit`: seconds. `on_stage(stage, table)` while it runs. `address_space`: bytes, processors only:
    drivers of cards reserve more addresses than there is memory. `stop()`: why the worker must end; '' while it may go on. `idle`: seconds
    without any processor time after which a worker that computes on the processor counts as hung.

    For a request with several `jobs`, returns the answer of the last that was begun; `on_answer` gets those before it, each as soon as
    the next begins."""
    state, pids = _WorkerState(on_stage, on_answer), list[int]()
    pulse = Pulse(limit, idle)

    def watch() -> str:
        state.called_off = (stop() if stop is not None else "") or state.called_off
        ticks = ticks_of(host, pids[0]) if idle is not None and pids and state.stage in IDLE_STAGES else None
        state.hung = pulse.missing(time.monotonic(), ticks, done=state.last is not None)
        return state.called_off or memory_is_short(host) or state.hung

    def line(text: str) -> None:
        table = state.line(text)
        if table is not None:
            pulse.beat(time.monotonic(), table)

    def started(pid: int) -> None:
        pids.append(pid)
        if on_start is not None:
            on_start(pid)

    killed = _oom_kills(host)
    folder = caches.path if caches is not None else None
    guard = Guard(address_space=address_space, expendable=True, watch=watch, on_start=started, on_line=line)
    with tempfile.TemporaryDirectory(prefix="gpudoctor-worker-", dir=folder, ignore_cleanup_errors=True) as temporary:
        environment = variables_of(host, temporary, caches, variables)
        argv = [python, "-X", "utf8", worker]
        pulse.began = time.monotonic()
        ran = host.run_worker(argv, timeout=limit + GRACE, limit=OUTPUT, env=environment, guard=guard, stdin_text=json.dumps(dict(request)))
    state.late = pulse.late
    answer = state.answer(ran, by_kernel=_oom_kills(host) > killed)
    return replace(answer, silent=pulse.silent, worked=pulse.worked / ticks_in_a_second())


class _WorkerState:
    """The state of a worker by the lines that it has printed so far."""

    def __init__(self, on_stage: OnStage | None, on_answer: OnAnswer | None = None) -> None:
        self._on_stage, self._on_answer = on_stage, on_answer
        self.stage = ""
        self.called_off = ""
        """Why it was ended from outside, through no fault of its own."""
        self.hung = ""
        """Why it was ended for its silence."""
        self.late = False
        """Whether it was ended at its time limit, without a sign of a hang."""
        self.device: dict[str, Any] = {}
        self.last: tuple[str, dict[str, Any]] | None = None

    def line(self, text: str) -> dict[str, Any] | None:
        """The table of a line in our format, with its stage; None for other output."""
        part = table_of(text)
        if part is None or (stage := part.pop("stage", None)) not in STAGES:
            return None
        if stage == "job":
            if self.last is not None and self._on_answer is not None:
                self._on_answer(self._finished(*self.last))
            self.last, self.stage = None, ""
        elif stage in ("result", "skipped", "failed"):
            self.last = self.last or (stage, part)
        elif stage not in ASIDE:
            self.stage = stage
        if stage == "device":
            self.device = part
        if self._on_stage is not None:
            self._on_stage(stage, part)
        return {**part, "stage": stage}

    def answer(self, ran: Ran, *, by_kernel: bool = False) -> WorkerAnswer:
        if self.last is not None and not ((ran.stopped and not self.late) or ran.truncated):
            return replace(self._finished(*self.last), seconds=ran.seconds)
        reason, memory = self._unfinished(ran, by_kernel)
        late = (ran.timed_out or self.late) and self.last is None
        return replace(self._ended(FAILED, reason), out_of_memory=memory, late=late, seconds=ran.seconds)

    def _finished(self, kind: str, table: Mapping[str, Any]) -> WorkerAnswer:
        """The answer by the worker's last line (result, skipped or failed)."""
        if kind == "result":
            return replace(self._ended(OK), result=table)
        if kind == "skipped":
            return self._ended(SKIPPED, one_line(table.get("reason")) or "the worker gives no reason")
        reason = self._at(one_line(table.get("error")) or "an error without a message")
        return replace(self._ended(FAILED, reason), out_of_memory=table.get("memory") is True)

    def _ended(self, status: str, reason: str = "") -> WorkerAnswer:
        return WorkerAnswer(status=status, stage=self.stage, reason=reason, device=self.device)

    def _unfinished(self, ran: Ran, by_kernel: bool) -> tuple[str, bool]:
        if ran.missing:
            return f"the interpreter {ran.argv[0]} is missing", False
        if ran.stopped:
            return self._at(ran.stopped), not (self.called_off or self.hung)
        if by_kernel and signal_of(ran) == 9 and not (ran.timed_out or ran.truncated):
            return self._at("killed by the kernel: main memory was full"), True
        return self._at(ending(ran)), False

    def _at(self, what: str) -> str:
        return f"{self.stage or 'start'}: {what}"


def _oom_kills(host: WorkerHost) -> int:
    for line in host.read("/proc/vmstat", limit=200_000).text.splitlines():
        if line.startswith("oom_kill ") and line.split()[1].isdigit():
            return int(line.split()[1])
    return 0
