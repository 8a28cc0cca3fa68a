"""A report as one JSON document (gpudoctor.report/1): model.report_document is its type, data/report.schema.json its schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from gpudoctor.model.report import SCHEMA, Finding, Report, StackResult
from gpudoctor.reporters.shared.escape import plain

if TYPE_CHECKING:
    from gpudoctor.model.report_document import FactsDocument, FindingDocument, ReportDocument, StackDocument, SummaryDocument


def document(report: Report, ignored: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The report as plain dictionaries and lists. `ignored`: ids that were left out, each with its reason."""
    typed: ReportDocument = {
        "schema": SCHEMA,
        "tool": {"name": "gpudoctor", "version": report.tool_version},
        "catalogue": {"version": report.catalogue_version},
        "created": report.created,
        "origin": report.origin,
        "facts": cast("FactsDocument", report.facts),
        "unknown": report.unknown,
        "stacks": [_stack(stack) for stack in report.stacks],
        "findings": [_finding(finding) for finding in report.findings],
        "measurements": report.measurements,
        "summary": cast("SummaryDocument", report.summary),
        "not_looked_at": report.not_looked_at,
        "incomplete": report.incomplete,
        "undetermined": report.undetermined,
        "ignored": ignored or {},
        "redactions": report.redactions,
    }
    whole = plain({**typed, "measurements": [measurement.to_json() for measurement in report.measurements]})
    assert isinstance(whole, dict)
    return whole


def render(report: Report, ignored: Mapping[str, str] | None = None) -> str:
    """One document, ASCII only (so that no terminal can be misled by it), ending with a line feed."""
    return dumps(document(report, ignored))


def dumps(value: Any) -> str:
    """A value as indented JSON that ends with a line feed; control characters are removed from its strings."""
    return json.dumps(plain(value), indent=1, allow_nan=False) + "\n"


def _stack(stack: StackResult) -> StackDocument:
    return {
        "stack": stack.stack,
        "title": stack.title,
        "verdict": stack.verdict,
        "used": stack.used,
        "layers": [{"layer": rung.layer, "status": rung.status, "detail": rung.detail} for rung in stack.layers],
    }


def _finding(finding: Finding) -> FindingDocument:
    advice = finding.advice
    return {
        "id": finding.id,
        "key": finding.key,
        "subjects": finding.subjects,
        "severity": finding.severity,
        "layer": finding.layer,
        "stacks": finding.stacks,
        "title": finding.title,
        "explanation": finding.explanation,
        "confidence": finding.confidence,
        "evidence": finding.evidence,
        "advice": {
            "text": advice.text,
            "commands": advice.commands,
            "env": advice.env,
            "recipe": advice.recipe,
            "needs_reboot": advice.needs_reboot,
            "otherwise": advice.otherwise,
        },
        "ask": finding.ask or None,
        "look": finding.look or None,
        "sources": finding.sources,
        "caused_by": finding.caused_by,
    }
