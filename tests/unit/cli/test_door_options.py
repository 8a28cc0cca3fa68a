"""The options that examine something else than this machine: which go together, and what a person is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpudoctor import cli
from gpudoctor.cli.check import _again


def call(*words: str) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of a command line."""
    result: Result = CliRunner().invoke(_Whole(), list(words))
    return result.exit_code, result.stdout, result.stderr


class _Whole:
    """`cli.run` in the place of a click command: its exit status and its one line."""

    name = "gpudoctor"

    def main(self, args: list[str], prog_name: str, **_: object) -> None:
        raise SystemExit(cli.run(list(args)))


@pytest.mark.parametrize(("words", "said"), [
    (("--pid", "1", "--root", "/"), "--pid and --root exclude each other, since each names what to examine; give one of them"),
    (("--host", "a", "--container", "b"), "--container and --host exclude each other"),
    (("--capture", "x", "--host", "a"), "--capture and --host exclude each other: a recording is no machine"),
    (("--chroot",), "--chroot goes with --root DIR"),
    (("--pid", "1", "--python", "x"), "leave --python out"),
    (("--host", " "), "--host: the value is empty"),
    (("--pid", "2147483646"), "there is no such process"),
    (("--root", "/no/such/folder"), "there is no such folder"),
    (("--host", "-x"), "expected a name that ssh knows"),
    (("--container", "-x"), "expected a name or an id"),
])  # fmt: skip
@pytest.mark.parametrize("command", ["check", "capture"])
def test_one_line_that_says_what_to_do(tmp_path: Path, command: str, words: tuple[str, ...], said: str) -> None:
    if command == "capture":
        if "--capture" in words:
            return
        words = (*words, "-o", str(tmp_path / "x.tar.gz"))
    status, out, error = call(command, *words)
    assert (status, out) == (2, "") and said in error and error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_monitoring_style_says_it_in_its_own_words() -> None:
    status, out, error = call("check", "--pid", "2147483646", "--exit-style", "nagios")
    assert status == 3 and "there is no such process" in out + error


def test_the_hint_to_look_again_names_the_door() -> None:
    given = dict.fromkeys(("capture", "pid", "container", "image", "root", "host", "python", "stack"))
    assert _again({**given, "root": "/mnt/a b", "chroot": True}) == "gpudoctor check --root '/mnt/a b' --chroot"
    assert _again({**given, "pid": "7", "chroot": False}) == "gpudoctor check --pid 7"


def test_a_quick_look_at_this_very_process() -> None:
    status, out, error = call("check", "--pid", str(os.getpid()), "--quick", "--fail-on", "never")
    assert status == 0 and out.startswith(f"process {os.getpid()}: "), error


def test_what_is_behind_a_door_is_not_kept_as_a_run_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpudoctor.cli import check

    monkeypatch.setattr(check, "remember", lambda *_: pytest.fail("kept"))
    call("check", "--pid", str(os.getpid()), "--quick", "--fail-on", "never")
