"""A Python index on 127.0.0.1 with the real CPU wheel of torch and all it needs, as PyTorch's own index has them.

The wheels are fetched once and kept outside the clone: by pip's own sources, or where those have none, from PyTorch's index.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

from environments import cache

TORCH = "torch==2.13.0+cpu"
PYTHON = "3.11"
"""That of Debian 12, for which the wheels must be."""


def wheels() -> Path:
    """Folder of the wheels; complete where the file `.complete` is there."""
    folder = cache() / f"torch-index-{hashlib.sha256((TORCH + PYTHON).encode()).hexdigest()[:12]}"
    if (folder / ".complete").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    platforms = [word for tag in ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "linux_x86_64") for word in ("--platform", tag)]
    argv = [
        sys.executable, "-m", "pip", "download", "-q", "--dest", str(folder), "--only-binary=:all:", "--python-version", PYTHON, *platforms,
        TORCH, "numpy",
    ]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        done = subprocess.run([*argv, "--extra-index-url", "https://download.pytorch.org/whl/cpu"], capture_output=True, text=True)
    assert done.returncode == 0, f"the CPU wheel of torch cannot be had: {done.stderr[-2000:]}"
    (folder / ".complete").touch()
    return folder


def write_index(folder: Path) -> None:
    """whl/cpu/PROJECT/index.html below `folder`, for a server."""
    projects: dict[str, list[Path]] = {}
    for wheel in sorted(wheels().glob("*.whl")):
        projects.setdefault(re.sub(r"[-_.]+", "-", wheel.name.split("-")[0]).lower(), []).append(wheel)
    for project, found in projects.items():
        page = folder / "whl" / "cpu" / project
        page.mkdir(parents=True)
        links = []
        for wheel in found:
            (page / wheel.name).symlink_to(wheel)
            with open(wheel, "rb") as stream:
                digest = hashlib.sha256(stream.read()).hexdigest()
            links.append(f'<a href="{wheel.name.replace("+", "%2B")}#sha256={digest}">{wheel.name}</a>')
        (page / "index.html").write_text(f"<!DOCTYPE html><html><body>{'<br>'.join(links)}</body></html>")
