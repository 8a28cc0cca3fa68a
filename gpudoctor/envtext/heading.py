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


def heading(asker: Any) -> Any:
    """Its lines; of a recorded machine as far as it was recorded."""
    for line in (*_torch(asker.door), *_system(asker), *_devices(asker), *_processor(asker.door)):
        yield asker.clean.line(line)
    yield PACKAGES_FOLLOW
    listed = asker.door.python.get("distributions")
    if listed is None:
        yield f"[pip3] {NONE}"
    for name, entry in sorted((listed or {}).items()):
        for version in (entry if isinstance(entry, list) else [entry]) if DISTRIBUTIONS.match(name) else ():
            version = version.get("version") if isinstance(version, dict) else version
            yield f"[pip3] {asker.clean.line(name)}=={asker.clean.version(str(version))}"


def _said(door: Any, argv: Any, pattern: str = r"(?s)(.*)") -> str:
    """What a command says, or a file; '' where it says nothing."""
    found = re.search(pattern, door.read(argv).text if isinstance(argv, str) else door.run(argv, timeout=3.0).stdout)
    return found[1].strip() if found else ""


def _framework(door: Any) -> Any:
    torch = (door.python.get("frameworks") or {}).get("torch")
    return torch if isinstance(torch, dict) else {}


def _torch(door: Any) -> Any:
    torch = _framework(door)
    version = torch.get("version") or (door.python.get("distributions") or {}).get("torch")
    config = torch.get("config") or {}
    yield f"PyTorch version: {version or 'N/A'}"
    for label, key, none in (
        ("Is debug build", "debug", NONE),
        ("CUDA used to build PyTorch", "cuda", None),
        ("ROCM used to build PyTorch", "hip", "N/A"),
    ):
        yield f"{label}: {(none if config.get(key) is None else config[key]) if version else 'N/A'}"


def _system(asker: Any) -> Any:
    door, live = asker.door, getattr(asker.door, "live", True)
    name = _said(door, "/etc/os-release", r'PRETTY_NAME="?([^"\n]+)') or (platform.platform() if live else NONE)
    yield ""
    yield f"OS: {name}" + (f" ({platform.machine()})" if live else "")
    for label, pattern in ("GCC", "(gcc .*)"), ("Clang", "clang version (.*)"), ("CMake", "cmake version (.*)"):
        yield f"{label} version: {_said(door, (label.lower(), '--version'), pattern) or NONE}"
    yield f"Libc version: {'-'.join(platform.libc_ver()) if live else 'N/A'}"
    yield ""
    yield f"Python version: {door.python.get('version') or NONE}" + (f" ({sys.maxsize.bit_length() + 1}-bit runtime)" if live else "")
    yield f"Python platform: {platform.platform() if live else _said(door, '/proc/sys/kernel/osrelease') or NONE}"


def _devices(asker: Any) -> Any:
    door = asker.door
    torch, installed = _framework(door), door.python.get("distributions") or {}
    ids = [str(each.get("id")) for each in torch.get("devices") or () if isinstance(each, dict)]
    known = isinstance(torch.get("devices"), list)
    available = {kind: str(any(each.startswith(kind) for each in ids)) if known else NONE for kind in ("cuda", "xpu")}
    query = next(next(iter(question.commands)) for question in questions() if "--query-gpu" in question.where)
    rows = [row.split(", ") for row in door.run(query, timeout=8.0).stdout.splitlines() if row.count(", ") > 5]
    names = [f"GPU {row[0]}: {row[1]}" for row in rows]
    for path in () if names else [f"{DEVICES}/{address}" for address in asker.places("gpu")]:
        kind, vendor, device = (_said(door, f"{path}/{name}")[2:] for name in ("class", "vendor", "device"))
        driver = (door.readlink(f"{path}/driver") or "none").rpartition("/")[2]
        names += [f"PCI {vendor}:{device}, driver {driver}"] if vendor and kind[:2] != "06" else []
    cudnn = next((installed[name] for name in installed if name.startswith("nvidia-cudnn-cu")), NONE)
    yield f"Is CUDA available: {available['cuda']}"
    yield f"CUDA runtime version: {_said(door, ('nvcc', '--version'), r'release ([0-9.]+)') or NONE}"
    yield f"CUDA_MODULE_LOADING set to: {door.env('CUDA_MODULE_LOADING') or 'N/A'}"
    yield "GPU models and configuration: " + ("" if len(names) > 1 else "".join(names) or NONE)
    yield from names if len(names) > 1 else ()
    yield f"Nvidia driver version: {rows[0][-3] if rows else _said(door, '/proc/driver/nvidia/version', r'Module +([0-9.]+)') or NONE}"
    yield f"cuDNN version: {cudnn}"
    yield f"Is XPU available: {available['xpu']}"
    yield f"HIP runtime version: {(torch.get('config') or {}).get('hip') or 'N/A'}"
    yield "MIOpen runtime version: N/A"
    yield f"Is XNNPACK available: {NONE}"
    yield ""


def _processor(door: Any) -> Any:
    yield "CPU:"
    yield f"Model name: {_said(door, '/proc/cpuinfo', 'model name.*: (.*)') or NONE}"
    yield f"Memory: {_said(door, '/proc/meminfo', r'MemTotal: +([0-9]+ kB)') or NONE}"
    yield ""
