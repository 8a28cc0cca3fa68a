"""The published JSON Schemas (report, plan, diff, policy, audit), which docs/json_schemas.py generates, and the validation against them."""

from __future__ import annotations

import json
from typing import Any

from gpudoctor.model.package_data import data_text

PUBLISHED = {
    "gpudoctor.report/1": "report", "gpudoctor.plan/1": "plan", "gpudoctor.diff/1": "diff", "gpudoctor.policy/1": "policy",
    "gpudoctor.audit/1": "audit",
}  # fmt: skip
"""The file name of each schema, by the value of `schema` in a document."""


def load(name: str = "report") -> dict[str, Any]:
    """data/<name>.schema.json of the package: report, plan, diff, policy or audit."""
    schema = json.loads(data_text(f"{name}.schema.json"))
    assert isinstance(schema, dict)
    return schema


def complaints(document: Any, name: str = "report") -> list[str]:
    """The violations of the schema, one line each. Needs the package jsonschema."""
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

    errors = sorted(Draft202012Validator(load(name)).iter_errors(document), key=lambda error: list(map(str, error.absolute_path)))
    return [f"{'/'.join(map(str, error.absolute_path)) or '(top)'}: {error.message}" for error in errors]
