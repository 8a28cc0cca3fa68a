"""A node condition for Kubernetes: one kubectl command for each host that is known. Nothing is run.

The condition GpuDoctorProblem is True where something speaks against the host, and False where the host can be used, so that a condition
of an earlier run ends. A host without a result gets no line: its last condition stays.
"""

from __future__ import annotations

import json
import re
import shlex

from gpudoctor.model.fleet_view import FleetView, HostState
from gpudoctor.reporters.shared.escape import plain, visible

CONDITION = "GpuDoctorProblem"
_NODE = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
"""The names that a node of Kubernetes can have."""


def render(view: FleetView) -> str:
    """Lines for a shell; the JSON of a patch is one quoted word."""
    return "".join(_line(each, view.created) for each in view.hosts if each.usable is not None)


def _line(host: HostState, created: str) -> str:
    name = host.host.lower()
    if not _NODE.fullmatch(name):
        return f"# {visible(host.host)}: no node of Kubernetes can have this name\n"
    return f"kubectl patch node {name} --subresource=status --type=strategic -p {shlex.quote(_patch(host, created))}\n"


def _patch(host: HostState, created: str) -> str:
    condition = {
        "type": CONDITION,
        "status": "False" if host.usable else "True",
        "reason": "GpuUsable" if host.usable else "GpuUnusable",
        "message": visible(host.reason) if host.reason else "gpudoctor found nothing that speaks against the host",
        "lastHeartbeatTime": created,
        "lastTransitionTime": created,
    }
    return json.dumps(plain({"status": {"conditions": [condition]}}))
