"""Plans to JSON and back: the journal keeps the very plan that was shown, so that a resumed run follows no other."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from gpudoctor.model.plan import Plan
from gpudoctor.model.typed_json import read


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """The fields of the plan, its steps and its acts, as dictionaries."""
    found: dict[str, Any] = to_builtins(plan)
    return found


def plan_from_json(table: Any) -> Plan:
    """What plan_to_json made, after json.loads. Raises TypedJsonError, a ValueError, for anything else."""
    return read(Plan, table)
