"""A redacted report replays to what the machine itself was found to have, whichever form it was sent in, and keeps its technical words."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.capture.archive import write_entries
from gpudoctor.capture.redacted_capture import redact_entries
from gpudoctor.facts.measurement_store import LastRun
from gpudoctor.model.measurement import Correctness, Latency, Measurement, Throughput
from gpudoctor.model.report import Report
from gpudoctor.reporters.report import json_report
from gpudoctor.services import capturing, checking, reporting

ROOT = Path(__file__).parents[1] / "machines"
MACHINES = sorted(path.parent for path in ROOT.glob("*/expect.toml"))
FORMS = ("report.json", "report.md", "report.zip", "capture.tar.gz", "capture/")
_WORD = re.compile(r"[^\W_][\w.+-]*[^\W_]|[^\W_]")
_PERSONAL = re.compile(
    r"(?:USER|LOGNAME|HOME|HOSTNAME|PWD|VIRTUAL_ENV|CONDA_PREFIX)$|uuid$|\.serial|\.host$|\.created$|seconds$", re.IGNORECASE
)
_NAME = re.compile(r"^(?:alice|user|host|wonderland)$|^[0-9a-f]{8}-[0-9a-f]{4}-|^\d{1,3}(?:\.\d{1,3}){3}$", re.IGNORECASE)
"""Names and numbers that the recorded machines give to persons, hosts and devices."""
SEVERAL = ("rtx4090-healthy", "rx7600-not-in-group", "wsl2-b580", "windows-rx7900-directml", "ipu-no-partition")


def said(report: Report) -> dict[str, Any]:
    return {
        "findings": [(finding.id, finding.severity, finding.confidence, finding.caused_by is None) for finding in report.findings],
        "stacks": [(stack.stack, stack.verdict, [(rung.layer, rung.status) for rung in stack.layers]) for stack in report.stacks],
        "summary": dict(report.summary),
    }


def of(path: Path | str) -> Report:
    return checking.check(checking.CheckRequest(capture=str(path)))


def make(path: Path | str) -> reporting.Made:
    return reporting.make(reporting.ReportRequest(check=checking.CheckRequest(capture=str(path))))


def sent(made: reporting.Made, root: Path, form: str) -> Path:
    """The report as a file."""
    path = root / form
    if form.startswith("capture"):
        write_entries(made.capture, f"{root}/{form}")
    elif form.endswith(".zip"):
        path.write_bytes(reporting.archive(made, form))
    else:
        path.write_text(reporting.render(made, "json" if form.endswith(".json") else "markdown"))
    return path


def _texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(inner, f"{key}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, key)
    elif isinstance(value, str):
        yield key, value


def _technical(document: Any) -> Counter[str]:
    """The words that a maintainer needs: all but those of fields about a person, host or number of a device."""
    found: Counter[str] = Counter()
    for key, text in _texts(document):
        if not _PERSONAL.search(key):
            found.update(word for word in _WORD.findall(text) if not _NAME.search(word))
    return found


@pytest.mark.parametrize("folder", MACHINES, ids=[folder.name for folder in MACHINES])
def test_every_recorded_machine(folder: Path, tmp_path: Path) -> None:
    """Of its technical words, 99 of 100 are asked for: one test holds both, since making a report takes the time."""
    original = of(folder)
    made = make(folder)
    words, kept = _technical(json_report.document(original)), _technical(json_report.document(made.report))
    lost = words - kept
    assert sum(lost.values()) <= 0.01 * sum(words.values()), lost.most_common(20)
    assert made.note == ""
    assert said(made.report) == said(original)
    assert said(of(sent(made, tmp_path, "report.json"))) == said(original)


@pytest.mark.parametrize("name", SEVERAL)
def test_every_form(name: str, tmp_path: Path) -> None:
    original = of(ROOT / name)
    made = make(ROOT / name)
    for form in FORMS:
        again = of(sent(made, tmp_path, form))
        assert said(again) == said(original), form
        assert [finding.key for finding in again.findings] == [finding.key for finding in made.report.findings], form


def test_a_report_of_a_report(tmp_path: Path) -> None:
    made = make(ROOT / "rx7600-not-in-group")
    again = make(sent(made, tmp_path, "report.json"))
    assert said(again.report) == said(made.report) and again.capture == {}
    assert json.loads(reporting.render(again, "json"))["facts"] == json.loads(reporting.render(made, "json"))["facts"]


def test_what_is_redacted_twice_is_what_is_redacted_once() -> None:
    made = make(ROOT / "wsl2-b580")
    looked = checking.gather_machine(checking.open_for(checking.CheckRequest(capture=str(ROOT / "wsl2-b580"))), "capture", live=False)
    hide = capturing.redactor_of(made.capture, looked.gathered.facts)
    assert redact_entries(made.capture, hide) == made.capture


def test_what_validate_measured_comes_along(tmp_path: Path) -> None:
    measured = Measurement(
        workload="resnet50",
        task="training",
        framework="torch",
        framework_version="2.7.1",
        backend="cuda",
        device="cuda:0",
        dtype="float32",
        batch=16,
        latency_ms=Latency(median=40.0),
        throughput=Throughput(value=400.0, unit="images/s"),
        correctness=Correctness(compared_with="cpu float64", max_relative_error=0.9, tolerance=0.01, passed=False),
    )
    made = make(ROOT / "rtx4090-healthy")
    run = LastRun(environment="", framework="torch", device="cuda:0", date="2026-11-20T10:00:00Z", measurements=(measured,))
    write_entries(capturing.with_measurements(made.capture, [run]), f"{tmp_path}/m.zip")
    original = of(tmp_path / "m.zip")
    assert original.measurements and "measured 2026-11-20T10:00:00Z" in original.measurements[0].notes
    assert said(original)["findings"] != said(of(ROOT / "rtx4090-healthy"))["findings"]
    again = make(tmp_path / "m.zip")
    assert said(again.report) == said(original)
    for form in FORMS[:3]:
        replayed = of(sent(again, tmp_path, form))
        assert said(replayed) == said(original), form
        assert [each.workload for each in replayed.measurements] == ["resnet50"]


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ("{", "not a report"),
        ("[1]", "not a capture"),
        ('{"schema": "other/1", "facts": {}}', "expected gpudoctor.report/1"),
        ('{"schema": "gpudoctor.report/1"}', r"x\.json: tool: is missing; expected a table"),
        ("x\ngpudoctor.report/1 packed\nAAAA\n", "damaged"),
    ],
)
def test_what_is_no_report_is_one_line(content: str, hint: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(checking.BAD_INPUT, match=hint):
        of(path)


def test_a_report_with_values_of_other_types_names_file_and_key(tmp_path: Path) -> None:
    document = json.loads(reporting.render(make(ROOT / "rtx4090-healthy"), "json"))
    path = tmp_path / "x.json"
    for key, value, said in (
        ("gpus", "none", "facts.gpus: expected a list or null, found a text"),
        ("kernel", None, "facts.kernel: expected a table, found null"),
        ("python", {"frameworks": [1]}, "facts.python.frameworks: expected a table or null, found a list"),
    ):  # fmt: skip
        path.write_text(json.dumps({**document, "facts": {**document["facts"], key: value}}))
        with pytest.raises(checking.BAD_INPUT) as error:
            of(path)
        assert str(error.value).startswith(f"{path}: {said}; ")


def test_facts_of_any_shape_are_judged_all_the_same(tmp_path: Path) -> None:
    """Only some facts have a fixed type, and nothing here was made by a probe."""
    document = json.loads(reporting.render(make(ROOT / "rtx4090-healthy"), "json"))
    odd = {"env": [], "cpu": 5, "packages": {"manager": {"a": 1}}, "memory": {"total_bytes": "much"}, "nvidia": {"devices": {"a": 1}}}
    path = tmp_path / "x.json"
    path.write_text(json.dumps({**document, "facts": {**document["facts"], **odd}}))
    assert of(path).findings is not None
