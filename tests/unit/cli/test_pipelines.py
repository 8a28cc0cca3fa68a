"""check in a pipeline: formats, policies, and what monitoring engines read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from machine_builder import Machine
from msgspec.structs import replace

from gpudoctor import cli

MACHINES = Path(__file__).parents[2] / "machines"
HEALTHY, BROKEN = str(MACHINES / "rtx4090-healthy"), str(MACHINES / "arc-a750-old-kernel")
PERFORMANCE_DATA = r"[a-z]+=-?[0-9.]+(s|%|B|c|us|ms)?(;[0-9.:@~]*){0,4}"


def run(*words: str) -> int:
    return cli.run(list(words))


def test_a_policy_written_from_a_machine_holds_there_and_not_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = str(tmp_path / "policy.toml")
    assert run("check", "--capture", HEALTHY, "--write-expect", target) == 0
    assert target in capsys.readouterr().err
    assert run("check", "--capture", HEALTHY, "--expect", target, "--format", "json") == 0
    assert "demand-not-met" not in capsys.readouterr().out
    assert run("check", "--capture", BROKEN, "--expect", target, "--format", "json") == 1
    unmet = [found["title"] for found in json.loads(capsys.readouterr().out)["findings"] if found["id"] == "demand-not-met"]
    assert "Policy not met: 1 x nvidia GeForce RTX 4090" in unmet
    assert "Policy not met: kernel >=6.8.0" in unmet


@pytest.mark.parametrize("machine", sorted(MACHINES.iterdir()), ids=lambda path: path.name)
def test_every_machine_can_be_written_down(machine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What could be told is met, and nothing is open that was known when it was written."""
    if not machine.is_dir():
        pytest.skip("no machine")
    assert run("check", "--capture", str(machine), "--write-expect", "-") == 0
    written = tmp_path / "policy.toml"
    written.write_text(capsys.readouterr().out)
    run("check", "--capture", str(machine), "--expect", str(written), "--format", "json")
    report = json.loads(capsys.readouterr().out)
    assert [found["title"] for found in report["findings"] if found["id"] == "demand-not-met"] == []
    assert report["undetermined"] == []


def test_what_was_measured_is_demanded_once_and_with_room() -> None:
    from reports import report
    from test_pipeline_reports import RESNET

    from gpudoctor.model.measurement import Throughput
    from gpudoctor.reporters.report import policy_toml

    slower = replace(RESNET, optimizer="adam", throughput=Throughput(value=150.0, unit="images/s"))
    text = policy_toml.render(report(measurements=(slower, RESNET)))
    assert text.count("[[throughput]]") == 1 and "at_least = 180  # measured: 200" in text


def test_a_policy_that_is_there_is_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "policy.toml"
    mine.write_text("# mine\n")
    assert run("check", "--capture", HEALTHY, "--write-expect", str(mine)) == 2
    assert mine.read_text() == "# mine\n" and "another name" in capsys.readouterr().err


def test_hostile_names_are_written_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine = Machine("evil").linux("ubuntu 22.04", "6.8.0").nvidia(name='X"\\\n[[demand]] \x1b[31m\u202e\U0001f600')
    assert run("check", "--capture", str(machine.environment_of({}).expect().write(tmp_path)), "--write-expect", "-") == 0
    written = tmp_path / "policy.toml"
    written.write_text(capsys.readouterr().out)
    assert run("check", "--capture", str(tmp_path / "evil"), "--expect", str(written)) in (0, 1)


def test_an_open_demand_says_where_and_why_and_is_4(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[[throughput]]\nworkload = "resnet50"\nat_least = 200\n')
    assert run("check", "--capture", HEALTHY, "--expect", str(policy)) == 4
    assert "gpudoctor validate --workload resnet50" in " ".join(capsys.readouterr().out.split())
    assert run("check", "--capture", HEALTHY, "--expect", str(policy), "--format", "junit") == 4
    assert 'errors="1"' in capsys.readouterr().out


def test_why_tells_how_demands_came_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[versions]\nkernel = ">=9"\n')
    assert run("check", "--capture", HEALTHY, "--expect", str(policy), "--why", "demand-not-met") == 0
    assert "kernel.version is >=9   [6.8.0]" in capsys.readouterr().out
    assert run("show", "demand-not-met") == 0
    assert "--expect" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["junit", "sarif", "prometheus", "github"])
def test_formats_keep_the_exit_status_and_say_nothing_else(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "--capture", BROKEN, "--format", form) == 1
    said = capsys.readouterr()
    assert said.err == "" and "intel-kernel-too-old" in said.out
    target = tmp_path / "out"
    assert run("check", "--capture", BROKEN, "--format", form, "-o", str(target)) == 1
    assert capsys.readouterr().out == "" and "intel-kernel-too-old" in target.read_text()
    assert run("check", "--capture", HEALTHY, "--format", form) == 0


def test_a_format_and_an_engine_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "--capture", BROKEN, "--format", "junit", "--exit-style", "nagios") == 2
    said = capsys.readouterr()
    ElementTree.fromstring(said.out)
    assert said.err.startswith("GPU CRITICAL - ")


def test_the_step_summary_is_added_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert run("check", "--capture", BROKEN, "--format", "github") == 1
    assert summary.read_text() == "before\n"
    assert run("check", "--capture", BROKEN, "--format", "github", "--step-summary") == 1
    assert summary.read_text().startswith("before\n## gpudoctor: 1 errors")
    monkeypatch.delenv("GITHUB_STEP_SUMMARY")
    capsys.readouterr()
    assert run("check", "--capture", BROKEN, "--step-summary") == 2
    assert "GITHUB_STEP_SUMMARY" in capsys.readouterr().err


def test_nagios_reads_a_line_and_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    for machine, status, word in ((HEALTHY, 0, "OK"), (BROKEN, 2, "CRITICAL")):
        assert run("check", "--capture", machine, "--exit-style", "nagios") == status
        text, _, numbers = capsys.readouterr().out.rstrip("\n").partition(" | ")
        assert text.startswith(f"GPU {word} - ") and "\n" not in text
        assert all(re.fullmatch(PERFORMANCE_DATA, number) for number in numbers.split(" ")), numbers


def test_an_engine_is_not_told_that_a_gpu_is_broken_where_nothing_was_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "--quick", "--expect", "/nowhere.toml", "--exit-style", "nagios") == 3
    assert capsys.readouterr().out.startswith("GPU UNKNOWN - /nowhere.toml: no such file")
    assert run("check", "--quick", "--expect", "/nowhere.toml", "--exit-style", "npd") == 2
    said = capsys.readouterr()
    assert said.err == "" and len(said.out.rstrip("\n").encode()) <= 80
    assert run("check", "--quick", "--expect", "/nowhere.toml", "--exit-style", "slurm") == 2
    assert capsys.readouterr().out == ""


def test_lines_are_cut_by_bytes_and_never_inside_a_character(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(f'[[demand]]\nname = "{"é€" * 60}"\nthat = {{ fact = "os.id", is = "plan9" }}\n')
    for style, most in (("npd", 80), ("nagios", 400), ("slurm", 120)):
        run("check", "--capture", HEALTHY, "--expect", str(policy), "--exit-style", style)
        line = capsys.readouterr().out.rstrip("\n")
        assert len(line.encode()) <= most and "…" not in line and "\ufffd" not in line
