"""gpudoctor validate as a person starts it, and the workers that it has at the moment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def validate(
    python: Path, own: Path, *words: str, timeout: float = 300.0
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any], float]:
    """`own`: the folder of its temporary files, by which its workers are told from those of others."""
    began = time.monotonic()
    argv = [sys.executable, "-m", "gpudoctor", "validate", "--python", str(python), "--format", "json", *words]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=timeout, env={**os.environ, "TMPDIR": str(own)})
    took = time.monotonic() - began
    return ran, json.loads(ran.stdout) if ran.stdout else {}, took


def workers(own: Path) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and b"/workloads/worker.py" in (entry / "cmdline").read_bytes():
                if str(own).encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
        except OSError:
            continue
    return found
