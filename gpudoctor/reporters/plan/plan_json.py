"""A plan as one JSON document (gpudoctor.plan/1); data/plan.schema.json describes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

from gpudoctor.model.plan import Act, Command, FileChange, Plan, PlannedStep
from gpudoctor.reporters.shared.escape import plain

SCHEMA = "gpudoctor.plan/1"


def document(plan: Plan, *, version: str, created: str) -> dict[str, Any]:
    """The plan as plain dictionaries and lists. `created`: RFC 3339, UTC.

    Texts for people are cleaned of what a terminal would obey; settings and acts are exact, since programs carry them out.
    """
    told = plain(
        {
            "schema": SCHEMA,
            "tool": {"name": "gpudoctor", "version": version},
            "created": created,
            "name": plan.name,
            "recipe": plan.recipe,
            "title": plan.title,
            "stack": plan.stack,
            "compute": plan.compute,
            "machine": plan.machine,
            "os": {"id": plan.os_id, "version": plan.os_version},
            "disk_gb": plan.disk_gb,
            "archived": plan.archived,
            "refusals": [{"title": refusal.title, "advice": refusal.advice} for refusal in plan.refusals],
            "warnings": plan.warnings,
            "remarks": plan.remarks,
            "sources": plan.sources,
            "mends": plan.mends,
        }
    )
    assert isinstance(told, dict)
    return {**told, "env": plan.env, "variables": exact(plan.variables), "steps": [_step(step) for step in plan.steps]}


def render(plan: Plan, *, version: str, created: str) -> str:
    """One document, ASCII only (so that no terminal can be misled by it), ending with a line feed."""
    return json.dumps(document(plan, version=version, created=created), indent=1, allow_nan=False) + "\n"


def exact(value: Any) -> Any:
    """`value` as JSON holds it, with every text as it is."""
    if isinstance(value, Mapping):
        return {str(key): exact(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [exact(inner) for inner in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _step(step: PlannedStep) -> dict[str, Any]:
    told = plain(
        {
            "number": step.number,
            "kind": step.kind,
            "title": step.title,
            "why": step.why,
            "layer": step.layer,
            "recipe": step.recipe,
            "state": step.state,
            "note": step.note,
            "changes": step.changes,
            "root": step.root,
            "restart": step.restart,
        }
    )
    assert isinstance(told, dict)
    return {**told, "settings": exact(step.settings), "acts": [_act(act) for act in step.acts]}


def _act(act: Act) -> dict[str, Any]:
    if isinstance(act, Command):
        return {"act": "command", "argv": list(act.argv), "root": act.root, "env": exact(act.env)}
    if isinstance(act, FileChange):
        content = {"content": act.content} if not act.fetched_from else {"fetched_from": act.fetched_from}
        pins = {name: value for name, value in (("sha256", act.sha256), ("fingerprint", act.fingerprint)) if value}
        return {"act": "file", "path": act.path, "mode": f"{act.mode:04o}", "root": act.root, **content, **pins}
    return {"act": "word", "text": act.text}
