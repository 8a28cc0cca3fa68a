"""The first part of the text: the fields of PyTorch's collect_env, by their names and in their order, so that what reads those reads this."""

from __future__ import annotations

import platform
import re
import sys
from typing import Any

from gpudoctor.envtext.asking import DEVICES, questions
from gpudoctor.envtext.derived import DISTRIBUTIONS

NONE = "Could not collect"
PACKAGES_FOLLOW = "Versions of relevant libraries:"


HEADING = """\
PyTorch version: {torch}
Is debug build: {debug}
CUDA used to build PyTorch: {with_cuda}
ROCM used to build PyTorch: {with_rocm}

OS: {os}
GCC version: {gcc}
Clang version: {clang}
CMake version: {cmake}
Libc version: {libc}

Python version: {python}
Python platform: {platform}
Is CUDA available: {cuda}
CUDA runtime version: {runtime}
CUDA_MODULE_LOADING set to: {loading}
GPU models and configuration: {gpus}
Nvidia driver version: {driver}
cuDNN version: {cudnn}
Is XPU available: {xpu}
HIP runtime version: {hip}
MIOpen runtime version: N/A
Is XNNPACK available: Could not collect

CPU:
Model name: {processor}
Memory: {memory}
"""


def heading(asker: Any) -> Any:
    """Its lines; of a recorded machine as far as it was recorded."""
    values = {**_of_torch(asker.door), **_of_system(asker.door), **_of_devices(asker)}
    for line in HEADING.format(**{name: value or NONE for name, value in values.items()}).split("\n"):
        yield asker.clean.line(line)
    yield PACKAGES_FOLLOW
    listed = asker.door.python.get("distributions")
    if listed is None:
        yield f"[pip3] {NONE}"
    for name, entry in sorted((listed or {}).items()):
        for version in (entry if isinstance(entry, list) else [entry]) if DISTRIBUTIONS.match(name) else ():
            version = version.get("version") if isinstance(version, dict) else version
            yield f"[pip3] {asker.clean.line(name)}=={asker.clean.version(str(version))}"


def _said(door: Any, argv: Any, pattern: str) -> str:
    """What a command says, or a file; '' where it says nothing."""
    found = re.search(pattern, door.read(argv).text if isinstance(argv, str) else door.run(argv, timeout=3.0).stdout)
    return found[1].strip() if found else ""


def _of_torch(door: Any) -> Any:
    torch: Any = (door.python.get("frameworks") or {}).get("torch")
    installed = door.python.get("distributions") or {}
    torch = torch if isinstance(torch, dict) else {}
    devices: Any = torch.get("devices")
    version, config = torch.get("version") or installed.get("torch"), torch.get("config") or {}
    values = {"torch": version or "N/A", "hip": config.get("hip") or "N/A"}
    for name, key, none in ("debug", "debug", NONE), ("with_cuda", "cuda", "None"), ("with_rocm", "hip", "N/A"):
        values[name] = str(none if config.get(key) is None else config[key]) if version else "N/A"
    for name in ("cuda", "xpu") if isinstance(devices, list) else ():
        values[name] = str(any(str(each.get("id")).startswith(name) for each in devices if isinstance(each, dict)))
    values["cudnn"] = next((installed[name] for name in installed if name.startswith("nvidia-cudnn-cu")), NONE)
    return {"cuda": NONE, "xpu": NONE, **values}


def _of_system(door: Any) -> Any:
    values = {
        "os": _said(door, "/etc/os-release", r'PRETTY_NAME="?([^"\n]+)'), "gcc": _said(door, ("gcc", "--version"), "(gcc .*)"),
        "clang": _said(door, ("clang", "--version"), "clang version (.*)"),
        "cmake": _said(door, ("cmake", "--version"), "cmake version (.*)"),
        "libc": "N/A", "python": door.python.get("version"), "platform": _said(door, "/proc/sys/kernel/osrelease", "(.*)"),
        "processor": _said(door, "/proc/cpuinfo", "model name.*: (.*)"), "memory": _said(door, "/proc/meminfo", r"MemTotal: +([0-9]+ kB)"),
    }  # fmt: skip
    if getattr(door, "live", True):
        here = platform.platform()
        values.update(os=f"{values['os'] or here} ({platform.machine()})", libc="-".join(platform.libc_ver()), platform=here)
        values["python"] = f"{values['python'] or NONE} ({sys.maxsize.bit_length() + 1}-bit runtime)"
    return values


def _of_devices(asker: Any) -> Any:
    door = asker.door
    query = next(next(iter(question.commands)) for question in questions() if "--query-gpu" in question.where)
    rows = [row.split(", ") for row in door.run(query, timeout=8.0).stdout.splitlines() if row.count(", ") > 5]
    names = [f"GPU {row[0]}: {row[1]}" for row in rows]
    for path in () if names else [f"{DEVICES}/{address}" for address in asker.places("gpu")]:
        kind, vendor, device = (_said(door, f"{path}/{name}", "0x(.*)") for name in ("class", "vendor", "device"))
        driver = (door.readlink(f"{path}/driver") or "none").rpartition("/")[2]
        names += [f"PCI {vendor}:{device}, driver {driver}"] if vendor and kind[:2] != "06" else []
    return {
        "runtime": _said(door, ("nvcc", "--version"), r"release ([0-9.]+)"), "loading": door.env("CUDA_MODULE_LOADING") or "N/A",
        "gpus": "\n".join(["", *names] if len(names) > 1 else names),
        "driver": rows[0][-3] if rows else _said(door, "/proc/driver/nvidia/version", r"Module +([0-9.]+)"),
    }  # fmt: skip
