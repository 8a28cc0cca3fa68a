"""Tests of Ctrl-C mean the same wherever they are started: in a terminal, or in the background of a shell, which ignores it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHILD = """
import signal, subprocess, sys

def test_a_child_can_be_interrupted():
    code = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "True\\n"
"""


@pytest.mark.starts_processes("a pytest of its own, which is started with Ctrl-C ignored")
def test_children_of_tests_can_be_interrupted_also_in_the_background(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text(Path(__file__).parents[1].joinpath("conftest.py").read_text("utf-8"))
    (tmp_path / "test_child.py").write_text(CHILD)
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", str(tmp_path)]
    done = subprocess.run(["sh", "-c", "trap '' INT; exec \"$@\"", "sh", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
