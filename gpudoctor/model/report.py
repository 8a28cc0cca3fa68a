"""The result of a check: findings, ladders and the report (gpudoctor.report/1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from gpudoctor.model.check import Advice
from gpudoctor.model.condition import Verdict

if TYPE_CHECKING:
    from gpudoctor.model.measurement import Measurement

SCHEMA = "gpudoctor.report/1"
ORIGINS = ("live", "capture", "text")
STATUSES = ("ok", "warning", "broken", "unknown", "not-reached")
"""The states of one layer of a stack."""
VERDICTS = ("ok", "broken", "incomplete", "unknown", "not-applicable")
"""The verdicts on a stack as a whole."""


class Finding(Struct, frozen=True, kw_only=True):
    """One cause of trouble on the machine. `caused_by` is the key of the finding that it follows from."""

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
    """The advice, with the facts filled in."""
    sources: tuple[str, ...]
    caused_by: str | None = None
    confirmed: int = 0
    """The number of conditions that were evaluated as true. Of otherwise equal findings, the one with more is listed first."""
    said_at: tuple[int, ...] = ()
    """The numbers of the lines in which the text contains the message."""
    ask: str = ""
    """For a finding that is only possible, the question that decides it; `look` is the command that answers the question."""
    look: str = ""
    strength: int = 0
    """The number of letters that the matching signature requires. Of two findings on one message, the more specific is listed first."""


class LayerResult(Struct, frozen=True, kw_only=True):
    """The state of one layer of a stack, with the reason in words."""

    layer: str
    status: str
    """One of STATUSES."""
    detail: str


class StackResult(Struct, frozen=True, kw_only=True):
    """The verdict on one stack, with its layers from the device upwards."""

    stack: str
    title: str
    verdict: str
    """One of VERDICTS."""
    used: bool
    layers: tuple[LayerResult, ...]
    recipe: str = ""
    """The recipe of `setup` that installs the stack; empty where there is none."""
    serves: tuple[str, ...] = ()
    """The purposes (`setup --for`) that the stack serves."""

    @property
    def broken_layer(self) -> str | None:
        return next((rung.layer for rung in self.layers if rung.status == "broken"), None)


class Trace(Struct, frozen=True, kw_only=True):
    """How one check was decided for one subject, for --why."""

    check: str
    subject: str
    outcome: str
    applies: Verdict | None
    problem: Verdict | None
    suspect: Verdict | None = None
    said: Verdict | None = None
    """Whether a text contains one of the signatures; None for a check without signatures."""
    silenced_by: str | None = None
    """The more specific check that reports the same problem."""
    place: str = ""
    """For a demand of a policy, its place as file:line."""


class Report(Struct, frozen=True, kw_only=True):
    """Everything that was found out about one machine or text. `created` is a time in UTC: 2026-11-20T10:00:00Z."""

    tool_version: str
    created: str
    origin: str
    facts: Mapping[str, Any]
    """The tree of known facts. Unknown facts are left out; facts that are known to be absent are None."""
    stacks: tuple[StackResult, ...]
    findings: tuple[Finding, ...]
    summary: Mapping[str, Any]
    headline: Mapping[str, str] = field(default_factory=dict)
    """The words of the first line of a screen: machine, os, kernel, python and others."""
    not_looked_at: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()
    traces: tuple[Trace, ...] = ()
    catalogue_version: str = ""
    redactions: Mapping[str, int] = field(default_factory=dict)
    measurements: tuple[Measurement, ...] = ()
    undetermined: tuple[str, ...] = ()
    """Demands of a policy that could not be judged."""
    seconds: float | None = None
    """The duration of the check. It is not part of the document, which is the same for the same machine."""
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Unknown facts by name, each with the reason: what `facts` leaves out."""
