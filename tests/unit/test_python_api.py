from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import gpudoctor
from gpudoctor.reporters.shared import schema

pytestmark = pytest.mark.starts_processes("a Python that imports the package alone")

MACHINES = Path(__file__).parents[1] / "machines"
BROKEN, HEALTHY = MACHINES / "arc-a750-old-kernel", MACHINES / "rtx4090-healthy"


def test_importing_loads_nothing_else() -> None:
    code = "import sys, typing, importlib, __future__; old = set(sys.modules); import gpudoctor; print(sorted(set(sys.modules) - old))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "['gpudoctor']"


def test_a_report_is_the_one_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    from gpudoctor import cli

    report = gpudoctor.check(capture=BROKEN)
    assert isinstance(report, gpudoctor.Report)
    document = report.to_dict()
    assert schema.complaints(document) == []
    cli.run(["check", "--capture", str(BROKEN), "--format", "json"])
    said = json.loads(capsys.readouterr().out)
    assert {**said, "created": ""} == {**document, "created": ""}
    assert report.findings[0].id == "intel-kernel-too-old" and report.stacks[0].verdict == "broken"
    assert report.summary["errors"] == 1 and report.facts["gpus"][0]["vendor"] == "intel"
    assert (report.measurements, report.undetermined, report.incomplete) == ((), (), ())


def test_ok_is_the_exit_status_of_the_command(tmp_path: Path) -> None:
    assert not gpudoctor.check(capture=BROKEN).ok
    assert gpudoctor.check(capture=HEALTHY).ok
    policy = tmp_path / "policy.toml"
    policy.write_text('[[throughput]]\nworkload = "resnet50"\nat_least = 1\n')
    asked = gpudoctor.check(capture=HEALTHY, expect=policy)
    assert not asked.ok and "resnet50" in asked.undetermined[0]
    assert not gpudoctor.check(capture=MACHINES / "rtx4090-torch-not-inspected", stack="torch-cuda").ok


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"capture": "/nowhere"}, "/nowhere"),
        ({"python": "/nowhere"}, "no such interpreter"),
        ({"capture": HEALTHY, "stack": "torch-cud"}, "torch-cuda"),
        ({"capture": HEALTHY, "expect": "/nowhere.toml"}, "/nowhere.toml"),
        ({"capture": HEALTHY, "ignore": ["no-such"]}, "no-such"),
    ],
)
def test_what_cannot_be_used_is_a_value_error_of_one_line(given: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said) as error:
        gpudoctor.check(**given)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


def test_without_an_interpreter_it_is_the_running_one(tmp_path: Path) -> None:
    assert gpudoctor.check(quick=True).facts["python"]["executable"] == sys.executable


def test_it_shows_itself_as_text_html_and_in_colour() -> None:
    report = gpudoctor.check(capture=BROKEN)
    assert "is too old for Arc A750" in str(report)
    assert repr(report) == "<gpudoctor.Report: 1 errors, 0 warnings, first broken: torch-xpu/kernel-driver>"
    bundle = report._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"} and bundle["text/html"] == report._repr_html_()
    assert "<script" not in bundle["text/html"] and "is too old for Arc A750" in bundle["text/html"]
    screen = io.StringIO()
    Console(file=screen, force_terminal=True, width=60, color_system="standard").print(report)
    assert "\x1b[36m  sudo apt install" in screen.getvalue()
    plain = io.StringIO()
    Console(file=plain, width=60).print(report)
    assert max(len(line) for line in plain.getvalue().splitlines() if "$" not in line) <= 60


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'chekc'"):
        gpudoctor.chekc  # noqa: B018
    assert {"check", "Report"} <= set(dir(gpudoctor))
    assert (Path(gpudoctor.__file__).parent / "py.typed").is_file()
