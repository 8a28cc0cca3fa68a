"""The other modes of validate: what goes together, and two reports that are compared without measuring."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.cli import INTERRUPTED, BadInput, validate_more
from gpudoctor.model.facts import Facts
from gpudoctor.model.measurement import Latency, Measurement, Throughput
from gpudoctor.model.trials import TrialResult
from gpudoctor.services import checking, published_tables
from gpudoctor.services.measurement_setting import MeasurementSetting
from gpudoctor.services.validating import ValidateRequest
from gpudoctor.system.local_host import LocalHost

NOTHING: dict[str, Any] = {
    "operators": False, "try_fixes": False, "sweep_batch": False, "max_latency": None, "replicas": None, "compare": (), "form": "text",
    "output": None, "quiet": True, "no_color": True,
}  # fmt: skip


def report(path: Path, median: float, status: str = "ok") -> str:
    row = {
        "workload": "matmul", "task": "micro", "framework": "torch", "backend": "cpu", "dtype": "float32", "status": status,
        "latency_ms": {"median": median, "ci95_percent": 1.0},
    }  # fmt: skip
    path.write_text(json.dumps({"facts": {"kernel": {"release": f"6.{int(median)}"}}, "measurements": [row]}))
    return str(path)


def test_without_a_mode_it_is_the_usual_measurement() -> None:
    assert not validate_more.wanted(NOTHING)
    assert not validate_more.wanted({**NOTHING, "compare": ("a.json",)})
    assert validate_more.wanted({**NOTHING, "operators": True, "compare": ("a.json",)})


@pytest.mark.parametrize("given, said", [
    ({"operators": True, "sweep_batch": True}, "choose one of them"),
    ({"max_latency": 5.0}, "requires --sweep-batch"),
    ({"compare": ("a", "b", "c")}, "one report"),
    ({"compare": ("a", "b"), "operators": True}, "one report"),
    ({"compare": ("a",), "try_fixes": True}, "cannot be combined with --try-fixes"),
    ({"try_fixes": True, "form": "html"}, "--try-fixes writes text or json"),
    ({"sweep_batch": True, "form": "junit"}, "--sweep-batch writes text or json or html"),
])  # fmt: skip
def test_what_does_not_go_together_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        validate_more.wanted({**NOTHING, **given})


def test_two_reports_are_compared_without_measuring(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = {**NOTHING, "compare": (report(tmp_path / "new.json", 10.0), report(tmp_path / "old.json", 20.0))}
    assert validate_more.wanted(given) and validate_more.carry_out(given, None) == 0
    text = capsys.readouterr().out
    assert "new.json" in text and "2.00x" in text and "faster" in text and "6.10 here, 6.20 there" in text


def test_json_of_a_comparison_and_its_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = report(tmp_path / "new.json", 10.0, status="failed")
    given = {**NOTHING, "form": "json", "compare": (new, report(tmp_path / "old.json", 20.0))}
    assert validate_more.carry_out(given, None) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "gpudoctor.comparison/1" and found["comparison"]["broken"] and not found["comparison"]["rows"]


def test_a_page_of_a_comparison(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = {**NOTHING, "form": "html", "compare": (report(tmp_path / "new.json", 10.0), report(tmp_path / "old.json", 20.0))}
    assert validate_more.wanted(given) and validate_more.carry_out(given, None) == 0
    page = capsys.readouterr().out
    assert page.startswith("<!doctype html>") and "2.00 ×, faster" in page and "6.10" in page


@pytest.mark.parametrize("content, said", [
    (None, "No such file"), ("{", "no JSON"), ("[]", "no report"), ('{"measurements": []}', "no measurements"),
])  # fmt: skip
def test_a_report_that_cannot_be_used_is_told_before_measuring(tmp_path: Path, content: str | None, said: str) -> None:
    path = tmp_path / "other.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(BadInput, match=said):
        validate_more.other({**NOTHING, "compare": (str(path),)})


def interrupted_after(*finished: TrialResult) -> Any:
    def try_fixes(request: Any, progress: Any, found: list[TrialResult]) -> None:
        found += finished
        raise KeyboardInterrupt

    return try_fixes


FINISHED = TrialResult(
    id="channels-last", title="t", workload="resnet18 inference float32 batch 2", outcome="helps", speed_up=1.3, low=1.2, high=1.4,
    without_ms=10.0, with_ms=7.7, runs=8, recommended=True, advice="use channels_last", costs="a little memory",
)  # fmt: skip


@pytest.mark.parametrize("form", ["text", "json"])
def test_finished_trials_outlive_an_interruption(form: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("gpudoctor.services.experimenting.try_fixes", interrupted_after(FINISHED))
    assert validate_more.carry_out({**NOTHING, "try_fixes": True, "form": form}, ValidateRequest()) == INTERRUPTED
    text = capsys.readouterr().out
    if form == "json":
        found = json.loads(text)
        assert found["interrupted"] is True and [one["id"] for one in found["trials"]] == ["channels-last"]
    else:
        assert "(interrupted: the others" in text and "Do: use channels_last" in text and "a little memory" in text


def test_an_interruption_before_the_first_trial_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudoctor.services.experimenting.try_fixes", interrupted_after())
    with pytest.raises(KeyboardInterrupt):
        validate_more.carry_out({**NOTHING, "try_fixes": True}, ValidateRequest())


def test_a_table_that_is_interrupted_keeps_its_rows(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The second measurement is interrupted: the first one stands beside its published numbers."""
    target = MeasurementTarget(framework="torch", device="cpu", python="/p", backend="cpu")
    setting = MeasurementSetting(facts=Facts(), targets=(target,), host=LocalHost(budget=0.0))
    monkeypatch.setattr(published_tables, "look", lambda *_: setting)
    done: list[str] = []

    def one(run: Any, job: Any, *_: Any) -> Measurement:
        if done:
            raise KeyboardInterrupt
        done.append(job.workload.id)
        return Measurement(
            workload=job.workload.id, task=job.task, framework="torch", framework_version="2.13.0", backend="cpu", device="cpu",
            device_name="a processor", dtype="float32", batch=16, input=(3, 224, 224), status="ok", compile="none", optimizer="adam",
            latency_ms=Latency(median=1000.0), throughput=Throughput(value=16.0, unit="images/s"),
        )  # fmt: skip

    monkeypatch.setattr(published_tables.Run, "one", one)
    given = {**NOTHING, "table": "dlprimitives", "verbose": False}
    assert validate_more.wanted(given) and validate_more.carry_out(given, ValidateRequest()) == INTERRUPTED
    text = capsys.readouterr().out
    assert (
        "Interrupted" in text and "alexnet training float32 batch 16" in text and "resnet18 training" not in text.partition("Published")[0]
    )
    assert "GeForce GTX 1080, torch cuda" in text


def test_a_table_that_is_none_and_one_without_a_row_here_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    target = MeasurementTarget(framework="opencl", device="opencl:0.0", python="/p", backend="opencl")
    setting = MeasurementSetting(facts=Facts(), targets=(target,), host=LocalHost(budget=0.0))
    monkeypatch.setattr(published_tables, "look", lambda *_: setting)
    with pytest.raises(checking.RequestError, match="no such table"):
        published_tables.measure("nothing", ValidateRequest())
    with pytest.raises(checking.RequestError, match="opencl has no training"):
        published_tables.measure("dlprimitives", ValidateRequest())
