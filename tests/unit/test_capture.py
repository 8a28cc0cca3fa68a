"""`gpudoctor capture`: what `check --capture` says elsewhere is what `check` says here."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.capture.open_host import open_host
from gpudoctor.cli import run
from gpudoctor.facts.collect import gather

MOVING = ("disk.free_bytes", "memory.available_bytes")
"""Facts that change between two looks."""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A target environment and a tool that answers."""
    site = tmp_path / "env/lib/python3.11/site-packages"
    (site / "torch-2.8.0+xpu.dist-info").mkdir(parents=True)
    (site / "torch-2.8.0+xpu.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.8.0+xpu\n")
    (site / "torch-2.8.0+xpu.dist-info/INSTALLER").write_text("pip\n")
    (site / "torch").mkdir()
    (site / "torch/version.py").write_text("__version__ = '2.8.0+xpu'\ncuda = None\nhip = None\nxpu = '20250101'\n")
    (tmp_path / "env/pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.7\n")
    (tmp_path / "env/bin").mkdir()
    python = tmp_path / "env/bin/python"
    python.write_text("#!/bin/sh\nexit 1\n")
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "sycl-ls").write_text("#!/bin/sh\necho '[opencl:cpu][opencl:0] Intel(R) OpenCL, Some CPU OpenCL 3.0'\n")
    for path in (python, tools / "sycl-ls"):
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "env"))
    monkeypatch.setenv("PRIVATE_NOTE", "wonderland")
    return tmp_path


def facts_of(capture: str | None) -> dict[str, Any]:
    gathered = gather(open_host(capture, 30.0))
    return {name: fact for name, fact in gathered.facts.items() if name not in MOVING}


@pytest.mark.starts_processes("captures this machine, whose tools are asked")
@pytest.mark.parametrize("name", ["m.tar.gz", "m.zip", "m/"])
def test_replays_to_the_same_facts(machine: Path, name: str) -> None:
    target = f"{machine}/{name}"
    assert run(["capture", "-o", target, "--raw", "-q"]) == 0
    here, there = facts_of(None), facts_of(target)
    assert {name: (fact, there.get(name)) for name, fact in here.items() if there.get(name) != fact} == {}
    assert there.keys() == here.keys()


@pytest.mark.starts_processes("captures this machine, whose tools are asked")
def test_redacted_by_default(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = machine / "m.tar.gz"
    assert run(["capture", "-o", str(target)]) == 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    streams = capsys.readouterr()
    assert streams.out == "" and "replaced" in streams.err
    host = open_host(str(target))
    assert host.env("PRIVATE_NOTE") is None and host.complete


@pytest.mark.parametrize("where", ["/no/such/folder/m.tar.gz", "full"])
def test_unwritable_is_one_line(machine: Path, where: str, capsys: pytest.CaptureFixture[str]) -> None:
    (machine / "full").mkdir()
    (machine / "full/x").touch()
    assert run(["capture", "-o", where if where.startswith("/") else str(machine / where)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_needs_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["capture"]) == 2
