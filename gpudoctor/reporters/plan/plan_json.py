"""A plan as one JSON document (gpudoctor.plan/1): model.plan_document is its type, data/plan.schema.json its schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, cast

from gpudoctor.model.plan import SCHEMA, Act, Command, FileChange, Plan, PlannedStep
from gpudoctor.reporters.shared.escape import plain

if TYPE_CHECKING:
    from gpudoctor.model.plan_document import ActDocument, FetchedDocument, PlanDocument, StepDocument


def document(plan: Plan, *, version: str, created: str) -> dict[str, Any]:
    """The plan as plain dictionaries and lists. `created`: RFC 3339, UTC.

    Texts for people are cleaned of what a terminal would obey; settings and acts are exact, since programs carry them out.
    """
    typed: PlanDocument = {
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
        "env": plan.env,
        "variables": plan.variables,
        "steps": [_step(step) for step in plan.steps],
    }
    return _cleaned(typed, ("env", "variables", "steps"))


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


def _cleaned(document: Mapping[str, Any], exactly: Sequence[str]) -> dict[str, Any]:
    """Plain values: the keys `exactly` as they are, all others without what a terminal would obey."""
    return {key: exact(value) if key in exactly else plain(value) for key, value in document.items()}


def _step(step: PlannedStep) -> StepDocument:
    typed: StepDocument = {
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
        "settings": step.settings,
        "acts": [_act(act) for act in step.acts],
    }
    return cast("StepDocument", _cleaned(typed, ("settings", "acts")))


def _act(act: Act) -> ActDocument:
    if isinstance(act, Command):
        return {"act": "command", "argv": act.argv, "root": act.root, "env": act.env}
    if isinstance(act, FileChange):
        mode = f"{act.mode:04o}"
        if not act.fetched_from:
            return {"act": "file", "path": act.path, "mode": mode, "root": act.root, "content": act.content}
        fetched: FetchedDocument = {"act": "file", "path": act.path, "mode": mode, "root": act.root, "fetched_from": act.fetched_from}
        if act.sha256:
            fetched["sha256"] = act.sha256
        if act.fingerprint:
            fetched["fingerprint"] = act.fingerprint
        return fetched
    return {"act": "word", "text": act.text}
