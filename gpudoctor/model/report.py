"""What comes out: findings, ladders and the report (gpudoctor.report/1 of the contract)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpudoctor.model.check import Advice
from gpudoctor.model.condition import Verdict

if TYPE_CHECKING:
    from gpudoctor.model.measurement import Measurement

SCHEMA = "gpudoctor.report/1"
ORIGINS = ("live", "capture", "text")
STATUSES = ("ok", "warning", "broken", "unknown", "not-reached")
"""What can be said of one layer of a stack."""
VERDICTS = ("ok", "broken", "incomplete", "unknown", "not-applicable")
"""What can be said of a stack as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One cause on this machine. `caused_by` is the key of the finding that it follows from."""

    id: str
    key: str
    subjects: tuple[str, ...]
    severity: str
    layer: str
    stacks: tuple[str, ...]
    title: str
    explanation: str
    confidence: str
    evidence: tuple[str, ...]
    advice: Advice
    """With the facts at hand filled in."""
    sources: tuple[str, ...]
    caused_by: str | None = None
    confirmed: int = 0
    """Number of leaves that were seen to hold: more confirmed conditions are read first."""
    said_at: tuple[int, ...] = ()
    """Lines of the text in which its message stands."""
    ask: str = ""
    """Where it is only possible: the question that decides it, and `look`, the command that answers it."""
    look: str = ""
    strength: int = 0
    """How much of a message its signature demanded: of two with one message, the exact one is read first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerResult:
    layer: str
    status: str
    """ok, warning, broken, unknown or not-reached"""
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StackResult:
    stack: str
    title: str
    verdict: str
    """ok, broken, incomplete, unknown or not-applicable"""
    used: bool
    layers: tuple[LayerResult, ...]
    recipe: str = ""
    """The recipe of `setup` that sets it up; empty where none does."""
    serves: tuple[str, ...] = ()
    """Purposes (`setup --for`) for which it does."""

    @property
    def broken_layer(self) -> str | None:
        return next((rung.layer for rung in self.layers if rung.status == "broken"), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """How one check came to its outcome, per subject: for --why."""

    check: str
    subject: str
    outcome: str
    applies: Verdict | None
    problem: Verdict | None
    suspect: Verdict | None = None
    said: Verdict | None = None
    """Whether a text showed one of its signatures; None for a check without."""
    silenced_by: str | None = None
    """A check that speaks of the same more exactly."""
    place: str = ""
    """Of a demand: file:line of the policy that makes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    tool_version: str
    created: str
    origin: str
    facts: Mapping[str, Any]
    """The tree of known facts; unknown ones are left out, known absences are None."""
    stacks: tuple[StackResult, ...]
    findings: tuple[Finding, ...]
    summary: Mapping[str, Any]
    headline: Mapping[str, str] = field(default_factory=dict)
    """machine, os, kernel, python: what the first line of a screen says."""
    not_looked_at: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()
    traces: tuple[Trace, ...] = ()
    catalogue_version: str = ""
    redactions: Mapping[str, int] = field(default_factory=dict)
    measurements: tuple[Measurement, ...] = ()
    undetermined: tuple[str, ...] = ()
    """Demands of a policy that could not be judged."""
    seconds: float | None = None
    """How long looking and judging took; not in the document, which says the same of the same machine."""
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Facts that could not be told, and why: what `facts` leaves out."""
