"""A child that runs a framework in the target environment: its variables, its caches, the lines that it prints, and how it ended."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Protocol

from gpudoctor.system import json_text
from gpudoctor.system.host import PAYLOAD_MARK, Ran

QUIET = {
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "TF_CPP_MIN_LOG_LEVEL": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
}
"""Variables of a child that apply where the person has not set them."""
SILENT = {"CI": "true", "KERAS_HOME": "/dev/null/none"}
"""Variables of a child that override those of the person. `import openvino` reports to a statistics server and leaves files in the home
folder, except on a build server; `import tensorflow` makes ~/.keras."""
SIGNALS = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM", 31: "SIGSYS"}
CACHES = (
    "XDG_CACHE_HOME", "POCL_CACHE_DIR", "CUDA_CACHE_PATH", "__GL_SHADER_DISK_CACHE_PATH", "NEO_CACHE_DIR", "cl_cache_dir", "SYCL_CACHE_DIR",
    "MESA_SHADER_CACHE_DIR", "MIOPEN_USER_DB_PATH", "MIOPEN_CUSTOM_CACHE_DIR", "AMD_COMGR_CACHE_DIR", "DLPRIM_CACHE_DIR",
    "POPTORCH_CACHE_DIR", "MPLCONFIGDIR", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "KERAS_HOME",
)  # fmt: skip
KEPT = ("DLPRIM_CACHE_DIR",)
"""Variables of CACHES whose folder stays where the person has put it: the kernels of one network take minutes to compile."""
_LONGEST = 300
"""The most characters of one line for a person."""


class VariableHost(Protocol):
    """What running a framework in a child needs of a host."""

    def env(self, name: str) -> str | None: ...


class Caches:
    """One folder for the caches of all children of a run, so that each finds what earlier ones compiled; it is removed at the end.

    Each cache has a folder of its own in it, which is made beforehand: without it some frameworks use the home folder.
    """

    def __init__(self, prefix: str = "gpudoctor-validate-") -> None:
        from gpudoctor.system.scratch_folder import ScratchFolder  # imported here, since most commands make no folder

        self._folder = ScratchFolder(prefix)
        self.path = self._folder.path
        self.variables = {name: os.path.join(self.path, name.lower()) for name in CACHES}
        for path in self.variables.values():
            os.makedirs(path, exist_ok=True)

    def __enter__(self) -> Caches:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.remove()


def variables_of(
    host: VariableHost, temporary: str, caches: Caches | None = None, variables: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The variables that are added to the environment of a child. `temporary`: its folder for temporary files; `variables`: the
    caller's."""
    quiet = {name: value for name, value in QUIET.items() if host.env(name) is None}
    moved = {name: path for name, path in caches.variables.items() if name not in KEPT or not host.env(name)} if caches is not None else {}
    return {
        **quiet, **(variables or {}), **SILENT, **moved,
        "TMPDIR": temporary, "TEMP": temporary, "TMP": temporary, "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip


def table_of(line: str) -> dict[str, Any] | None:
    """The table in a line that a payload prints; None for any other line. The types of its values are not checked."""
    if not line.startswith(PAYLOAD_MARK):
        return None
    try:
        part = json_text.loads(line[len(PAYLOAD_MARK) :])
    except ValueError:
        return None
    return part if isinstance(part, dict) else None


def signal_of(ran: Ran) -> int | None:
    """The number of the signal that ended a process, also by the exit status of a shell (128 + number); None where none did."""
    return ran.signal if ran.signal is not None else ran.rc - 128 if ran.rc is not None and 128 < ran.rc < 160 else None


def ending(ran: Ran) -> str:
    """A clause about how a child ended that did not report its end."""
    if ran.timed_out:
        return f"no end after {ran.seconds:.0f} s"
    if ran.truncated:
        return "it printed without end"
    signal = signal_of(ran)
    if signal is not None:
        return with_output(f"died of {SIGNALS.get(signal, f'signal {signal}')}", ran.stderr)
    return with_output("it ended without a result" if ran.rc == 0 else f"left with status {ran.rc}", ran.stderr)


def with_output(message: str, stderr: str) -> str:
    """The message, followed by the last line with an error that the framework printed and the message does not hold."""
    lines = [one_line(line) for line in stderr[-20_000:].splitlines() if "error" in line.lower()]
    return f"{message}; it printed: {lines[-1]}" if lines and lines[-1] not in message else message


def one_line(value: Any) -> str:
    """The value as one printable line of at most _LONGEST characters; '' where it is no text."""
    if not isinstance(value, str):
        return ""
    line = "".join(letter if letter.isprintable() else " " for letter in value[:4000])
    return " ".join(line.split())[:_LONGEST]
