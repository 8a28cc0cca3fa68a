"""The published schemas: made from the types, equal to what is stored, and refusing what a reader could not rely on."""

from __future__ import annotations

import copy
import json
import runpy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gpudoctor.model.report_document import ReportDocument
from gpudoctor.model.typed_json import TypedJsonError, read
from gpudoctor.reporters.report import json_report
from gpudoctor.reporters.shared.schema import PUBLISHED, complaints, load
from gpudoctor.services import checking

ROOT = Path(__file__).parents[3]
MACHINES = sorted(path.parent for path in (ROOT / "tests" / "machines").glob("*/expect.toml"))
GENERATOR = runpy.run_path(str(ROOT / "docs" / "json_schemas.py"))
MEASUREMENT = {
    "workload": "resnet50", "task": "training", "framework": "torch", "framework_version": "2.8.0", "backend": "xpu", "device": "xpu:0",
    "device_name": None, "dtype": "float32", "batch": 16, "input": [3, 224, 224], "status": "ok", "reason": None, "iterations": 120,
    "latency_ms": {"median": 20.0}, "throughput": {"value": 800.0, "unit": "images/s"}, "includes": ["compute"], "compile": "none",
    "memory_peak_bytes": 1, "energy": None, "correctness": None, "ceiling": None, "reference": None, "environment": {},
}  # fmt: skip


@cache
def _text() -> str:
    return json_report.render(checking.check(checking.CheckRequest(capture=str(ROOT / "tests/machines/arc-a750-old-kernel"))))


def report() -> dict[str, Any]:
    """The report of a recorded machine, with a finding, and a measurement."""
    document: dict[str, Any] = json.loads(_text())
    document["measurements"] = [copy.deepcopy(MEASUREMENT)]
    return document


def mutated(path: str, *value: Any) -> dict[str, Any]:
    """The report with another value at the dotted path, or without the key where there is none."""
    document = report()
    *parents, last = path.split(".")
    place: Any = document
    for part in parents:
        place = place[int(part) if isinstance(place, list) else part]
    if value:
        place[last] = value[0]
    else:
        del place[last]
    return document


@pytest.mark.parametrize("name", PUBLISHED.values())
def test_a_stored_schema_is_the_generated_one(name: str) -> None:
    stored = (ROOT / "gpudoctor" / "data" / f"{name}.schema.json").read_text("utf-8")
    assert stored == GENERATOR["text"](name), "run: python docs/json_schemas.py --write"
    Draft202012Validator.check_schema(load(name))


def test_the_generator_names_a_stale_file_and_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main = GENERATOR["main"]
    kept = main.__globals__["DATA"]
    main.__globals__["DATA"] = tmp_path
    try:
        assert main([]) == 1 and "report.schema.json differs from its type" in capsys.readouterr().out
        assert main(["--write"]) == 0 and main([]) == 0
    finally:
        main.__globals__["DATA"] = kept


def test_fields_are_described_by_their_docstrings() -> None:
    finding = load()["$defs"]["FindingDocument"]["properties"]
    assert finding["caused_by"]["description"] == "The key of the finding that this one follows from."
    assert load("plan")["$defs"]["StepDocument"]["properties"]["note"]["description"]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda path: path.name)
def test_the_report_of_a_recorded_machine_is_valid_and_read_back(machine: Path) -> None:
    document = json.loads(json_report.render(checking.check(checking.CheckRequest(capture=str(machine)))))
    assert complaints(document) == []
    assert {**read(ReportDocument, document), "measurements": []} == document


