"""`gpudoctor report` on the command line: formats, files, refusals, what is kept on the machine."""

from __future__ import annotations

import json
import stat
import sys
import zipfile
from pathlib import Path

import pytest

from gpudoctor.cli import run

MACHINE = str(Path(__file__).parents[2] / "machines/rx7600-not-in-group")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's state, of this test alone."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "state/gpudoctor"


def test_markdown_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "--capture", MACHINE]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("**") and "<summary>Environment" in said.out
    assert said.err == "", "nothing but the report in a pipe"


@pytest.mark.parametrize(("name", "begins"), [("r.md", "**"), ("r.html", "<!doctype html>"), ("r.json", "{"), ("r.zip", "PK"), ("r", "**")])
def test_the_name_says_the_format(name: str, begins: str, tmp_path: Path) -> None:
    assert run(["report", "--capture", MACHINE, "-o", name]) == 0
    assert (tmp_path / name).read_bytes().decode("latin-1").lower().startswith(begins.lower())
    assert [path.name for path in tmp_path.iterdir() if path.name != "state"] == [name]


def test_a_terminal_gets_the_text_and_the_way_to_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["report", "--capture", MACHINE]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("gpudoctor ") and "PyTorch version: " in said.out and said.out.endswith("end of gpudoctor-env\n") and len(said.out.encode()) <= 8192
    assert "<details>" not in said.out, "Markdown is for a pipe"
    assert said.err.splitlines()[-1].endswith(f"gpudoctor report --capture {MACHINE} -o report.zip")
    assert [path.name for path in tmp_path.iterdir() if path.name != "state"] == [], "nobody asked for a file"


def test_a_terminal_gets_the_format_that_was_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert run(["report", "--capture", MACHINE, "--format", "markdown"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("**") and "report.zip" not in said.err


def test_the_archive_holds_everything_and_replays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "--capture", MACHINE, "-o", "r.zip"]) == 0
    with zipfile.ZipFile(tmp_path / "r.zip") as archive:
        names = archive.namelist()
        assert "gpudoctor check --capture r.zip" in archive.read("report.md").decode()
    assert {"report.md", "report.json", "report.html", "capture/machine.toml", "capture/commands.jsonl"} <= set(names)
    capsys.readouterr()
    assert run(["check", "--capture", "r.zip", "--format", "json"]) == 1
    replayed = json.loads(capsys.readouterr().out)
    assert run(["check", "--capture", MACHINE, "--format", "json"]) == 1
    original = json.loads(capsys.readouterr().out)
    assert replayed["findings"] == original["findings"]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--format", "zip"], "-o report.zip"),
        (["--format", "json", "-o", "r.zip"], "contradicts"),
        (["--capture", "/none"], "no such file"),
        (["--python", "/none/python"], "/none/python"),
        (["--stack", "torch-cud"], "torch-cuda"),
        (["--ignore", "nope"], "nope"),
        (["--capture", MACHINE, "-o", "/none/r.md"], "/none/r.md"),
        (["--show-redactions"], "terminal"),
    ],
)
def test_refusals_are_one_line(words: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", *words]) == 2
    said = capsys.readouterr()
    assert said.out == "" and len(said.err.splitlines()) == 1 and hint in said.err


@pytest.mark.starts_processes("reports on this machine, whose tools are asked")
def test_this_machine(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Twice: pseudonyms stay, the mapping is private, and shown on a terminal alone."""
    work = tmp_path / "looking-glass/venv"
    (work / "bin").mkdir(parents=True)
    (work / "bin/python").write_text("#!/bin/sh\nexit 1\n")
    (work / "bin/python").chmod(0o755)
    (work / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.7\n")
    monkeypatch.setenv("VIRTUAL_ENV", str(work))
    monkeypatch.setenv("USER", "mockturtle")
    monkeypatch.setenv("CUDA_CACHE_PATH", "/home/mockturtle/cache")
    monkeypatch.setenv("CUDA_API_KEY", "gryphon-gryphon")
    documents = []
    for name in ("one.json", "two.json"):
        assert run(["report", "-o", name, "--budget", "20"]) == 0
        text = (tmp_path / name).read_text()
        assert "mockturtle" not in text and "looking-glass" not in text and "gryphon" not in text
        documents.append(json.loads(text))
    assert documents[0]["facts"]["env"] == documents[1]["facts"]["env"]
    assert documents[0]["facts"]["env"]["CUDA_API_KEY"] == "<secret>"
    assert documents[0]["redactions"]["user"] >= 1 and documents[0]["redactions"]["folder"] >= 1
    kept = state / "pseudonyms.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert "mockturtle" in kept.read_text() and "gryphon" not in kept.read_text()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    capsys.readouterr()
    assert run(["report", "--show-redactions"]) == 0
    shown = capsys.readouterr().out
    user = documents[0]["facts"]["env"]["CUDA_CACHE_PATH"].split("/")[2]
    assert f"{user} " in shown and "mockturtle" in shown and "looking-glass" in shown


@pytest.mark.starts_processes("reports on this machine, whose tools are asked")
def test_raw_keeps_everything(tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_CACHE_PATH", "/home/mockturtle/cache")
    assert run(["report", "--raw", "-o", "raw.json", "--budget", "20"]) == 0
    document = json.loads((tmp_path / "raw.json").read_text())
    assert document["facts"]["env"]["CUDA_CACHE_PATH"] == "/home/mockturtle/cache" and document["redactions"] == {}
    assert not (state / "pseudonyms.json").exists()


@pytest.mark.starts_processes("reports on this machine, whose tools are asked")
def test_a_state_folder_that_cannot_be_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert run(["report", "-o", "r.json", "--budget", "20"]) == 0
    assert "could not be kept" in capsys.readouterr().err
    assert (tmp_path / "r.json").exists()
