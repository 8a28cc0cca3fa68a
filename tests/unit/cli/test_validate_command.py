"""gpudoctor validate: what is refused before anything runs, the exit status, JSON, and the moving table."""

from __future__ import annotations

import io
import json
import sys
import venv
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from reports import report

from gpudoctor import cli
from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.job_plan import ValidateOptions, plan
from gpudoctor.model.measurement import Latency, Measurement, Throughput
from gpudoctor.reporters.shared.schema import complaints
from gpudoctor.services import checking, validating

TARGET = MeasurementTarget(framework="torch", device="cpu", python="/p", backend="cpu")
GOOD = Measurement(
    workload="resnet50", task="training", framework="torch", backend="cpu", device="cpu", dtype="float32", batch=4, input=(3, 224, 224),
    iterations=20, latency_ms=Latency(median=100.0, ci95_percent=1.0), throughput=Throughput(value=40.0, unit="images/s"), noisy="others",
)  # fmt: skip
CRASHED = replace(GOOD, status="failed", reason="measure: died of SIGKILL", stage="measure", latency_ms=None, throughput=None)


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets `validate` find these measurements; returns the requests it got."""
    got: list[validating.ValidateRequest] = []

    def canned(*measurements: Measurement, targets: tuple[MeasurementTarget, ...] = (TARGET,), left_out: tuple[str, ...] = ()) -> list[Any]:
        def validate(request: Any, progress: Any = None, watcher: Any = None) -> validating.Validated:
            got.append(request)
            found = replace(report(), findings=(), measurements=measurements)
            return validating.Validated(report=found, targets=targets, left_out=left_out, seconds=12.0)

        monkeypatch.setattr(validating, "validate", validate)
        return got

    return canned


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--workload", "resnet5"), "--workload resnet5: no such workload"), (("--device", "cudda:0"), "did you mean 'cuda'"),
        (("--batch", "2,x"), "expected whole numbers"), (("--batch", "0"), "at least one"), (("--dtype", "fp32"), "one of float32"),
        (("--quick", "--full"), "exclude each other"), (("--python", "/not/there"), "no such file or folder"),
        (("--dataset", "/not/there"), "no such folder"), (("--duration", "-3"), "expected seconds"), (("--task", "train"), "did you mean"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_line_and_status_2(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["validate", *words]) == 2
    shown = capsys.readouterr()
    assert said in shown.err and shown.err.count("\n") == 1 and shown.out == ""


@pytest.mark.starts_processes("looks at an environment without packages")
def test_an_environment_without_frameworks_cannot_be_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    assert cli.run(["validate", "--python", str(tmp_path / "env")]) == 4
    shown = capsys.readouterr()
    assert shown.out.startswith("Nothing was measured.") and "no framework works in this environment" in shown.err
    assert cli.run(["validate", "--python", str(tmp_path / "env"), "--device", "cuda:0"]) == 2
    assert "torch is not in" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["missing/report.json", "file/report.json", "folder"])
def test_an_output_that_cannot_be_written_is_said_before_anything_is_measured(
    name: str, answer: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    got = answer(GOOD)
    assert cli.run(["validate", "-o", str(tmp_path / name)]) == 2
    assert got == [] and "cannot be written" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_what_was_measured_is_shown_where_the_disk_is_full_by_then(
    answer: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(text: str, path: str) -> None:
        raise cli.BadInput(f"{path} cannot be written (No space left on device); give -o another file")

    answer(GOOD)
    monkeypatch.setattr("gpudoctor.cli.output.write", full)
    assert cli.run(["validate", "-o", str(tmp_path / "report.txt")]) == 2
    shown = capsys.readouterr()
    assert "40.00 images/s" in shown.out and "No space left on device" in shown.err


def test_an_interrupted_run_says_so_and_reports(answer: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = validating.Validated(report=replace(report(), findings=(), measurements=(GOOD,)), targets=(TARGET,), interrupted=True)
    monkeypatch.setattr(validating, "validate", lambda *_: found)
    assert cli.run(["validate"]) == 130
    shown = capsys.readouterr()
    assert "40.00 images/s" in shown.out and shown.err == "gpudoctor: interrupted; the report holds what was finished\n"


def test_a_framework_that_cannot_be_imported_is_a_finding_and_no_wrong_usage(
    answer: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = validating.Validated(report=replace(report(), findings=()), targets=(), broken=("torch cannot be imported (ImportError: x)",))
    monkeypatch.setattr(validating, "validate", lambda *_: found)
    assert cli.run(["validate"]) == 1
    assert capsys.readouterr().err == "gpudoctor: torch cannot be imported (ImportError: x); for the reason: gpudoctor check\n"

    def refuse(*_: Any) -> None:
        raise checking.FrameworkBroken("--device cpu: torch cannot be imported (ImportError: x)")

    monkeypatch.setattr(validating, "validate", refuse)
    assert cli.run(["validate", "--device", "cpu"]) == 1
    assert capsys.readouterr().err == "gpudoctor: --device cpu: torch cannot be imported (ImportError: x)\n"


def test_options_arrive(answer: Any, tmp_path: Path) -> None:
    got = answer(GOOD)
    words = ["--workload", "resnet50, matmul", "--task", "training", "--batch", "2,4", "--dtype", "float32,bfloat16", "--duration", "5"]
    words += ["--device", "xpu:0,cpu", "--device", "ocl:1", "--compile", "default", "--optimizer", "adam", "--copies"]
    words += ["--dataset", str(tmp_path)]
    assert cli.run(["validate", *words]) == 0
    (request,) = got
    assert request.devices == ("xpu:0", "cpu", "ocl:1")
    assert request.asked == ValidateOptions(
        workloads=("resnet50", "matmul"), tasks=("training",), batches=(2, 4), dtypes=("float32", "bfloat16"), duration=5.0,
        compile="default", optimizer="adam", copies=True, dataset=str(tmp_path),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "status"), [((GOOD,), 0), ((GOOD, CRASHED), 1), ((), 4), ((replace(GOOD, status="skipped", reason="x"),), 4)]
)
def test_the_exit_status(answer: Any, found: tuple[Measurement, ...], status: int) -> None:
    answer(*found)
    assert cli.run(["validate"]) == status


def test_json_is_the_report_with_measurements_and_nothing_else(answer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    answer(GOOD, CRASHED)
    assert cli.run(["validate", "--format", "json"]) == 1
    shown = capsys.readouterr()
    document = json.loads(shown.out)
    assert shown.err == "" and complaints(document) == []
    assert [each["status"] for each in document["measurements"]] == ["ok", "failed"]


def test_a_file_gets_the_table_whole(answer: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer(GOOD, left_out=("vgg16 training: would take about 90 s",))
    assert cli.run(["validate", "-o", str(tmp_path / "table")]) == 0
    assert capsys.readouterr().out == ""
    text = (tmp_path / "table").read_text()
    assert "40.00 images/s" in text and "vgg16 training: would take about 90 s" in text and "1 measurement in 12 s." in text


def test_workloads_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["list", "workloads"]) == 0
    assert "resnext101_32x4d" in capsys.readouterr().out
    assert cli.run(["list", "workloads", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["workloads"]
    assert next(row for row in rows if row["workload"] == "resnet50")["options"] == {"batch": 16, "height": 224, "width": 224}


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def lines_left(text: str) -> list[str]:
    """What a terminal shows after `text`: cursor up, line erased, carriage return; colours and the cursor's look are left out."""
    import re

    screen, row = [""], 0
    for part in re.split(r"(\x1b\[[?\d;]*[A-Za-z]|\n|\r)", text):
        if part == "\n":
            row += 1
            screen += [""] * (row + 1 - len(screen))
        elif part == "\x1b[2K":
            screen[row] = ""
        elif part.endswith("A") and part.startswith("\x1b["):
            row = max(row - int(part[2:-1]), 0)
        elif part != "\r" and not part.startswith("\x1b["):
            screen[row] += part
    return [line for line in screen if line.strip()]


