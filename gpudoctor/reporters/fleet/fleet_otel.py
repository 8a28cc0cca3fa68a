"""A fleet for OpenTelemetry: `hw.errors` of each host in OTLP/JSON, as a collector takes it at /v1/metrics or from a file.

A row says that something is wrong, not how often: each series counts one error at the time of the view. A host without one has none.
"""

from __future__ import annotations

from typing import Any

from gpudoctor.model.fleet_row import FAIL
from gpudoctor.model.fleet_view import CONFIRMED, FleetView
from gpudoctor.reporters.report.json_report import dumps
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.prometheus_text import epoch

CUMULATIVE = 2
"""AGGREGATION_TEMPORALITY_CUMULATIVE."""
WHOLE = "gpu"
"""hw.id of an error that belongs to no single card: a row does not say which one a finding is of."""


def render(view: FleetView) -> str:
    errors = _errors(view)
    return dumps({"resourceMetrics": [_resource(host, found, view) for host, found in errors.items()]})


def _errors(view: FleetView) -> dict[str, dict[tuple[str, str], None]]:
    """By host: (hw.id, error.type) of each error, in the order of the hosts."""
    found: dict[str, dict[tuple[str, str], None]] = {each.host: {} for each in view.hosts}
    for finding in view.findings:
        if finding.severity == "error" and not finding.doubted:
            for host in finding.hosts:
                found.setdefault(host, {})[WHOLE, finding.id] = None
    for verdict in view.verdicts:
        if verdict.outcome == FAIL:
            for host in verdict.hosts:
                found.setdefault(host, {})[WHOLE, f"{verdict.program}: {verdict.test}"] = None
    for each in view.suspicions:
        if each.life == CONFIRMED:
            found.setdefault(each.host, {})[each.card or WHOLE, "slow-card"] = None
    return {host: errors for host, errors in found.items() if errors}


def _resource(host: str, errors: dict[tuple[str, str], None], view: FleetView) -> dict[str, Any]:
    nanoseconds = str(int((epoch(view.created) or 0) * 1_000_000_000))  # 64-bit numbers are texts in the JSON of protobuf
    points = [
        {
            "attributes": [_attribute("hw.id", place), _attribute("hw.type", "gpu"), _attribute("error.type", kind)],
            "startTimeUnixNano": nanoseconds, "timeUnixNano": nanoseconds, "asInt": "1",
        }
        for place, kind in errors
    ]  # fmt: skip
    metric = {
        "name": "hw.errors", "unit": "{error}", "description": "Errors that gpudoctor found on the host.",
        "sum": {"aggregationTemporality": CUMULATIVE, "isMonotonic": True, "dataPoints": points},
    }  # fmt: skip
    return {
        "resource": {"attributes": [_attribute("host.name", host)]},
        "scopeMetrics": [{"scope": {"name": "gpudoctor"}, "metrics": [metric]}],
    }


def _attribute(key: str, text: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": visible(text)}}
