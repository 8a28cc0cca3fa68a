"""An environment that is another one with a fault in its framework: the same packages, changed when they are imported."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

PUT_IN = Path(__file__).with_name("put_in")
NAMES = {"torch": "torch-cpu", "onnxruntime": "onnxruntime", "openvino": "openvino", "jax": "jax-cpu", "opencl": "bare"}
"""Of environments.py."""


def faulty(environment: Path, folder: Path, framework: str, fault: str) -> Path:
    """The interpreter of an environment in `folder` that is `environment` with this fault; '' is none."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    packages = folder / "lib" / version / "site-packages"
    packages.mkdir(parents=True)
    (folder / "bin").mkdir()
    python = folder / "bin" / "python"
    python.symlink_to((environment / "bin" / "python").resolve())
    (folder / "pyvenv.cfg").write_text((environment / "pyvenv.cfg").read_text())
    for entry in (environment / "lib" / version / "site-packages").iterdir():
        if entry.name.endswith(".dist-info"):  # what is installed is read from folders, not through links
            shutil.copytree(entry, packages / entry.name)
        else:
            (packages / entry.name).symlink_to(entry)
    lines = [str(PUT_IN), f"import fault_hook; fault_hook.arm({framework!r}, {fault!r})"]
    (packages / "fault.pth").write_text("\n".join(lines) + "\n")
    return python
