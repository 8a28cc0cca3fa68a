"""`gpudoctor setup` as a person types it: what it refuses, what it writes, and that looking changes nothing."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import NamedTuple

import jsonschema
import pytest

from gpudoctor import cli
from gpudoctor.cli import BadInput
from gpudoctor.knowledge.paths import PACKAGE
from gpudoctor.setup.journal import Journal

SCHEMA = json.loads(Path(PACKAGE, "data", "plan.schema.json").read_text(encoding="utf-8"))


class Ran(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def gpudoctor(home: Path, *words: str) -> Ran:
    """The command in this process, with a home of its own and nobody at its input."""
    folders = {"HOME": home, "XDG_STATE_HOME": home / "state", "XDG_CONFIG_HOME": home / "config"}
    with pytest.MonkeyPatch.context() as patch:
        for name, folder in folders.items():
            patch.setenv(name, str(folder))
        patch.delenv("VIRTUAL_ENV", raising=False)
        patch.chdir(home)
        patch.setattr(sys, "stdin", io.StringIO())
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as error:
            status = cli.run(["setup", *words])
    return Ran(status, out.getvalue(), error.getvalue())


@pytest.fixture
def machine(tmp_path: Path) -> str:
    return str(Path(__file__).parents[2] / "machines" / "arc-a750-old-kernel")


@pytest.mark.starts_processes("a mirror, a bundle or an answer is judged after a look at this machine")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("cudaa",), "there is no stack 'cudaa' to set up (did you mean 'cuda'?)"),
        (("--resume", "cpu"), "--resume stands alone"),
        (("--undo", "first"), "expected the number of a run"),
        (("--undo", "7"), "there is no run 7"),
        (("cpu", "--torch", "latest"), "expected a version such as 2.8"),
        (("cpu", "--mirror", "pypi"), "expected NAME=URL"),
        (("cpu", "--mirror", "pipy=http://127.0.0.1:1/"), "there is no address 'pipy'; there are"),
        (("cpu", "--mirror", "pytorhc=http://127.0.0.1:1/"), "there is no address 'pytorhc' (did you mean 'pytorch'?)"),
        (("cpu", "--capture", "/nowhere"), "a recorded machine can be planned for, not changed"),
        (("cpu", "--offline-bundle", "/nowhere"), "/nowhere"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_status_2(tmp_path: Path, words: tuple[str, ...], said: str):
    ran = gpudoctor(tmp_path, *words)
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert said in ran.stderr
    assert ran.stderr.count("\n") == 1


@pytest.mark.starts_processes("a mirror, a bundle or an answer is judged after a look at this machine")
def test_without_a_terminal_nothing_is_done_unless_yes_was_said(tmp_path: Path):
    ran = gpudoctor(tmp_path, "openvino", "--offline-bundle", str(tmp_path))
    assert ran.returncode == 2
    assert not (tmp_path / "gpudoctor").exists()
    assert not (tmp_path / "state").exists()


def test_nothing_to_resume_undo_or_tell_is_no_failure_and_leaves_nothing(tmp_path: Path):
    for words, said in ((("--resume",), "nothing to resume"), (("--undo",), "nothing to undo"), (("--history",), "No runs yet")):
        ran = gpudoctor(tmp_path, *words)
        assert (ran.returncode, said in ran.stdout) == (0, True), ran.stdout + ran.stderr


def test_the_plan_for_a_recorded_machine_is_written_in_each_form_and_changes_nothing(tmp_path: Path, machine: str):
    texts = {}
    for form in ("text", "json", "sh", "dockerfile", "ansible"):
        ran = gpudoctor(tmp_path, "torch-xpu", "--capture", machine, "--plan", "--format", form)
        assert ran.returncode == 0, ran.stderr
        texts[form] = ran.stdout
    document = json.loads(texts["json"])
    jsonschema.validate(document, SCHEMA)
    assert [step["kind"] for step in document["steps"]][:2] == ["apt.install", "reboot"]
    assert "linux-generic-hwe-22.04" in texts["text"]
    assert texts["sh"].startswith("#!/usr/bin/env bash\n")
    assert "on the host" in texts["dockerfile"]
    assert not (tmp_path / "state").exists() and not (tmp_path / "gpudoctor").exists()


def test_a_plan_goes_to_a_file_whole_or_not_at_all(tmp_path: Path, machine: str):
    ran = gpudoctor(tmp_path, "torch-xpu", "--capture", machine, "--format", "sh", "-o", str(tmp_path / "none" / "plan.sh"))
    assert ran.returncode == 2 and "cannot be written" in ran.stderr
    ran = gpudoctor(tmp_path, "torch-xpu", "--capture", machine, "--format", "sh", "-o", str(tmp_path / "plan.sh"))
    assert ran.returncode == 0 and ran.stdout == ""
    assert (tmp_path / "plan.sh").read_text().startswith("#!/usr/bin/env bash\n")


def test_without_a_name_it_recommends_for_the_machine(tmp_path: Path, machine: str):
    ran = gpudoctor(tmp_path, "--capture", machine)
    assert ran.returncode == 0
    assert "gpudoctor setup torch-xpu" in ran.stdout and "ipex" in ran.stdout
    found = json.loads(gpudoctor(tmp_path, "--capture", machine, "--format", "json").stdout)
    assert found["first"]["name"] == "torch-xpu" and found["first"]["reasons"]


def test_mirrors_of_the_configuration_file_count_and_are_told(tmp_path: Path, machine: str):
    (tmp_path / "config" / "gpudoctor").mkdir(parents=True)
    (tmp_path / "config" / "gpudoctor" / "config.toml").write_text('[mirrors]\npytorch = "http://127.0.0.1:9/whl"\n')
    ran = gpudoctor(tmp_path, "torch-xpu", "--capture", machine, "--plan", "-v")
    assert ran.returncode == 0, ran.stderr
    assert "http://127.0.0.1:9/whl/xpu" in ran.stdout
    assert "pytorch comes from http://127.0.0.1:9/whl instead of" in " ".join(ran.stdout.split())


def test_a_second_run_while_one_acts_says_so(tmp_path: Path):
    with Journal(tmp_path / "state" / "gpudoctor").held():
        ran = gpudoctor(tmp_path, "--undo")
    assert ran.returncode == 2
    assert f"process {os.getpid()}" in ran.stderr


def test_a_mirror_that_nothing_authenticates_is_asked_for_even_with_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpudoctor.cli.setup import RunScreen

    screen = RunScreen({"quiet": False, "no_color": True, "output": None})
    said = "pypi comes from http://mirror.example/simple over http, unauthenticated"
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    with pytest.raises(BadInput, match="--allow-http"):
        screen.accept([said])
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert screen.accept([said])


def test_the_question_comes_after_the_whole_commands_also_with_quiet(capsys: pytest.CaptureFixture[str]):
    """The short screen cuts commands; what is agreed to is shown whole."""
    from gpudoctor.cli.setup import RunScreen
    from gpudoctor.model.plan import Command, Plan, PlannedStep

    argv = ("apt-get", "install", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=600", *(f"package-{n}" for n in range(12)))
    step = PlannedStep(
        number=1, kind="apt.install", title="t", why="", layer="user-driver", recipe="r", settings={}, root=True,
        acts=(Command(argv=argv, root=True),),
    )  # fmt: skip
    plan = Plan(name="cpu", recipe="r", title="t", stack="", compute="", machine="m", env="", steps=(step,))
    given = dict.fromkeys(("output", "torch", "python_version", "purpose", "env", "folder", "offline_bundle", "bundle_sha256"))
    screen = RunScreen({**given, "quiet": True, "verbose": False, "no_color": True, "name": "cpu", "mirror": (), "allow_removal": False})
    screen.show_plan(plan, whole=True)
    assert f"$ sudo {' '.join(argv)}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("machine", "name", "form"), [("windows-rx7900-directml", "directml", "sh"), ("macos-m3-healthy", "mps", "dockerfile")]
)
def test_no_export_for_a_system_that_cannot_run_it(tmp_path: Path, machine: str, name: str, form: str):
    recorded = str(Path(__file__).parents[2] / "machines" / machine)
    ran = gpudoctor(tmp_path, name, "--capture", recorded, "--format", form)
    assert ran.returncode == 2 and f"--format {form} does not serve" in ran.stderr and not ran.stdout
