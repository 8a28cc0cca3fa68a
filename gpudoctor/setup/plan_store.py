"""Plans to JSON and back: the journal keeps the very plan that was shown, so that a resumed run follows no other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from gpudoctor.model.plan import Act, Command, FileChange, Plan, PlannedStep, Refusal, Word


def plan_to_json(plan: Plan) -> dict[str, Any]:
    return asdict(plan)


def plan_from_json(table: Mapping[str, Any]) -> Plan:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    values["steps"] = tuple(_step(step) for step in table["steps"])
    values["refusals"] = tuple(Refusal(**refusal) for refusal in table["refusals"])
    return Plan(**values)


def _step(table: Mapping[str, Any]) -> PlannedStep:
    return PlannedStep(**{**table, "changes": tuple(table["changes"]), "acts": tuple(_act(act) for act in table["acts"])})


def _act(table: Mapping[str, Any]) -> Act:
    if "argv" in table:
        return Command(**{**table, "argv": tuple(table["argv"])})
    return FileChange(**table) if "path" in table else Word(**table)
