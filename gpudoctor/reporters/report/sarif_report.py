"""SARIF 2.1.0 for code scanning and viewers: findings with their rules."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from gpudoctor.model.check import Check
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.report import Finding, Report
from gpudoctor.reporters.report.finding_places import FindingPlace, open_demands, places
from gpudoctor.reporters.report.finding_text import address, lines
from gpudoctor.reporters.shared.escape import plain, visible

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}
PRECISION = {"certain": "very-high", "likely": "high", "possible": "medium"}
DEMAND = "demand-not-met"
_FIELD = lazy(r"\{[a-z_][\w.\-]*\}")
_TIME = "%Y-%m-%dT%H:%M:%SZ"


def render(report: Report, checks: Sequence[Check] = ()) -> str:
    """One run. `checks`: the catalogue, of which only checks with findings become rules."""
    return json.dumps(document(report, checks), indent=1, allow_nan=False) + "\n"


def document(report: Report, checks: Sequence[Check] = ()) -> dict[str, Any]:
    by_id = {check.id: check for check in checks}
    ids = list(dict.fromkeys([finding.id for finding in report.findings] + ([DEMAND] if report.undetermined else [])))
    first = {finding.id: finding for finding in reversed(report.findings)}
    driver = {
        "name": "gpudoctor",
        "semanticVersion": report.tool_version,
        "version": report.tool_version,
        "properties": {"catalogue": report.catalogue_version},
        "rules": [_rule(name, by_id.get(name), first.get(name)) for name in ids],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": "gpudoctor/check/"},
        "columnKind": "utf16CodeUnits",
        "invocations": [_invocation(report)],
        "results": [*(_result(finding, ids, report) for finding in report.findings), *_open(report, ids)],
        "properties": {"origin": report.origin, "machine": report.headline, "summary": report.summary},
    }
    whole = plain({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})
    assert isinstance(whole, dict)
    return whole


def _invocation(report: Report) -> dict[str, Any]:
    """The invocation, without the command line, which may contain names of private folders."""
    said = [("warning", f"incomplete: {line}") for line in report.incomplete]
    said += [("note", f"not looked at: {line}") for line in report.not_looked_at]
    times = {"endTimeUtc": report.created}
    if report.seconds is not None:
        try:
            start = datetime.strptime(report.created, _TIME) - timedelta(seconds=report.seconds)
            times = {"startTimeUtc": start.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z", **times}
        except (ValueError, OverflowError):
            pass
    return {
        "executionSuccessful": True,
        **times,
        "toolExecutionNotifications": [{"level": level, "message": {"text": text}} for level, text in said],
    }


def _rule(name: str, check: Check | None, finding: Finding | None) -> dict[str, Any]:
    if check is None:
        return _rule_of(name, finding)
    advice = check.advice
    text = [_generic(check.explanation), _generic(advice.do), *(f"  $ {_generic(step.run)}" for step in advice.steps)]
    links = [link for source in check.sources if (link := address(source.ref))]
    rule = {
        "id": name,
        "shortDescription": {"text": _generic(check.title)},
        "fullDescription": {"text": _generic(check.explanation)},
        "help": {"text": "\n\n".join([*filter(None, text), f"gpudoctor show {name}", *links])},
        "defaultConfiguration": {"level": LEVELS[check.severity]},
        "properties": {
            "tags": list(dict.fromkeys((check.layer, check.topic, *check.stacks))),
            "precision": PRECISION[check.at_most],
            "problem.severity": {"info": "recommendation"}.get(check.severity, check.severity),
        },
    }
    return {**rule, "helpUri": links[0]} if links else rule


def _rule_of(name: str, finding: Finding | None) -> dict[str, Any]:
    """The rule of a finding that is no check of the catalogue: a demand of a policy."""
    if name == DEMAND:
        short = "A requirement of the policy is not met or could not be determined"
        text = "gpudoctor check --expect FILE compares the machine with a policy; the result names the line that demands it."
        return {"id": name, "shortDescription": {"text": short}, "help": {"text": text}, "defaultConfiguration": {"level": "error"}}
    assert finding is not None
    return {
        "id": name, "shortDescription": {"text": finding.title}, "help": {"text": finding.explanation or finding.title},
        "defaultConfiguration": {"level": LEVELS[finding.severity]},
    }  # fmt: skip


def _generic(template: str) -> str:
    """The text of a check for any machine, with '…' for each fact."""
    return _FIELD.sub("…", template)


def _result(finding: Finding, ids: Sequence[str], report: Report) -> dict[str, Any]:
    advice = finding.advice
    return {
        "ruleId": finding.id,
        "ruleIndex": ids.index(finding.id),
        "level": LEVELS[finding.severity],
        "message": {"text": "\n".join([visible(finding.title), *lines(finding)])},
        "locations": list(_locations(finding, report)),
        "partialFingerprints": {"gpudoctorFinding/v1": finding.key},
        "properties": {
            "confidence": finding.confidence, "layer": finding.layer, "stacks": finding.stacks, "causedBy": finding.caused_by,
            "commands": advice.commands, "env": advice.env, "needsReboot": advice.needs_reboot,
        },
    }  # fmt: skip


def _locations(finding: Finding, report: Report) -> Iterator[Mapping[str, Any]]:
    """The files, and the subjects of the finding.

    GitHub's code scanning refuses a whole run with a result that has no file and line (github/codeql-action#1738). A finding without a file
    is therefore placed at machine/LAYER.
    """
    logical = [
        {"name": subject, "fullyQualifiedName": f"{finding.layer}/{subject}", "kind": "resource"} for subject in finding.subjects[:50]
    ]
    first, *more = places(finding, report)[:10] or [FindingPlace(f"machine/{finding.layer}")]
    yield {"physicalLocation": _physical(first), "logicalLocations": logical}
    yield from ({"physicalLocation": _physical(place)} for place in more)


def _physical(place: FindingPlace) -> dict[str, Any]:
    return {"artifactLocation": {"uri": place.uri}, "region": {"startLine": place.line or 1}}


def _open(report: Report, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Demands that could not be determined: neither passed nor failed."""
    for said, place in open_demands(report):
        yield {
            "ruleId": DEMAND, "ruleIndex": ids.index(DEMAND), "kind": "open", "level": "none",
            "message": {"text": f"Not determined: {visible(said)}"},
            "locations": [{"physicalLocation": _physical(place or FindingPlace("machine/policy"))}],
        }  # fmt: skip
