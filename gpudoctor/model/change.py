"""What differs between two reports: facts, findings, verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SCHEMA = "gpudoctor.diff/1"
CATEGORIES = (
    "kernel", "driver", "firmware", "device", "access", "runtime", "framework", "python", "environment", "package", "machine", "noise",
)  # fmt: skip
"""By what can break a GPU stack, worst first. access: device nodes, groups, permissions; noise: what is another one at every run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two reports: what it is called, when it was made, what machine it speaks of."""

    name: str
    created: str
    machine: str
    errors: int
    warnings: int
    tool: str
    catalogue: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A fact that is not what it was. `before`, `after`: JSON values; None is 'not there'."""

    fact: str
    """Dotted, an item of a list of tables in brackets: gpus[0000:03:00.0].driver."""
    category: str
    before: Any
    after: Any
    derived: bool = False
    """It was computed from other facts: a consequence, named because a finding reads it."""
    new: tuple[str, ...] = ()
    """Ids of new findings whose conditions read this fact."""
    gone: tuple[str, ...] = ()
    """Ids of findings that are gone, likewise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingChange:
    """A finding of either report. state: new, gone, stayed. `was`: its severity before, where that was another one."""

    id: str
    key: str
    severity: str
    layer: str
    title: str
    state: str
    was: str | None = None
    changes: tuple[str, ...] = ()
    """Facts that its conditions read and that changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictChange:
    stack: str
    title: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    before: Side
    after: Side
    findings: tuple[FindingChange, ...]
    """New ones first, then gone, then stayed; each in the order of its report."""
    changes: tuple[Change, ...]
    """What a new finding reads first, then by category."""
    verdicts: tuple[VerdictChange, ...] = ()
    one_sided: tuple[str, ...] = ()
    """Facts that are known in one of the two only: nothing can be said of them."""
    followed: int = 0
    """Computed facts that changed besides, as consequences."""
