"""Health events for NVSentinel, as its message HealthEvents in the JSON of protobuf. Nothing is sent.

An event that is fatal makes NVSentinel cordon and drain the node. Only a host that cannot be used has one; warnings and suspects are
events that are not fatal, and nothing is recommended beyond a look by a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpudoctor.model.fleet_row import FAIL
from gpudoctor.model.fleet_view import CLEARED, CONFIRMED, FleetView, Suspicion
from gpudoctor.reporters.report.json_report import dumps
from gpudoctor.reporters.shared.escape import visible

_PCI = re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
_UUID = re.compile(r"GPU-[0-9a-fA-F-]{8,64}")


def render(view: FleetView) -> str:
    return dumps({"version": 1, "events": list(_events(view))})


def _events(view: FleetView) -> Iterator[dict[str, Any]]:
    usable = {each.host: each.usable for each in view.hosts}
    explained = set[str]()
    for finding in view.findings:
        if finding.severity == "info" or finding.doubted:
            continue
        for host in finding.hosts:
            fatal = finding.severity == "error" and usable.get(host) is False
            explained.update([host] * fatal)
            yield _event(view, host, finding.id, finding.title, fatal, code=finding.id)
    for verdict in view.verdicts:
        if verdict.outcome == FAIL:
            for host in verdict.hosts:
                fatal = usable.get(host) is False
                explained.update([host] * fatal)
                test = f"{verdict.program}: {verdict.test}"
                yield _event(view, host, test, f"{test} failed. {verdict.detail}".strip(), fatal, code=verdict.program)
    for each in view.suspicions:
        if each.life != CLEARED:
            fatal = each.life == CONFIRMED and usable.get(each.host) is False
            explained.update([each.host] * fatal)
            yield {**_event(view, each.host, "slow-card", _slow(each), fatal, code="slow-card"), "entitiesImpacted": _entities(each.card)}
    for state in view.hosts:
        if state.usable is False and state.host not in explained:
            yield _event(view, state.host, "fleet", state.reason, True, code="fleet")
        elif state.usable:
            yield {**_event(view, state.host, "fleet", "", False, code=""), "isHealthy": True, "errorCode": [], "recommendedAction": "NONE"}


def _event(view: FleetView, host: str, check: str, message: str, fatal: bool, *, code: str) -> dict[str, Any]:
    return {
        "version": 1, "agent": "gpudoctor", "componentClass": "GPU", "checkName": visible(check), "isFatal": fatal, "isHealthy": False,
        "message": visible(message), "recommendedAction": "CONTACT_SUPPORT" if fatal else "NONE", "errorCode": [visible(code)],
        "entitiesImpacted": [], "metadata": {"run": view.run}, "generatedTimestamp": view.created, "nodeName": host,
    }  # fmt: skip


def _slow(each: Suspicion) -> str:
    return f"{each.card} is {each.below_percent:.1f} % slower than its cohort ({each.workload}, {each.runs} runs, {each.life})"


def _entities(card: str) -> list[dict[str, str]]:
    for kind, pattern in (("PCI", _PCI), ("GPU_UUID", _UUID)):
        if pattern.fullmatch(card):
            return [{"entityType": kind, "entityValue": card}]
    return []
