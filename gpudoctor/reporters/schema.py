"""The published JSON Schema of a report, and a report held against it."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any


def load() -> dict[str, Any]:
    """data/report.schema.json as it is in the package."""
    schema = json.loads(resources.files("gpudoctor").joinpath("data/report.schema.json").read_text("utf-8"))
    assert isinstance(schema, dict)
    return schema


def complaints(document: Any) -> list[str]:
    """What the schema holds against a document, one line each; needs `pip install gpudoctor[schema]`."""
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

    errors = sorted(Draft202012Validator(load()).iter_errors(document), key=lambda error: list(map(str, error.absolute_path)))
    return [f"{'/'.join(map(str, error.absolute_path)) or '(top)'}: {error.message}" for error in errors]