MISSING = (
    "schema", "tool", "tool.version", "created", "origin", "facts", "stacks", "stacks.0.verdict", "stacks.0.layers.0.status", "findings",
    "findings.0.id", "findings.0.key", "findings.0.severity", "findings.0.layer", "findings.0.confidence", "findings.0.evidence",
    "findings.0.advice.commands", "findings.0.advice.needs_reboot", "findings.0.caused_by", "measurements", "measurements.0.workload",
    "measurements.0.device", "measurements.0.latency_ms.median", "measurements.0.throughput.unit", "summary", "summary.unknown",
    "summary.first_broken", "redactions",
)  # fmt: skip
"""Keys of the contract without which a report is none."""
WRONG: tuple[tuple[str, Any], ...] = (
    ("schema", "gpudoctor.report/2"), ("tool", "x"), ("tool.name", "other"), ("created", "yesterday"), ("created", None),
    ("origin", "guess"), ("facts", []), ("facts.gpus", "none"), ("facts.gpus.0.access", "yes"), ("facts.gpus.0.name", 5),
    ("facts.kernel", None), ("facts.platform.kind", "amiga"), ("facts.python.distributions", 3), ("unknown", {"gpus": 3}),
    ("facts.python.frameworks", [1]), ("facts.opencl", {"platforms": {"a": 1}}), ("stacks", {}), ("stacks.0.verdict", "fine"),
    ("stacks.0.layers.0.layer", "kernel driver"), ("stacks.0.layers.0.status", "bad"), ("stacks.0.used", "yes"), ("findings", None),
    ("findings.0.id", "Not An Id"), ("findings.0.severity", "fatal"), ("findings.0.layer", "cloud"), ("findings.0.confidence", "sure"),
    ("findings.0.confidence", "possible"), ("findings.0.subjects", "x"), ("findings.0.evidence", [1]), ("findings.0.title", ""),
    ("findings.0.advice.env", {"A": 1}), ("findings.0.advice.needs_reboot", 1), ("findings.0.caused_by", 1),
    ("measurements", [5]), ("measurements.0.task", "guessing"), ("measurements.0.status", "good"), ("measurements.0.batch", 0),
    ("measurements.0.batch", True), ("measurements.0.input", [3, 0]), ("measurements.0.compile", "fast"),
    ("measurements.0.includes", ["coffee"]), ("measurements.0.latency_ms", {"median": "x"}), ("measurements.0.latency_ms", 5),
    ("measurements.0.throughput", {"value": -1, "unit": "x"}), ("measurements.0.environment", {"A": 1}),
    ("measurements.0.ceiling", {"fraction": 0.4, "bound": "network", "source": "x"}),
    ("summary", 5), ("summary.errors", "x"), ("summary.errors", -1), ("summary.first_broken", "somewhere"), ("redactions", {"user": -1}),
    ("not_looked_at", "x"), ("incomplete", [1]), ("catalogue", []),
)  # fmt: skip


def _named(path: str) -> str:
    """`findings.0.id` as an error writes it: findings[0].id."""
    return "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in path.split(".")).lstrip(".")


@pytest.mark.parametrize("path", MISSING)
def test_no_key_of_the_contract_may_be_missing(path: str) -> None:
    document = mutated(path)
    assert complaints(document)
    with pytest.raises(TypedJsonError) as error:
        read(ReportDocument, document)
    assert str(error.value).startswith(f"{_named(path)}: is missing; expected ")


@pytest.mark.parametrize(("path", "value"), WRONG, ids=[f"{path}={value!r}" for path, value in WRONG])
def test_a_wrong_value_is_refused_by_the_schema_and_by_the_reader(path: str, value: Any) -> None:
    assert complaints(report()) == []
    document = mutated(path, value)
    assert complaints(document)
    with pytest.raises(TypedJsonError) as error:
        read(ReportDocument, document)
    place = "findings[0]" if (path, value) == ("findings.0.confidence", "possible") else _named(path)
    assert str(error.value).startswith(place), str(error.value)


@pytest.mark.parametrize("path", ["unheard", "findings.0.unheard", "findings.0.advice.unheard", "stacks.0.unheard", "tool.unheard"])
def test_a_key_of_a_later_version_is_no_part_of_this_one_and_disturbs_no_reader(path: str) -> None:
    document = mutated(path, 1)
    assert complaints(document)
    read(ReportDocument, document)
