"""Runs one worker: hears its stages while it runs, keeps it from taking the machine down, and says how it ended, whatever it did."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from gpudoctor.benchmark.flop_model import WORKER
from gpudoctor.benchmark.monitors.main_memory import memory_is_short
from gpudoctor.facts.probes.frameworks import QUIET, SIGNALS, SILENT
from gpudoctor.model.measurement import FAILED, OK, SKIPPED
from gpudoctor.system.host import PAYLOAD_MARK, Ran, Text
from gpudoctor.system.processes import Guard

OUTPUT = 4_000_000
"""Bytes on a stream: more is taken for an endless loop."""
STAGES = ("import", "device", "build", "correctness", "first", "ready", "measure", "progress", "operators", "operator", "verdict",
          "result", "skipped", "failed")  # fmt: skip
ASIDE = ("progress", "verdict")
"""Said in the middle of a stage."""
CACHES = (
    "XDG_CACHE_HOME", "POCL_CACHE_DIR", "CUDA_CACHE_PATH", "NEO_CACHE_DIR", "cl_cache_dir", "SYCL_CACHE_DIR", "MESA_SHADER_CACHE_DIR",
    "MIOPEN_USER_DB_PATH", "MIOPEN_CUSTOM_CACHE_DIR", "AMD_COMGR_CACHE_DIR", "DLPRIM_CACHE_DIR", "POPTORCH_CACHE_DIR", "MPLCONFIGDIR",
    "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "KERAS_HOME",
)  # fmt: skip
KEPT = ("DLPRIM_CACHE_DIR",)
"""Of these, those that stay where the person put them: the kernels of one network take minutes to compile."""
Hear = Callable[[str, Mapping[str, Any]], None]


class WorkerHost(Protocol):
    """What is needed of a host (host.local.LocalHost)."""

    def run_worker(
        self, argv: Sequence[str], *, timeout: float, limit: int, env: Mapping[str, str], guard: Guard, stdin_text: str = ""
    ) -> Ran: ...
    def read(self, path: str, *, limit: int = 1_000_000) -> Text: ...
    def exists(self, path: str) -> bool: ...
    def main_memory(self) -> tuple[int, int] | None: ...
    def env(self, name: str) -> str | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How a worker ended. `stage`: the last one that it had begun; `result`: the table of its result line, nothing of it trusted."""

    status: str
    stage: str = ""
    reason: str = ""
    result: Mapping[str, Any] = field(default_factory=dict)
    device: Mapping[str, Any] = field(default_factory=dict)
    out_of_memory: bool = False
    late: bool = False
    """It was ended because its limit was over."""
    seconds: float = 0.0


