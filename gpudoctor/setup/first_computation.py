"""The first computation after a setup: on the device, in a child of the target interpreter, compared with the processor.

A crash, a hang and a wrong result are results too, with the stage that was reached. Nothing is left in the person's home folder.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from gpudoctor.facts.probes.frameworks import payload
from gpudoctor.system.framework_child import Caches, ending, one_line, table_of, variables_of, with_output
from gpudoctor.system.host import Host, Ran
from gpudoctor.system.local_host import LocalHost

LIMIT = 120.0
"""The most seconds that it may take. Drivers that compile their kernels at first use need most of a minute."""
_OUTPUT = 1_000_000
_LOOSEST = 1e-2
"""The largest tolerance (a relative error) that is accepted from the child: with a larger one anything would count as equal."""
STAGES = ("import", "device", "allocate", "compute", "compare")
_OCL_DEVICE = re.compile(r"^Accessing device #\d+:(.{1,200})$", re.MULTILINE)
"""The line with which pytorch_ocl names its device, which it does nowhere else."""


class Computed(Struct, frozen=True):
    """How the computation ended. `ok`: it ran, and its result equals that of the processor. `no_device`: nothing here can compute, and
    `error` says what is missing.

    `stage` is the last one that was reached (STAGES; '' before the first). `max_relative_error` is the largest difference divided by the
    largest right value of its tensor; None where there is no finite one.
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
        """The result in one line."""
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
    """Computes with a framework: 'torch-xpu', or with a device 'openvino:GPU', 'onnxruntime:CUDAExecutionProvider', 'jax:cpu'.

    `python`: the interpreter of the target environment; OpenCL needs none. `variables`: those that the plan sets. `limit`: seconds.
    """
    name, _, device = framework.partition(":")
    host = host or LocalHost(budget=limit + 5)
    interpreter = sys.executable if name == "opencl" or not python else python
    argv = [interpreter, "-X", "utf8", payload("first_computation.py"), name, *([device] if device else [])]
    with Caches("gpudoctor-first-") as caches:
        temporary = os.path.join(caches.path, "tmp")
        os.mkdir(temporary)
        return parse(host.run_child(argv, timeout=limit, limit=_OUTPUT, env=variables_of(host, temporary, caches, variables)), name)


def parse(ran: Ran, framework: str) -> Computed:
    """The result, from the lines that the child printed for each stage and from how it ended. Every value is checked."""
    said = _ChildLines()
    for line in ran.stdout.splitlines():
        if (part := table_of(line)) is not None:
            said.on_stage(part)
    if framework == "torch-opencl" and (found := _OCL_DEVICE.search(ran.stdout + "\n" + ran.stderr)):
        said.name = one_line(found[1])
    no_device, error = False, ""
    if said.absent:
        no_device, error = True, said.absent
    elif said.failed:
        error = _at(said.stage, with_output(said.failed, ran.stderr))
    elif not said.done:
        error = _unfinished(ran, said.stage)
    elif said.device == "" or said.tolerance is None:
        error = "the program ended without saying what it computed"
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
    """The values that the child has printed so far; those of a wrong type are ignored."""

    def __init__(self) -> None:
        self.stage = self.device = self.name = self.absent = self.failed = self.worst = ""
        self.error: float | None = None
        self.tolerance: float | None = None
        self.done = False

    def on_stage(self, part: Mapping[str, Any]) -> None:
        stage = part.get("stage")
        if stage == "done":
            self.done = True
        elif stage == "failed":
            self.failed = one_line(part.get("error")) or "an error without a message"
        elif stage in STAGES:
            self.stage = str(stage)
            if stage == "device":
                self._on_device(part)
            elif stage == "compare" and "ok" in part:
                self.worst = one_line(part.get("worst"))[:80]
                self.error, self.tolerance = _number(part.get("max_relative_error"), math.inf), _number(part.get("tolerance"), _LOOSEST)

    def _on_device(self, part: Mapping[str, Any]) -> None:
        if part.get("ok") is False:
            self.absent = one_line(part.get("reason")) or "no device here"
        elif part.get("ok") is True or "trying" in part:
            self.device, self.name = one_line(part.get("device") or part.get("trying"))[:80], one_line(part.get("name"))[:120]


def _unfinished(ran: Ran, stage: str) -> str:
    if ran.missing:
        return f"the interpreter {ran.argv[0]} is missing"
    if ran.not_recorded:
        return "not tried"
    if ran.timed_out and ran.seconds < 0.05:
        return "out of time before it could begin"
    return _at(stage, ending(ran))


def _at(stage: str, what: str) -> str:
    return f"{stage}: {what}" if stage else f"start: {what}"


def _number(value: Any, most: float) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and 0 <= number <= most else None


def _short(number: float | None) -> str:
    """A number in few letters: '1e-3' for 0.001."""
    return re.sub(r"e([+-])0*", lambda sign: "e-" if sign[1] == "-" else "e", f"{number:.0e}") if number else "0"
