"""What `guard` found, as one JSON document (gpudoctor.guard/1)."""

from __future__ import annotations

from msgspec import to_builtins

from gpudoctor.model.guard import Guard
from gpudoctor.reporters.report.json_report import dumps


def render(guard: Guard) -> str:
    return dumps(to_builtins(guard))
