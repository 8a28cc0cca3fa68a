"""gpudoctor report --attach and --to as a person calls them, against a server on this machine."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from tracker_server import GITHUB_ERRORS, TOKEN, TrackerServer

from gpudoctor import cli

MACHINE = str(Path(__file__).parents[2] / "machines" / "rtx4090-stub-libcuda")
Capture = pytest.CaptureFixture[str]
FINDING = "The loader finds a stub libcuda before"
FORM = """
name: Bug
title: "[Bug]"
body:
  - {type: textarea, id: bug, attributes: {label: Describe the bug}}
  - {type: input, id: gpu, attributes: {label: GPU}}
  - {type: dropdown, id: os, attributes: {label: System, options: [Linux]}}
"""


@pytest.fixture
def tracker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[TrackerServer]:
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "GH_HOST", "GITHUB_API_URL", "DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    with TrackerServer() as server:
        monkeypatch.setenv("GITHUB_SERVER_URL", server.url)
        yield server


def run(*words: str) -> int:
    return cli.run(["report", "--capture", MACHINE, *words])


def test_a_comment_is_shown_and_posted_once(tracker: TrackerServer, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    assert run("--attach", "owner/repo#5", "--yes") == 0
    said = capsys.readouterr()
    [comment] = tracker.comments
    assert FINDING in comment and comment in said.out and len(comment) < 65_536
    assert said.out.rstrip().endswith("#issuecomment-1") and "It does not compute, open" in said.err
    assert TOKEN not in said.out + said.err
    assert run("--attach", "owner/repo#5", "--yes") == 0
    assert "already" in capsys.readouterr().err and len(tracker.comments) == 1


def test_a_dry_run_shows_the_same_and_asks_nobody(tracker: TrackerServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--attach", "owner/repo#5", "--dry-run") == 0
    assert FINDING in capsys.readouterr().out and tracker.asked == []


def test_in_a_pipe_nothing_is_posted_unasked(tracker: TrackerServer, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    assert run("--attach", "owner/repo#5") == 2
    assert "add --yes" in capsys.readouterr().err and tracker.comments == []


@pytest.mark.starts_processes("gpudoctor itself, as a person starts it: with terminals, pipes and signals")
@pytest.mark.parametrize(("word", "posted"), [("y", 1), ("", 0)])
def test_on_a_terminal_it_asks(tracker: TrackerServer, word: str, posted: int, tmp_path: Path) -> None:
    master, slave = pty.openpty()
    variables = {**os.environ, "GITHUB_TOKEN": TOKEN, "TERM": "dumb", "PYTHONPATH": str(Path(cli.__file__).parents[2])}
    argv = [sys.executable, "-m", "gpudoctor", "report", "--capture", MACHINE, "--attach", "owner/repo#5", "-q"]
    running = subprocess.Popen(argv, stdin=slave, stderr=slave, stdout=subprocess.PIPE, env=variables, cwd=tmp_path)
    os.close(slave)
    shown = b""
    until = time.monotonic() + 60
    while b"[y/N]" not in shown and time.monotonic() < until:
        shown += os.read(master, 4096)
    os.write(master, word.encode() + b"\n")
    out, _ = running.communicate(timeout=60)
    os.close(master)
    assert FINDING.encode() in out and b"Post it, for everybody who can see that issue?" in shown
    assert running.returncode == 0 and len(tracker.comments) == posted


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--attach", "owner/repo"], "names no issue"), (["--attach", "owner/repo#5"], "there is no token for"),
        (["--attach", "owner/repo#5", "--to", "owner/repo"], "give one of them"),
        (["--dry-run"], "goes with --attach or --to"), (["--yes"], "goes with"),
        (["--attach", "owner/repo#5", "--raw"], "not sent to a tracker"),
        (["--attach", "owner/repo#5", "--format", "zip"], "takes Markdown"),
        (["--to", "owner/repo", "--offline"], "on the network"), (["--to", "owner/repo#5"], "takes the project"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_before_the_machine_is_looked_at(
    tracker: TrackerServer, words: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")  # no gh
    monkeypatch.setattr("gpudoctor.services.reporting.make", lambda *_: pytest.fail("it looked"))
    assert run(*words) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_refusals_and_lost_answers_have_their_status(
    tracker: TrackerServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GH_TOKEN", TOKEN)
    monkeypatch.setattr("gpudoctor.trackers.posting.PAUSES", (0.0, 0.0))
    tracker.error = (404, *GITHUB_ERRORS[404])
    assert run("--attach", "owner/repo#5", "--yes") == 2
    assert "not there, or the token may not see it" in capsys.readouterr().err
    tracker.error, tracker.trouble = None, "always-hang-up"
    assert run("--attach", "owner/repo#5", "--yes") == 4
    assert "is not known" in capsys.readouterr().err


@pytest.mark.starts_processes("the login is asked of gh itself, here a script of one line")
def test_the_login_of_gh_is_used_for_its_host_only(
    tracker: TrackerServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gh = tmp_path / "bin" / "gh"
    gh.parent.mkdir()
    gh.write_text(f'#!/bin/sh\n[ "$*" = "auth token --hostname {tracker.url[7:]}" ] && [ -z "$GH_ENTERPRISE_TOKEN" ] && echo {TOKEN}\n')
    gh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{gh.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("GH_ENTERPRISE_TOKEN", "of-another-host")
    assert run("--attach", f"{tracker.url}/owner/repo/issues/5", "--yes") == 0
    assert len(tracker.comments) == 1
    assert "of-another-host" not in str(tracker.asked)


def test_a_new_issue_without_a_screen_is_an_address_and_a_file(
    tracker: TrackerServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tracker.files = {".github/ISSUE_TEMPLATE/bug.yml": FORM.encode()}
    assert run("--to", "owner/repo") == 0
    said = capsys.readouterr()
    query = {key: values[0] for key, values in parse_qs(urlsplit(said.out.strip()).query).items()}
    assert said.out.startswith(f"{tracker.url}/owner/repo/issues/new?") and len(said.out) < 8_100
    assert query["template"] == "bug.yml" and query["gpu"] == "GeForce RTX 4090" and FINDING in query["bug"]
    assert query["title"].startswith("[Bug] ") and "Left to you: System." in said.err
    assert list(tmp_path.iterdir()) == []


def test_a_text_that_is_too_long_for_an_address_goes_into_a_file_of_its_own(
    tracker: TrackerServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gpudoctor-issue.md").write_text("mine")
    assert run("--to", "owner/repo") == 0
    said = capsys.readouterr()
    assert "gpudoctor-issue-2.md: paste it" in said.err and "body" not in said.out
    assert FINDING in (tmp_path / "gpudoctor-issue-2.md").read_text() and (tmp_path / "gpudoctor-issue.md").read_text() == "mine"


@pytest.mark.starts_processes("gpudoctor itself, as a person starts it: with terminals, pipes and signals")
def test_a_browser_gets_the_address_as_one_word(tracker: TrackerServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, browser = tmp_path / "seen", tmp_path / "firefox-like"
    browser.write_text(f'#!/bin/sh\nprintf "%s\\n" "$#" "$1" > {seen}\n')
    browser.chmod(0o755)
    tracker.files = {".github/ISSUE_TEMPLATE/bug.yml": FORM.encode()}
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    argv = [sys.executable, "-m", "gpudoctor", "report", "--capture", MACHINE, "--to", "owner/repo"]
    variables = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[2])}
    done = subprocess.run(argv, capture_output=True, text=True, env=variables, cwd=tmp_path, timeout=60)
    assert done.returncode == 0 and done.stdout == "" and "Opened a new issue" in done.stderr
    number, url = seen.read_text().splitlines()
    assert number == "1" and url.startswith(tracker.url)
