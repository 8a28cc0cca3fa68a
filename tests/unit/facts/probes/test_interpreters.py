"""Pythons and tools by the names of their files."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.capture.recorded_host import open_recorded
from gpudoctor.facts.probes.interpreters import PROBE
from gpudoctor.model.facts import Absent, Fact, Facts, Known, Unknown


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    (tmp_path / "machine.toml").write_text('format = 1\nplatform = "linux"\n')
    (tmp_path / "env.toml").write_text('HOME = "/home/u"\nPATH = "/usr/bin:/bin"\n')
    return tmp_path


def put(machine: Path, *paths: str) -> None:
    for path in paths:
        (machine / "files" / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        (machine / "files" / path.lstrip("/")).write_text("")


def facts_of(machine: Path) -> dict[str, Fact]:
    return dict(PROBE.collect(open_recorded(str(machine)), Facts()))


def test_where_pythons_lie(recorded: Path) -> None:
    put(
        recorded, "/usr/bin/python3.12", "/usr/bin/python3.12-config", "/usr/lib/python3.12/os.py", "/usr/bin/sudo",
        "/home/u/.local/bin/uv",
        "/home/u/.pyenv/versions/3.8.18/bin/python3.8", "/home/u/.pyenv/versions/3.8.18/lib/python3.8/ensurepip/__init__.py",
        "/home/u/.local/share/uv/python/cpython-3.10.15-linux-x86_64-gnu/bin/python3.10",
    )  # fmt: skip
    (recorded / "links.toml").write_text('"/usr/bin/python3" = "python3.12"\n')
    found = facts_of(recorded)
    pythons = found["python.interpreters"]
    assert isinstance(pythons, Known)
    assert [(one["path"], one["minor"], one["venv"]) for one in pythons.value][:2] == [
        ("/usr/bin/python3.12", "3.12", False),
        ("/home/u/.pyenv/versions/3.8.18/bin/python3.8", "3.8", True),
    ]
    assert pythons.value[2]["minor"] == "3.10"
    assert found["python.venv_module"] == Known(False, "/usr/bin/python3.12")
    assert found["tools.uv"] == Known("/home/u/.local/bin/uv", "PATH")
    assert found["tools.sudo"] == Known("/usr/bin/sudo", "PATH")
    assert isinstance(found["tools.conda"], (Absent, Unknown))


def test_a_recording_without_them_is_no_machine_without_them(recorded: Path) -> None:
    assert {type(fact) for fact in facts_of(recorded).values()} == {Unknown}
