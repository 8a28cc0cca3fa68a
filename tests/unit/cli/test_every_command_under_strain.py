"""Each command on a plain terminal, into a pipe that nobody reads, and interrupted in its first tenth of a second."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pty = pytest.importorskip("pty", reason="terminals of Unix")

MACHINES = Path(__file__).parents[2] / "machines"
MACHINE = str(MACHINES / "rtx4090-ort-two-wheels")
COMMANDS = [
    ["check", "--capture", MACHINE, "-v"], ["explain", "CUDA error: no kernel image is available for execution on the device"],
    ["audit", "REQUIREMENTS", "--backend", "xpu"], ["setup", "cuda", "--plan", "--capture", MACHINE],
    ["report", "--capture", MACHINE], ["list", "checks"], ["list", "devices", "--capture", MACHINE], ["show", "torch-cuda"],
    ["diff", MACHINE, MACHINE], ["validate", "--python", "/nowhere"], ["completion", "bash"], ["--help"],
]  # fmt: skip
EVERY = pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]).split("/")[0])


def line_of(words: list[str], tmp_path: Path) -> list[str]:
    (tmp_path / "requirements.txt").write_text("torch==2.7.1+cu128\nxformers\n")
    return [str(tmp_path / "requirements.txt") if word == "REQUIREMENTS" else word for word in words]


@pytest.mark.starts_processes("gpudoctor itself, as a person starts it: with terminals, pipes and signals")
@EVERY
def test_a_dumb_terminal_gets_no_escape(words: list[str], tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gpudoctor", *line_of(words, tmp_path)], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
        env={**os.environ, "TERM": "dumb"},
    )  # fmt: skip
    os.close(theirs)
    said = b""
    try:
        while piece := os.read(ours, 65536):
            said += piece
    except OSError:  # how Linux says that the other end was closed
        pass
    finally:
        os.close(ours)
    assert process.wait(60) in (0, 1, 2)
    assert said and b"\x1b" not in said and b"Traceback" not in said


@pytest.mark.starts_processes("gpudoctor itself, as a person starts it: with terminals, pipes and signals")
@EVERY
def test_a_pipe_that_nobody_reads_is_no_bug(words: list[str], tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = subprocess.run(
            [sys.executable, "-m", "gpudoctor", *line_of(words, tmp_path)], stdin=subprocess.DEVNULL, stdout=pipe, stderr=subprocess.PIPE,
            text=True, timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode in (0, 1, 2)
    assert "Traceback" not in done.stderr and "Broken pipe" not in done.stderr and "bug" not in done.stderr


@pytest.mark.starts_processes("gpudoctor itself, as a person starts it: with terminals, pipes and signals")
@EVERY
def test_ctrl_c_in_the_first_tenth_of_a_second(words: list[str], tmp_path: Path) -> None:
    begun = f"""
import os, sys, gpudoctor.start as start
sys.argv, catch = {["gpudoctor", *line_of(words, tmp_path)]!r}, start._signal.signal
def caught(*given):
    start._signal.signal = catch
    catch(*given)
    os.write(2, b'x')
start._signal.signal = caught
start.main()
"""
    process = subprocess.Popen([sys.executable, "-c", begun], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    assert process.stderr is not None and process.stderr.read(1) == b"x"
    time.sleep(0.08)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=60)
    assert b"Traceback" not in complaint, complaint
    if process.returncode not in (0, 1, 2):  # a command that had ended already
        assert process.returncode == 130 and b"interrupted" in complaint
        assert time.monotonic() - began < 1.0


@pytest.mark.starts_processes("the end of an interpreter, which only a process of its own has")
def test_ctrl_c_while_the_interpreter_ends_leaves_the_exit_status_of_the_command() -> None:
    begun = """
import os, signal, sys, gpudoctor.start as start
class Last:
    kill, pid, number, write = os.kill, os.getpid(), signal.SIGINT, os.write
    def __del__(self):
        self.kill(self.pid, self.number)
        self.write(2, b"reached")
sys.argv, sys.kept_to_the_end = ["gpudoctor", "--version"], Last()
start.main()
"""
    ended = subprocess.run([sys.executable, "-c", begun], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "reached"), ended
