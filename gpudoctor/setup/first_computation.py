"""The first computation after a set-up: on the device, in the target environment, in a child, compared with the CPU.

A crash, a hang and a wrong result are results, with the stage that was reached. Nothing is left in the person's home.
"""

from __future__ import annotations

import math
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpudoctor.facts.probes.frameworks import QUIET, SIGNALS, SILENT, payload
from gpudoctor.system import json_text
from gpudoctor.system.host import PAYLOAD_MARK, Host, Ran
from gpudoctor.system.local_host import LocalHost

LIMIT = 120.0
"""Seconds. Drivers that compile their kernels at first use need most of a minute."""
_OUTPUT = 1_000_000
_LOOSEST = 1e-2
"""A tolerance above this would call anything equal."""
STAGES = ("import", "device", "allocate", "compute", "compare")
_CACHES = (
    "XDG_CACHE_HOME", "TMPDIR", "POCL_CACHE_DIR", "CUDA_CACHE_PATH", "__GL_SHADER_DISK_CACHE_PATH", "NEO_CACHE_DIR", "cl_cache_dir",
    "SYCL_CACHE_DIR", "MESA_SHADER_CACHE_DIR", "MIOPEN_USER_DB_PATH", "MIOPEN_CUSTOM_CACHE_DIR", "AMD_COMGR_CACHE_DIR", "DLPRIM_CACHE_DIR",
    "POPTORCH_CACHE_DIR", "MPLCONFIGDIR", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "KERAS_HOME",
)  # fmt: skip
_OCL_DEVICE = re.compile(r"^Accessing device #\d+:(.{1,200})$", re.MULTILINE)
"""How pytorch_ocl names its device: nothing else of it does."""


@dataclass(frozen=True, slots=True)
class Computed:
    """How it ended. `ok`: computed, and equal to the CPU. `no_device`: nothing here that could compute; `error` says what is missing.

    `stage` is the last one that was reached (STAGES; '' before the first). `max_relative_error` is the largest difference
    by the largest right value of its tensor; None where there is no finite one.
    """

    ok: bool
    no_device: bool
    framework: str
    device: str = ""
    device_name: str = ""
    stage: str = ""
    error: str = ""
    max_relative_error: float | None = None
    tolerance: float | None = None
    seconds: float = 0.0

    @property
    def text(self) -> str:
        """One line for a person."""
        where = f"{self.device} ({self.device_name})" if self.device_name else self.device
        if self.ok:
            return f"computed on {where}, equal to the CPU within {_short(self.tolerance)}"
        if self.no_device:
            what, colon, why = self.error.partition(": ")
            return f"installed, not verified: {what} ({why})" if colon else f"installed, not verified: {what}"
        on = f" on {where}" if where else ""
        return f"installed, but the first computation failed{on}: {self.error}"


