"""What differs between two reports: facts, findings, verdicts."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Struct

from gpudoctor.model.check import SEVERITIES
from gpudoctor.model.typed_json import Limits

SCHEMA = "gpudoctor.diff/1"
STATES = ("new", "gone", "stayed")
CATEGORIES = (
    "kernel", "driver", "firmware", "device", "access", "runtime", "framework", "python", "environment", "package", "machine", "noise",
)  # fmt: skip
"""What a fact belongs to, ordered by how likely a change breaks a GPU stack. access: device nodes, groups and permissions; noise: values
that differ in every run."""


class Side(Struct, frozen=True, kw_only=True):
    """One of the two reports."""

    name: str
    """The file, `now`, or the run of the history."""
    created: str
    """UTC; empty for a capture."""
    machine: str
    """The GPUs, the system and the kernel, in one line."""
    errors: int
    warnings: int
    tool: str
    """The version of gpudoctor that wrote it."""
    catalogue: str
    """The version of the checks that judged it."""


class Change(Struct, frozen=True, kw_only=True):
    """A fact whose value differs."""

    fact: str
    """The dotted name; an item of a list of tables stands in brackets: gpus[0000:03:00.0].driver."""
    category: Annotated[str, Limits(enum=CATEGORIES)]
    before: Any
    """A JSON value; null where the fact was absent."""
    after: Any
    """A JSON value; null where the fact is absent."""
    derived: bool = False
    """Whether it is computed from other facts: a consequence, which is listed because a finding reads it."""
    new: tuple[str, ...] = ()
    """Ids of new findings whose conditions read this fact."""
    gone: tuple[str, ...] = ()
    """Ids of vanished findings whose conditions read this fact."""


class FindingChange(Struct, frozen=True, kw_only=True):
    """A finding of either report."""

    id: str
    key: str
    severity: Annotated[str, Limits(enum=SEVERITIES)]
    layer: str
    title: str
    state: Annotated[str, Limits(enum=STATES)]
    was: str | None = None
    """The severity before, where it differs."""
    changes: tuple[str, ...] = ()
    """Changed facts that its conditions read."""


class VerdictChange(Struct, frozen=True, kw_only=True):
    """A stack whose verdict differs."""

    stack: str
    title: str
    before: str
    after: str


class Diff(Struct, frozen=True, kw_only=True):
    """What changed between two reports of gpudoctor."""

    schema: Annotated[str, Limits(const=SCHEMA)] = SCHEMA
    before: Side
    after: Side
    findings: tuple[FindingChange, ...]
    """New findings first, then vanished ones, then those that stayed; each group in the order of its report."""
    changes: tuple[Change, ...]
    """Facts that a new finding reads come first, then the others by what can break a GPU stack."""
    verdicts: tuple[VerdictChange, ...] = ()
    one_sided: tuple[str, ...] = ()
    """Facts that are known in one of the two reports only, so that they cannot be compared."""
    followed: int = 0
    """The number of computed facts that changed as a consequence and are not listed."""
