"""The other modes of validate: what goes together, and two reports that are compared without measuring."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.cli import BadInput, validate_more

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