def test_the_moving_table_is_redrawn_in_place_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpudoctor.cli.validate import MeasurementScreen

    out = Tty()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", out)
    screen = MeasurementScreen({"no_color": True, "quiet": False})
    jobs = plan(TARGET, ValidateOptions(workloads=("resnet50", "matmul")))
    screen.planned(jobs, 30.0)
    for job in jobs[:2]:
        screen.begins(job)
        screen.stage(job, "build", {})
        screen.stage(job, "progress", {"iterations": 7, "median_ms": 12.5})
        screen.ends(job, GOOD)
    shown = lines_left(out.getvalue())
    assert [line.split()[:2] for line in shown[:2]] == [["noisy", "resnet50"], ["noisy", "resnet50"]] and len(shown) == 3
    assert "7 steps, 12.5 ms" in out.getvalue()
    screen.clear()
    assert lines_left(out.getvalue()) == [] and out.getvalue().count("\x1b[?25l") == out.getvalue().count("\x1b[?25h") == 1


def test_a_pipe_gets_no_moving_table(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpudoctor.cli.validate import MeasurementScreen

    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    screen = MeasurementScreen({"no_color": False, "quiet": False})
    job = plan(TARGET, ValidateOptions())[0]
    screen.planned([job], 30.0)
    screen.begins(job)
    screen.stage(job, "progress", {"median_ms": 1.0})
    screen.ends(job, GOOD)
    screen.left(10.0)
    screen.clear()
    assert out.getvalue() == ""


def test_a_long_run_says_beforehand_how_long_it_takes_and_quiet_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    from gpudoctor.cli.validate import MeasurementScreen

    jobs = plan(TARGET, ValidateOptions(full=True))
    MeasurementScreen({"no_color": False, "quiet": True}).planned(jobs, 1800.0)
    MeasurementScreen({"no_color": False, "quiet": False}).planned(jobs, 60.0)
    assert capsys.readouterr().err == ""
    MeasurementScreen({"no_color": False, "quiet": False}).planned(jobs, 1800.0)
    assert capsys.readouterr().err == f"gpudoctor: {len(jobs)} measurements, about 30 min\n"