class Caches:
    """One folder for all workers of a run, so that what one compiled the next one finds; removed at the end."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="gpudoctor-validate-", ignore_cleanup_errors=True)
        self.path = self._folder.name
        self.variables = {name: os.path.join(self.path, name.lower()) for name in CACHES}
        for path in self.variables.values():
            os.makedirs(path, exist_ok=True)

    def __enter__(self) -> Caches:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


def ask(
    host: WorkerHost,
    python: str,
    request: Mapping[str, Any],
    *,
    limit: float,
    caches: Caches | None = None,
    variables: Mapping[str, str] | None = None,
    hear: Hear | None = None,
    on_start: Callable[[int], None] | None = None,
    address_space: int | None = None,
    stop: Callable[[], str] | None = None,
    worker: str = WORKER,
) -> Answer:
    """Run the worker with `request`. `limit`: seconds. `hear(stage, table)` while it runs. `address_space`: bytes, for processors only:
    drivers of cards reserve more addresses than there is memory. `stop()`: why the worker has to go; '' while it may stay."""
    said = _Said(hear)

    def watch() -> str:
        said.called_off = (stop() if stop is not None else "") or said.called_off
        return said.called_off or memory_is_short(host)

    killed = _oom_kills(host)
    folder = caches.path if caches is not None else None
    guard = Guard(address_space=address_space, expendable=True, watch=watch, on_start=on_start, on_line=said.line)
    with tempfile.TemporaryDirectory(prefix="gpudoctor-worker-", dir=folder, ignore_cleanup_errors=True) as temporary:
        quiet = {name: value for name, value in QUIET.items() if host.env(name) is None}
        kept = [name for name in KEPT if host.env(name)]
        moved = {name: path for name, path in caches.variables.items() if name not in kept} if caches is not None else {}
        environment = {
            **quiet, **moved, **(variables or {}), **SILENT,
            "TMPDIR": temporary, "TEMP": temporary, "TMP": temporary, "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
        if caches is not None:
            environment["KERAS_HOME"] = caches.variables["KERAS_HOME"]
        argv = [python, "-X", "utf8", worker]
        ran = host.run_worker(argv, timeout=limit, limit=OUTPUT, env=environment, guard=guard, stdin_text=json.dumps(dict(request)))
    return said.answer(ran, by_kernel=_oom_kills(host) > killed)


class _Said:
    """The lines so far."""

    def __init__(self, hear: Hear | None) -> None:
        self._hear = hear
        self.stage = ""
        self.called_off = ""
        """Why it was ended from here, through no fault of its own."""
        self.device: dict[str, Any] = {}
        self.last: tuple[str, dict[str, Any]] | None = None

    def line(self, text: str) -> None:
        if not text.startswith(PAYLOAD_MARK):
            return
        try:
            part = json.loads(text[len(PAYLOAD_MARK) :])
        except (ValueError, RecursionError):
            return
        stage = part.pop("stage", None) if isinstance(part, dict) else None
        if stage not in STAGES:
            return
        if stage in ("result", "skipped", "failed"):
            self.last = self.last or (stage, part)
        elif stage not in ASIDE:
            self.stage = stage
        if stage == "device":
            self.device = part
        if self._hear is not None:
            self._hear(stage, part)

    def answer(self, ran: Ran, *, by_kernel: bool = False) -> Answer:
        def ended(status: str, reason: str = "", result: Mapping[str, Any] | None = None, memory: bool = False) -> Answer:
            return Answer(
                status=status, stage=self.stage, reason=reason, result=result or {}, device=self.device, out_of_memory=memory,
                late=ran.timed_out and self.last is None,
                seconds=ran.seconds,
            )  # fmt: skip

        if self.last is not None and not (ran.stopped or ran.truncated):
            kind, table = self.last
            if kind == "result":
                return ended(OK, result=table)
            if kind == "skipped":
                return ended(SKIPPED, one_line(table.get("reason")) or "the worker gives no reason")
            return ended(FAILED, self._at(one_line(table.get("error")) or "an error without a message"), memory=table.get("memory") is True)
        reason, memory = self._unfinished(ran, by_kernel)
        return ended(FAILED, reason, memory=memory)

    def _unfinished(self, ran: Ran, by_kernel: bool) -> tuple[str, bool]:
        if ran.missing:
            return f"the interpreter {ran.argv[0]} is missing", False
        if ran.stopped:
            return self._at(ran.stopped), not self.called_off
        if ran.timed_out:
            return self._at(f"no end after {ran.seconds:.0f} s"), False
        if ran.truncated:
            return self._at("it printed without end"), False
        signal = ran.signal if ran.signal is not None else ran.rc - 128 if ran.rc is not None and 128 < ran.rc < 160 else None
        if signal == 9 and by_kernel:
            return self._at("killed by the kernel: main memory was full"), True
        if signal is not None:
            return self._at(_with_output(f"died of {SIGNALS.get(signal, f'signal {signal}')}", ran.stderr)), False
        if ran.rc == 0:
            return self._at(_with_output("it ended without a result", ran.stderr)), False
        return self._at(_with_output(f"left with status {ran.rc}", ran.stderr)), False

    def _at(self, what: str) -> str:
        return f"{self.stage or 'start'}: {what}"


def _oom_kills(host: WorkerHost) -> int:
    for line in host.read("/proc/vmstat", limit=200_000).text.splitlines():
        if line.startswith("oom_kill ") and line.split()[1].isdigit():
            return int(line.split()[1])
    return 0


def _with_output(message: str, stderr: str) -> str:
    """The message, and the last line with an error that the framework printed, where it says more."""
    lines = [one_line(line) for line in stderr[-20_000:].splitlines() if "error" in line.lower()]
    return f"{message}; it printed: {lines[-1]}" if lines and lines[-1] not in message else message


def one_line(value: Any) -> str:
    """One printable line of at most 300 characters; '' where it is no text."""
    if not isinstance(value, str):
        return ""
    line = "".join(letter if letter.isprintable() else " " for letter in value[:4000])
    return " ".join(line.split())[:300]
