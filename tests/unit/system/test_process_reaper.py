"""What outlived the process that started it: found by its marker or as our child, and nothing else with it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from gpudoctor.system import process_reaper

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux alone"),
    pytest.mark.starts_processes("children that outlive their parents are what is looked for"),
]


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, process_reaper.MARKER: "424242.7"}
    with subprocess.Popen(["sleep", "60"], env=environment) as process:
        yield process
        process.kill()


def test_without_the_list_of_the_kernel_only_our_children_are_ours(child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    grandchild = subprocess.Popen(["sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE, text=True)
    assert grandchild.stdout is not None
    not_ours = int(grandchild.stdout.readline())
    real = os.listdir

    def without_tasks(path: str) -> list[str]:
        if str(path).startswith("/proc/self/task"):
            raise FileNotFoundError(path)
        return real(path)

    monkeypatch.setattr(os, "listdir", without_tasks)
    try:
        adopted = process_reaper._adopted()
        assert {child.pid, grandchild.pid} <= set(adopted) and not_ours not in adopted and os.getppid() not in adopted
    finally:
        os.kill(not_ours, 9)
        grandchild.wait()
        grandchild.stdout.close()


def test_a_marker_is_compared_as_a_whole(child: subprocess.Popen[bytes]) -> None:
    assert not process_reaper.kill_marked("424242.70", everywhere=True) and not process_reaper.kill_marked("424242", everywhere=True)
    process_reaper.kill_started_by(42424)
    assert child.poll() is None
    process_reaper.kill_started_by(424242)
    assert child.wait(5) in (-9, 0)  # 0: its status was taken already
    assert process_reaper.born(child.pid) is None


def test_a_start_time_does_not_move_with_the_clock(child: subprocess.Popen[bytes]) -> None:
    """Ticks since the machine began, as the kernel says them; two looks give the same."""
    said = int(open(f"/proc/{child.pid}/stat").read().rpartition(")")[2].split()[19])
    assert process_reaper.born(child.pid) == process_reaper.born(child.pid) == said
