"""What the last `validate` measured, kept for a later `check` or `report`: one private file for each environment and device.

A file holds what the measurements depended on (versions of framework and drivers, kernel, device). Where one of these has changed since,
they are stale: they are shown, but are no facts of this machine. Errors of the disk are never raised, since a check works without this.
GPUDOCTOR_HISTORY=0 switches it off.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from gpudoctor.model.facts import Facts, Unknown
from gpudoctor.system import json_text
from gpudoctor.system.state_folder import state_folder, state_path, switched_off, write_private

if TYPE_CHECKING:  # at run time they are imported by the functions that need them: most machines were never measured
    from pathlib import Path

    from gpudoctor.model.measurement import Measurement

FOLDER = "measurements"
LARGEST = 8_000_000
"""The bytes of the largest file that is read: a run takes far less."""
DISTRIBUTIONS = {
    "torch": ("torch",), "ipex": ("torch", "intel-extension-for-pytorch"), "torch-directml": ("torch", "torch-directml"),
    "torch-opencl": ("torch", "pytorch-ocl", "pytorch_ocl"), "poptorch": ("torch", "poptorch"), "popart": ("popart",),
    "openvino": ("openvino",), "onnxruntime": ("onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino", "onnxruntime-directml"),
    "tensorflow": ("tensorflow", "tensorflow-cpu", "tensorflow-directml", "tensorflow-directml-plugin", "intel-extension-for-tensorflow"),
    "jax": ("jax", "jaxlib"), "opencl": (), "wgpu": ("wgpu",), "llama-cpp": ("llama-cpp-python", "llama_cpp_python"), "llama-bench": (),
}  # fmt: skip
"""By the short name of a framework: the distributions on whose versions its measurements depend."""
DRIVERS = (
    ("kernel", "kernel.release"), ("NVIDIA driver", "nvidia.kernel_module.version"), ("amdgpu driver", "amd.driver.version"),
    ("compute runtime", "intel.compute_runtime.version"), ("Level Zero driver", "intel.level_zero.version"), ("ROCm", "rocm.version"),
    ("Windows build", "windows.build"), ("processor", "cpu.model"), ("Python", "python.version"),
)  # fmt: skip
"""What else measurements depend on: (name for a person, fact). All are read from files, so that `check --quick` knows them too."""


class LastRun(Struct, frozen=True, kw_only=True):
    """The measurements of one environment on one device."""

    environment: str
    """The interpreter (fact python.executable)."""
    framework: str
    """The framework by its short name: torch, ipex, openvino."""
    device: str
    """The device in the form of --device: xpu:0."""
    date: str
    """When it was measured (UTC): 2026-11-21T20:00:00Z."""
    measurements: tuple[Measurement, ...]
    stale: tuple[str, ...] = ()
    """What has changed since, 'torch 2.7.0 then, 2.8.0 now'; empty where the measurements still hold."""


def last_measurements(facts: Facts, folder: Path | None = None) -> tuple[LastRun, ...]:
    """The runs that were kept of the environment in `facts`, the newest first; () where there are none. `facts` must be of this machine."""
    environment = facts.value("python.executable")
    if not isinstance(environment, str) or (folder is None and switched_off()):
        return ()
    found = []
    try:
        kept = sorted(os.scandir(os.path.join(folder or state_path(), FOLDER)), key=lambda entry: entry.name)
    except OSError:
        return ()
    for entry in kept:
        try:
            if not entry.name.endswith(".json") or entry.is_symlink() or entry.stat().st_size > LARGEST:
                continue
            with open(entry.path, encoding="utf-8") as file:
                document = json_text.loads(file.read())
            if _is_of(document, environment, entry.name):
                found.append(_parsed(document, facts))
        except (OSError, ValueError, TypeError, OverflowError):
            continue
    return tuple(sorted(found, key=lambda run: run.date, reverse=True))


def keep(measurements: Sequence[Measurement], facts: Facts, folder: Path | None = None) -> str:
    """Keeps the measurements in place of earlier ones of the same environment, framework and device. Returns '', or why they could not be
    kept."""
    import json

    from gpudoctor.model.measurement import SKIPPED
    from gpudoctor.model.recorded_run import KEPT_FORMAT

    environment = facts.value("python.executable")
    if folder is None and switched_off():
        return ""
    if not isinstance(environment, str):
        return "the environment has no name"
    date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    done = [each for each in measurements if each.status != SKIPPED]
    for framework, device in dict.fromkeys((each.framework, each.device) for each in done):
        mine = [each for each in done if (each.framework, each.device) == (framework, device)]
        document = {
            "format": KEPT_FORMAT, "environment": environment, "framework": framework, "device": device, "date": date,
            "depends_on": dict(_depends_on(framework, mine, facts)), "measurements": [each.to_json() for each in mine],
        }  # fmt: skip
        path = (folder or state_folder()) / FOLDER / _name(environment, framework, device)
        try:
            write_private(path, json.dumps(document, allow_nan=False).encode())
        except (OSError, ValueError) as error:
            return f"{path} cannot be written ({getattr(error, 'strerror', None) or error})"
    return ""


def _name(environment: str, framework: str, device: str) -> str:
    """The file name for an environment, framework and device. It depends on the host name too, since machines may share a home folder."""
    import hashlib
    import platform

    words = "\0".join((platform.node(), environment, framework, device))
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:24] + ".json"


def _is_of(document: Any, environment: str, file_name: str) -> bool:
    """Whether a file holds measurements of this environment on this machine. It is asked first, so that no other file must be readable."""
    if not isinstance(document, Mapping) or document.get("environment") != environment:
        return False
    return file_name == _name(environment, str(document.get("framework")), str(document.get("device")))


def _parsed(document: Any, facts: Facts) -> LastRun:
    """The run in a file. Raises TypedJsonError, a ValueError, for a document that `keep` did not write."""
    from gpudoctor.model.recorded_run import KeptRun
    from gpudoctor.model.typed_json import read

    kept = read(KeptRun, document)
    measurements = tuple(kept["measurements"])
    now = dict(_depends_on(kept["framework"], measurements, facts))
    return LastRun(
        environment=kept["environment"], framework=kept["framework"], device=kept["device"], date=kept["date"], measurements=measurements,
        stale=tuple(_changed(kept["depends_on"], now)),
    )  # fmt: skip


def _changed(then: Mapping[str, str | None], now: Mapping[str, str | None]) -> Iterator[str]:
    """What was known both times and differs. None means that it was absent, a missing key that it was unknown."""
    for name, before in then.items():
        if name in now and now[name] != before:
            yield f"{name} {before or 'was not there'} then, {now[name] or 'not there'} now"


def _depends_on(framework: str, measurements: Sequence[Measurement], facts: Facts) -> Iterator[tuple[str, str | None]]:
    installed = facts.value("python.distributions")
    if isinstance(installed, Mapping):
        for name in DISTRIBUTIONS.get(framework, ()):
            yield name, _version(installed.get(name))
    for words, name in DRIVERS:
        fact = facts.get(name)
        if not isinstance(fact, Unknown):
            value = facts.value(name)
            yield words, None if value is None else str(value)
    addresses = {each.conditions.gpu_address for each in measurements if each.conditions is not None and each.conditions.gpu_address}
    for gpu in facts.value("gpus") or ():
        if isinstance(gpu, Mapping) and gpu.get("address") in addresses:
            yield f"card at {gpu['address']}", str(gpu.get("pci_id"))
            addresses.remove(gpu["address"])
    if facts.known("gpus"):
        for address in sorted(map(str, addresses)):
            yield f"card at {address}", None


def _version(entry: Any) -> str | None:
    """The version in a value of the fact python.distributions; all of them, with commas, where it is installed twice; None for nothing."""
    if isinstance(entry, list | tuple):
        return ", ".join(sorted(str(_version(each)) for each in entry))
    if isinstance(entry, Mapping):
        entry = entry.get("version")
    return entry if isinstance(entry, str) else None


def recorded_runs(document: Any) -> tuple[LastRun, ...]:
    """The runs in the file measurements.json of a recorded machine; runs of another form are left out."""
    rows = document.get("runs") if isinstance(document, Mapping) else None
    if not isinstance(rows, list) or not rows:
        return ()
    from gpudoctor.model.recorded_run import RecordedRun  # late: most machines were never measured
    from gpudoctor.model.typed_json import TypedJsonError, read

    found = []
    for row in rows:
        try:
            run = read(RecordedRun, row)
        except TypedJsonError:
            continue
        found.append(LastRun(environment="", framework="", device="", date=run["date"], measurements=tuple(run["measurements"])))
    return tuple(found)
