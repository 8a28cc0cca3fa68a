"""Work for a scheduler: the hosts that cannot be used as one node set, and the commands that drain them. Nothing is run."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.model.fleet_view import FleetView, HostState
from gpudoctor.model.node_sets import fold
from gpudoctor.reporters.shared.escape import visible

LONGEST_REASON = 100


def unusable(view: FleetView) -> list[HostState]:
    """The hosts against which something speaks. A host that is silent, or only suspected, is not among them."""
    return [each for each in view.hosts if each.usable is False]


def exclude(view: FleetView) -> str:
    """For srun and sbatch --exclude; an empty line where no host is excluded."""
    return fold([each.host for each in unusable(view)]) + "\n"


def slurm(view: FleetView) -> str:
    """A line of scontrol for each reason. DRAIN lets running jobs end and takes no new ones."""
    by_reason: dict[str, list[str]] = {}
    for each in unusable(view):
        by_reason.setdefault(_reason(each.reason), []).append(each.host)
    return "".join(_drain(hosts, reason) for reason, hosts in sorted(by_reason.items()))


def _drain(hosts: Sequence[str], reason: str) -> str:
    return f'scontrol update NodeName={fold(hosts)} State=DRAIN Reason="gpudoctor: {reason}"\n'


def _reason(text: str) -> str:
    """A reason without what a shell or scontrol would take for more than text."""
    words = "".join(char for char in visible(text) if char not in "\"'\\`$!;\n")
    return words if len(words) <= LONGEST_REASON else words[: LONGEST_REASON - 1] + "…"
