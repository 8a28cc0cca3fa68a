from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor import cli
from gpudoctor.reporters.shared import schema

pytestmark = pytest.mark.starts_processes(
    "gpudoctor itself, in a child: what a terminal, a pipe or a signal does cannot be tried in this process"
)

COMMANDS = [[], *([name] for name in cli.COMMANDS)]


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A hand-made Ubuntu machine with an Arc A770 that no driver is bound to."""
    root = tmp_path / "machine"
    pci = root / "files/sys/bus/pci/devices/0000:03:00.0"
    pci.mkdir(parents=True)
    for name, text in {
        "vendor": "0x8086",
        "device": "0x56a0",
        "class": "0x030000",
        "subsystem_vendor": "0x8086",
        "revision": "0x08",
    }.items():
        (pci / name).write_text(text + "\n")
    (root / "files/etc").mkdir()
    (root / "files/etc/os-release").write_text('ID=ubuntu\nVERSION_ID="22.04"\nNAME="Ubuntu"\nPRETTY_NAME="Ubuntu 22.04.3 LTS"\n')
    (root / "files/proc/sys/kernel").mkdir(parents=True)
    (root / "files/proc/sys/kernel/osrelease").write_text("5.19.0-35-generic\n")
    (root / "commands.jsonl").write_text("")
    (root / "machine.toml").write_text('format = 1\ncomplete = false\nplatform = "linux"\nrecorder = "test"\ntitle = "test"\n')
    return root


def run(*words: str) -> int:
    return cli.run(list(words))


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_has_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*words, "--help") == 0
    assert "Usage:" in capsys.readouterr().out


def test_alone_it_prints_short_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    assert len(capsys.readouterr().out.splitlines()) <= 24


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["chek"], "did you mean 'check'?"),
        (["diagnose"], "no command"),
        (["check", "--capture", "/nowhere/at/all"], "/nowhere/at/all"),
        (["check", "--fail-on", "sometimes"], "gpudoctor check --help"),
        (["check", "--quick", "--stack", "torch-xp"], "did you mean 'torch-xpu'?"),
        (["check", "--quick", "--ignore", "no-such-check"], "no-such-check"),
        (["check", "--quick", "--expect", "/nowhere.toml"], "[[demand]]"),
        (["check", "--quick", "--checks", "/nowhere"], "/nowhere"),
        (["check", "--quick", "--python", "/nowhere/python"], "/nowhere/python"),
        (["show", "no-such-thing"], "gpudoctor list checks"),
        (["check", "\x1b[31m"], "gpudoctor"),
    ],
)
def test_bad_input_is_one_line_and_2(words: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert hint in said.err
    assert "\x1b" not in said.err


def test_a_capture_gives_a_valid_report_and_exit_1_where_a_fault_is(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run("check", "--capture", str(machine), "--format", "json")
    report = json.loads(capsys.readouterr().out)
    assert schema.complaints(report) == []
    assert report["origin"] == "capture"
    assert report["facts"]["gpus"][0]["pci_id"] == "8086:56a0"
    assert code == (1 if report["summary"]["errors"] else 0)
    assert run("check", "--capture", str(machine), "--fail-on", "never") == 0


def test_output_is_whole_or_not_at_all(machine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "report.json"
    run("check", "--capture", str(machine), "--format", "json", "-o", str(target))
    assert capsys.readouterr().out == ""
    assert schema.complaints(json.loads(target.read_text())) == []
    assert list(tmp_path.glob(".gpudoctor-*")) == []
    assert run("check", "--capture", str(machine), "-o", str(tmp_path / "no" / "folder")) == 2


def policy(tmp_path: Path, text: str) -> str:
    path = tmp_path / "policy.toml"
    path.write_text(text)
    return str(path)


def test_a_policy_is_met_unmet_or_open(machine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask = ("check", "--capture", str(machine), "--format", "json", "--expect")
    met = policy(tmp_path, '[[demand]]\nname = "Ubuntu"\nthat = { fact = "os.id", is = "ubuntu" }\n')
    assert run(*ask, met) in (0, 1)
    assert "demand-not-met" not in capsys.readouterr().out
    unmet = policy(tmp_path, '[[demand]]\nname = "Fedora"\nthat = { fact = "os.id", is = "fedora" }\n')
    assert run(*ask, unmet) == 1
    document = json.loads(capsys.readouterr().out)
    assert schema.complaints(document) == []
    assert any(finding["title"] == "Policy not met: Fedora" for finding in document["findings"])


def test_an_open_demand_is_4(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "machine.toml").write_text('format = 1\ncomplete = true\nplatform = "linux"\nrecorder = "test"\ntitle = "t"\n')
    (empty / "commands.jsonl").write_text("")
    path = policy(tmp_path, '[[demand]]\nname = "a driver"\nthat = { fact = "nvidia.driver.version", at_least = "550" }\n')
    assert run("check", "--capture", str(empty), "--expect", path) == 4
    assert "Policy not decided: a driver" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["[[demand]]\nname = 3\n", "[[demnd]]\n", "x", '[[demand]]\nname = "a"\nthat = { fact = "os.id" }\n'])
def test_a_wrong_policy_names_the_place(machine: Path, tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "--capture", str(machine), "--expect", policy(tmp_path, text)) == 2
    assert "policy.toml" in capsys.readouterr().err


def test_project_file_ignores_with_a_reason(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gpudoctor.toml").write_text('[ignore]\nsome-check = ""\n')
    assert run("check", "--quick") == 2
    assert "reason" in capsys.readouterr().err
    Path("gpudoctor.toml").write_text("[ignored]\n")
    assert run("check", "--quick") == 2


def test_a_bug_is_3_with_one_line_and_a_traceback_with_v_only(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from gpudoctor.services import checking

    def broken(*_: object) -> None:
        raise RuntimeError("no\x1b[2Jway")

    monkeypatch.setattr(checking, "check", broken)
    assert run("check") == 3
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert "please report" in said and "\x1b" not in said
    assert run("check", "-v") == 3
    assert "Traceback" in capsys.readouterr().err


def test_interrupt_is_130(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from gpudoctor.services import checking

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(checking, "check", interrupted)
    assert run("check", "-o", str(tmp_path / "report")) == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("style", ["npd", "nagios", "slurm"])
def test_exit_styles_say_one_line(style: str, machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run("check", "--capture", str(machine), "--exit-style", style)
    said = capsys.readouterr().out
    assert len(said.splitlines()) == 1
    assert code in (0, 1, 2, 3)
    if style == "npd":
        assert len(said) <= 81


@pytest.mark.parametrize("kind", ["checks", "devices", "facts", "stacks", "recipes", "workloads"])
def test_lists_are_json(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", kind, "--format", "json") == 0
    assert isinstance(json.loads(capsys.readouterr().out)[kind], list)


def test_a_new_check_works_lints_with_its_todos_and_can_be_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path)
    assert run("new", "check", "gpu-has-no-legs", "--topic", "demo", "--checks", folder) == 0
    assert run("list", "checks", "--test", "gpu-has-no-legs", "--checks", folder) == 0
    assert run("show", "gpu-has-no-legs", "--checks", folder) == 0
    capsys.readouterr()
    assert run("lint", "checks", "gpu-has-no-legs", "--checks", folder) == 1
    assert "TODO" in capsys.readouterr().out
    assert run("new", "check", "gpu-has-no-legs", "--topic", "demo", "--checks", folder) == 2
    assert run("new", "check", "Bad Name", "--topic", "demo", "--checks", folder) == 2


def test_a_mistake_in_a_check_names_file_and_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("new", "check", "gpu-has-no-legs", "--topic", "demo", "--checks", str(tmp_path))
    path = tmp_path / "demo/gpu-has-no-legs.toml"
    path.write_text(path.read_text().replace("absent = true } ]", "absnt = true } ]", 1))
    capsys.readouterr()
    assert run("lint", "checks", "gpu-has-no-legs", "--checks", str(tmp_path)) == 1
    assert "demo/gpu-has-no-legs.toml: problem.all[0]: unknown operator 'absnt' (did you mean 'absent'?)" in capsys.readouterr().out


def test_a_changed_catalogue_shows_what_appears(machine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base, new = tmp_path / "base", tmp_path / "new"
    base.mkdir()
    run("new", "check", "gpu-has-no-legs", "--topic", "demo", "--checks", str(new))
    capsys.readouterr()
    assert run("lint", "machines", "--machines", str(machine), "--base", str(base), "--checks", str(new)) == 1
    assert "  + gpu-has-no-legs" in capsys.readouterr().out


def fresh(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout


def test_help_and_version_import_click_only() -> None:
    heavy = ("rich", "requests", "psutil", "yaml", "packaging", "json", "gpudoctor.services.checking", "gpudoctor.cli.check")
    code = f"import sys\nfrom gpudoctor import cli\ncli.run(['--help'])\nprint([m for m in {heavy!r} if m in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr.strip() == "[]"


def test_quick_starts_nothing_and_leaves_rich_alone() -> None:
    code = (
        "import subprocess, sys\n"
        "def no(*a, **k): raise SystemExit('started a process')\n"
        "subprocess.Popen = no\n"
        "from gpudoctor import cli\n"
        "cli.run(['check', '--quick', '--format', 'json'])\n"
        "heavy = [m for m in ('rich', 'requests', 'psutil', 'yaml') if m in sys.modules]\n"
        "sys.exit(repr(heavy) if heavy else 0)\n"
    )
    fresh(code)


def test_a_closed_pipe_is_quiet() -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "gpudoctor", "list", "facts"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("completion", shell) == 0
    assert "_GPUDOCTOR_COMPLETE" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["gpudoctor.report/1", "gpudoctor.plan/1"])
def test_schemas_are_shown(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", name) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["properties"]["schema"]["const"] == name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("check", "--budget", "abc"), "--budget 'abc': expected a number of seconds from 0.1 to 3600 (see: gpudoctor check --help)"),
        (("check", "--budget", "-3"), "--budget -3.0: expected a number of seconds from 0.1 to 3600 (see: gpudoctor check --help)"),
        (("validate", "--replicas", "two"), "--replicas 'two': expected a number (see: gpudoctor validate --help)"),
    ],
)
def test_what_is_no_number_is_told_which_one_is_expected(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(list(words)) == 2
    assert capsys.readouterr().err == f"gpudoctor: {said}\n"
