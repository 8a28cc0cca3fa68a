"""A worker that the kernel really kills for memory, in a control group of its own: one answer with its reason, and nothing left."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudoctor.benchmark.workers import ask
from gpudoctor.system.framework_child import Caches
from gpudoctor.system.local_host import LocalHost

EATER = """
import json, os, sys, tempfile, time
json.loads(sys.stdin.read())
print('@gpudoctor ' + json.dumps({"stage": "first"}), flush=True)
open(os.path.join(tempfile.gettempdir(), "left"), "w").write("x" * 100000)
time.sleep(1)
kept = []
while True:
    kept.append(b"x" * (8 << 20))
"""
LIMIT = 200 << 20


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group with a small limit; only root can make one."""
    for root, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        folder = Path(root) / f"gpudoctor-{uuid.uuid4().hex[:8]}"
        try:
            folder.mkdir()
            (folder / limit).write_text(str(LIMIT))
        except OSError:
            if folder.exists():
                folder.rmdir()
            continue
        yield folder
        folder.rmdir()
        return
    pytest.skip("no control group can be made here: needs root and the memory controller")


@pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux's")
def test_the_kernel_kills_the_worker_and_the_doctor_lives(group: Path, tmp_path: Path) -> None:
    script = tmp_path / "eater.py"
    script.write_text(EATER)

    def confine(pid: int) -> None:
        (group / "cgroup.procs").write_text(str(pid))

    with Caches() as caches:
        answer = ask(LocalHost(), sys.executable, {}, limit=60, worker=str(script), on_start=confine, caches=caches)
        left = [name for _, _, files in os.walk(caches.path) for name in files]
    assert answer.status == "failed" and answer.out_of_memory and answer.stage == "first"
    assert answer.reason == "first: killed by the kernel: main memory was full", answer
    assert left == ["in-use"] and not os.path.exists(caches.path)  # the lock of the folder itself
