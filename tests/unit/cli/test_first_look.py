from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from machine_builder import Machine

from gpudoctor import cli
from gpudoctor.reporters.report.overview_text import commands, render
from gpudoctor.services.overview import OverviewRequest, look

MACHINES = sorted(path for path in (Path(__file__).parents[2] / "machines").iterdir() if path.is_dir())


@pytest.mark.parametrize("machine", MACHINES, ids=lambda path: path.name)
def test_every_machine_fits_one_screen_with_three_commands_that_exist(machine: Path) -> None:
    seen = look(OverviewRequest(capture=str(machine)))
    text = render(seen.report, seen.choice)
    lines = text.splitlines()
    assert len(lines) <= 23 and max(map(len, lines)) <= 80, text
    given = commands(seen.report, seen.choice)
    assert len({command for command, _ in given}) == 3
    for command, _ in given:
        assert command.split()[1] in cli.COMMANDS
        assert f"  {command}" in text


def first_of(machine: str) -> list[str]:
    seen = look(OverviewRequest(capture=str(MACHINES[0].parent / machine)))
    return [command for command, _ in commands(seen.report, seen.choice)]


def test_the_state_of_the_machine_chooses_the_commands(tmp_path: Path) -> None:
    assert first_of("arc-a750-old-kernel") == [
        "gpudoctor show intel-kernel-too-old", "gpudoctor check", "gpudoctor setup intel-driver --plan",
    ]  # fmt: skip
    assert "gpudoctor validate" in first_of("rtx4090-healthy")
    assert "gpudoctor capture -o machine.tar.gz" in first_of("vm-virtio-only")
    assert first_of("wsl2-b580")[0] == "gpudoctor check"
    bare = Machine("bare").linux("ubuntu 22.04", "6.8.0-51-generic").nvidia().environment_of({}).expect().write(tmp_path)
    seen = look(OverviewRequest(capture=str(bare)))
    assert commands(seen.report, seen.choice)[0][0] == "gpudoctor setup cuda --plan"
    assert "PyTorch on NVIDIA GPUs would serve it" in " ".join(render(seen.report, seen.choice).split())


def on_a_terminal(*words: str) -> tuple[str, int]:
    """Output and status of `gpudoctor WORDS` with a terminal for its output and nothing to read."""
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
    argv = [sys.executable, "-m", "gpudoctor", *words]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=child, stderr=child, env=environment) as ran:
        os.close(child)
        said = b""
        while True:
            try:
                chunk = os.read(parent, 65536)
            except OSError:  # Linux says so where the other side is closed
                break
            if not chunk:
                break
            said += chunk
    os.close(parent)
    return said.decode().replace("\r\n", "\n"), ran.returncode


@pytest.mark.starts_processes("gpudoctor itself, as a person starts it: with terminals, pipes and signals")
def test_alone_on_a_terminal_it_looks_and_asks_nothing() -> None:
    said, status = on_a_terminal()
    plain = re.sub(r"\x1b\[[0-9;]*m", "", said)
    assert status == 0
    assert "Next steps:" in plain and plain.count("\n  gpudoctor ") == 3
    assert len(plain.splitlines()) <= 23
    recorded, status = on_a_terminal("--first-look", str(MACHINES[0].parent / "arc-a750-old-kernel"))
    assert status == 0 and "intel-kernel-too-old" in recorded


@pytest.mark.starts_processes("gpudoctor itself, as a person starts it: with terminals, pipes and signals")
def test_alone_in_a_pipe_it_is_the_help_and_says_nothing_of_the_hidden_option() -> None:
    done = subprocess.run([sys.executable, "-m", "gpudoctor"], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: gpudoctor") and "first-look" not in done.stdout


def test_a_bad_recording_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--first-look", "/nowhere"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
