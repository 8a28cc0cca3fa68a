"""Plans to JSON and back. The journal keeps the plan that was shown, and a resumed run follows it."""

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
    """The plan in the result of plan_to_json. Raises TypedJsonError, a ValueError, for anything else."""
    return read(Plan, table)
