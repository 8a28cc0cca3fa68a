"""gpudoctor.pyz of what is committed, for tests that run it or make packages of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from environments import build

ROOT = Path(__file__).resolve().parents[2]
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"


def clone(folder: Path) -> Path:
    subprocess.run(["git", "clone", "-q", "--no-local", str(ROOT), str(folder)], check=True)
    return folder


def packed(checkout: Path, output: Path, python: str = PYTHON) -> Path:
    """For one Python alone, since each brings compiled parts of its own to be fetched."""
    words = [build("pex") / "bin" / "python", checkout / "packaging" / "pyz" / "build.py", "--python", python, "-o", output]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return output
