"""Documents of other programs: which one wrote it, and what it says of its hosts."""

from __future__ import annotations

from gpudoctor.fleet.others import dcgm, node_smoke, nodeverdict, superbench
from gpudoctor.fleet.others.result import Result

PROGRAMS = "dcgmi diag -j, sb result diagnosis, NVIDIA Health Validation, Primus node smoke"
_READERS = (dcgm.read, superbench.read, node_smoke.read, nodeverdict.read)


def read(document: object) -> tuple[Result, ...] | None:
    """The results in a parsed JSON document; None where no known program wrote it. A document of any shape is taken."""
    return next((found for reader in _READERS if (found := reader(document)) is not None), None)