def compute(
    framework: str, python: str = "", *, variables: Mapping[str, str] | None = None, limit: float = LIMIT, host: Host | None = None
) -> Computed:
    """Compute with `framework` ('torch-xpu', or with a device: 'openvino:GPU', 'onnxruntime:CUDAExecutionProvider', 'jax:cpu').

    `python`: the interpreter of the target environment (OpenCL needs none). `variables`: what the plan sets. `limit`: seconds.
    """
    name, _, device = framework.partition(":")
    host = host or LocalHost(budget=limit + 5)
    interpreter = sys.executable if name == "opencl" or not python else python
    argv = [interpreter, "-X", "utf8", payload("first_computation.py"), name, *([device] if device else [])]
    with tempfile.TemporaryDirectory(prefix="gpudoctor-first-", ignore_cleanup_errors=True) as folder:
        quiet = {key: value for key, value in QUIET.items() if host.env(key) is None}
        environment = {**quiet, **(variables or {}), **SILENT, **_caches(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        return parse(host.run_child(argv, timeout=limit, limit=_OUTPUT, env=environment), name)


def _caches(folder: str) -> dict[str, str]:
    """A folder of its own for each, made beforehand: some fall back to the home folder where theirs is not there."""
    found = {name: os.path.join(folder, name.lower()) for name in _CACHES}
    for path in found.values():
        os.mkdir(path)
    return found


def parse(ran: Ran, framework: str) -> Computed:
    """What the child said, stage by stage, and how it ended. Nothing in it is trusted to be what it should be."""
    said = _ChildLines()
    for line in ran.stdout.splitlines():
        if line.startswith(PAYLOAD_MARK):
            said.on_stage(line[len(PAYLOAD_MARK) :])
    if framework == "torch-opencl" and (found := _OCL_DEVICE.search(ran.stdout + "\n" + ran.stderr)):
        said.name = _line(found[1])
    no_device, error = False, ""
    if said.absent:
        no_device, error = True, said.absent
    elif said.failed:
        error = _at(said.stage, _with_output(said.failed, ran.stderr))
    elif not said.done:
        error = _unfinished(ran, said.stage)
    elif said.device == "" or said.tolerance is None:
        error = "the child said it was done, but not what it computed"
    elif said.error is None:
        error = f"compare: no finite numbers in {said.worst or 'the result'}"
    elif said.error > said.tolerance:
        error = f"wrong result: {said.worst or 'the result'} differs from the CPU by {said.error:.2g}, {_short(said.tolerance)} is allowed"
    return Computed(
        ok=not error,
        no_device=no_device,
        framework=framework,
        device=said.device,
        device_name=said.name,
        stage=said.stage,
        error=error,
        max_relative_error=said.error,
        tolerance=said.tolerance,
        seconds=ran.seconds,
    )


class _ChildLines:
    """The lines of the child so far, each value only where it is of its kind."""

    def __init__(self) -> None:
        self.stage = self.device = self.name = self.absent = self.failed = self.worst = ""
        self.error: float | None = None
        self.tolerance: float | None = None
        self.done = False

    def on_stage(self, text: str) -> None:
        try:
            part = json_text.loads(text)
        except ValueError:
            return
        if not isinstance(part, dict):
            return
        stage = part.get("stage")
        if stage == "done":
            self.done = True
        elif stage == "failed":
            self.failed = _line(part.get("error")) or "an error without a message"
        elif stage in STAGES:
            self.stage = str(stage)
            if stage == "device":
                self._hear_device(part)
            elif stage == "compare" and "ok" in part:
                self.worst = _line(part.get("worst"))[:80]
                self.error, self.tolerance = _number(part.get("max_relative_error"), math.inf), _number(part.get("tolerance"), _LOOSEST)

    def _hear_device(self, part: Mapping[str, Any]) -> None:
        if part.get("ok") is False:
            self.absent = _line(part.get("reason")) or "no device here"
        elif part.get("ok") is True or "trying" in part:
            self.device, self.name = _line(part.get("device") or part.get("trying"))[:80], _line(part.get("name"))[:120]


def _unfinished(ran: Ran, stage: str) -> str:
    if ran.missing:
        return f"the interpreter {ran.argv[0]} is missing"
    if ran.not_recorded:
        return "not tried"
    if ran.timed_out:
        return "out of time before it could begin" if ran.seconds < 0.05 else _at(stage, f"no end after {ran.seconds:.0f} s")
    if ran.truncated:
        return _at(stage, "it printed without end")
    signal = ran.signal if ran.signal is not None else ran.rc - 128 if ran.rc is not None and 128 < ran.rc < 160 else None
    if signal is not None:
        return _at(stage, _with_output(f"died of {SIGNALS.get(signal, f'signal {signal}')}", ran.stderr))
    return _at(stage, _with_output(f"left with status {ran.rc}", ran.stderr))


def _at(stage: str, what: str) -> str:
    return f"{stage}: {what}" if stage else f"start: {what}"


def _with_output(message: str, stderr: str) -> str:
    """The message, and the last line with an error that the framework printed, where it says more."""
    lines = [_line(line) for line in stderr[-20_000:].splitlines() if "error" in line.lower()]
    return f"{message}; it printed: {lines[-1]}" if lines and lines[-1] not in message else message


def _line(value: Any) -> str:
    """One printable line of at most 300 characters; '' where it is no text."""
    if not isinstance(value, str):
        return ""
    line = "".join(letter if letter.isprintable() else " " for letter in value[:4000])
    return " ".join(line.split())[:300]


def _number(value: Any, most: float) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and 0 <= number <= most else None


def _short(number: float | None) -> str:
    """0.001 as 1e-3."""
    return re.sub(r"e([+-])0*", lambda sign: "e-" if sign[1] == "-" else "e", f"{number:.0e}") if number else "0"
