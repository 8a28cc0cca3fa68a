"""A fleet as one JSON document (gpudoctor.fleet/1); its type is model.fleet_view.FleetView."""

from __future__ import annotations

import msgspec

from gpudoctor.model.fleet_view import FleetView
from gpudoctor.reporters.report.json_report import dumps


def render(view: FleetView) -> str:
    """ASCII only, ending with a line feed."""
    return dumps(msgspec.to_builtins(view))
