"""Redacts a whole report, text by text: also what the recording does not hold, and measurements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.model.report import Report
from gpudoctor.privacy.redactor import Redactor

_T = TypeVar("_T", bound=Struct)
_OURS = frozenset({"id", "key", "severity", "layer", "stacks", "stack", "status", "verdict", "confidence", "sources", "caused_by", "recipe",
                   "tool_version", "created", "origin", "summary", "catalogue_version", "traces"})  # fmt: skip
"""Fields whose words are those of the catalogue, not of a machine. Traces never leave."""


def redact_report(report: Report, hide: Redactor) -> Report:
    """The redacted report. Findings keep their ids and keys."""
    return replace(_redacted(report, hide), traces=())


def _redacted(value: _T, hide: Redactor) -> _T:
    changes: dict[str, Any] = {}
    for each in value.__struct_fields__:
        inner = getattr(value, each)
        if each not in _OURS:
            changes[each] = _any(each, inner, hide)
    return replace(value, **changes)


def _any(name: str, value: Any, hide: Redactor) -> Any:
    if isinstance(value, Struct):
        return _redacted(value, hide)
    if isinstance(value, (list, tuple)):
        kept = [_any(name, item, hide) for item in value]
        return tuple(kept) if isinstance(value, tuple) else kept
    if isinstance(value, Mapping):
        return hide.field(name, value)
    return hide.field(name, value) if isinstance(value, str) else value
