"""A fleet at one moment: what is the same on its hosts, what differs, which cards are slow, and what became of it (gpudoctor.fleet/1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Struct, field

from gpudoctor.model.check import SEVERITIES
from gpudoctor.model.typed_json import Limits

SCHEMA = "gpudoctor.fleet/1"
SUSPECT, CONFIRMED, CLEARED = LIVES = ("suspect", "confirmed", "cleared")
"""The life of a suspicion. One run makes a card or link a suspect; a further run that agrees confirms it; one that does not clears it."""
ANSWERS = ("fresh", "stale", "silent", "failed", "refused")
"""fresh: a row of this run; stale: only one of an earlier run; silent: expected, and no row at all; failed: the collection says why
there is no result; refused: its row could not be read. Only `fresh` can be a pass."""
KINDS = ("one", "several")
"""one: most hosts of the cohort agree; several: it falls into groups of similar size, of which none is the odd one."""


class Difference(Struct, frozen=True, kw_only=True):
    """A fact in which hosts differ from most of their cohort."""

    fact: str
    """The name of a value, or `group:driver` where only the hash of a category differs."""
    value: str
    usual: str
    """What most of the cohort has."""
    matters: tuple[str, ...] = ()
    """Ids of checks that read the fact and found something on these hosts and not on the others; empty where no check objects."""
    unit: str = ""
    """What is changed together with it on a host (the driver package with its kernel module, the image): the unit of a repair."""
    follows: str = ""
    """The label by which the hosts divide as they do by the fact: 'rack r12'. Empty where none does."""


class HostGroup(Struct, frozen=True, kw_only=True):
    """Hosts of one cohort that are equal in every compared fact and in their findings."""

    hosts: tuple[str, ...]
    folded: str
    """The hosts as a node set: gpu[01-31,33-64]."""
    differences: tuple[Difference, ...] = ()
    """Empty for the largest group. In a cohort of several kinds the first group of each further kind has what tells the kinds apart."""
    odd: bool = False
    """True: hosts that are unlike their kind. False: the first group of a kind."""
    findings: tuple[str, ...] = ()
    """Ids of errors and warnings that these hosts have."""


class Cohort(Struct, frozen=True, kw_only=True):
    """Hosts that should be alike: the same cards, role, rack and image, as far as these are known."""

    name: str
    """In words: '8 × H100 80 GB, role train'."""
    key: Mapping[str, str]
    hosts: int
    kind: Annotated[str, Limits(enum=KINDS)]
    groups: tuple[HostGroup, ...]
    """The largest first."""


class Suspicion(Struct, frozen=True, kw_only=True):
    """A card or a link that is slower than its cohort by the stated rule."""

    host: str
    card: str
    """The address of the card; for a link the two ends as 'host:card-host:card'."""
    workload: str
    """What was measured, in words: 'matmul float32'."""
    value: float
    median: float
    """The median of the cohort, in `unit`."""
    unit: str
    below_percent: float
    z: float
    """The modified z-score: 0.6745 × (value − median) / MAD."""
    cohort: str
    samples: int
    """The cards of the cohort that were measured."""
    runs: int
    """The runs in a row in which the rule accused it."""
    life: Annotated[str, Limits(enum=LIVES)]


class FleetFinding(Struct, frozen=True, kw_only=True):
    """One check that speaks on at least one host."""

    id: str
    title: str
    severity: Annotated[str, Limits(enum=SEVERITIES)]
    layer: str
    do: str
    hosts: tuple[str, ...]
    folded: str
    share: float
    """Of the hosts that answered freshly."""
    of_the_fleet: bool = False
    """Most hosts have it: a trouble of the image or of the site, not of a host."""
    doubted: bool = False
    """So many hosts have it that the check itself is suspected; it excludes no host."""


class HostState(Struct, frozen=True, kw_only=True):
    """One host as it is listed and handed on."""

    host: str
    answer: Annotated[str, Limits(enum=ANSWERS)]
    created: str
    """The time of its newest row; empty where there is none."""
    usable: bool | None
    """True: a fresh row without an error that counts against the host; False: one with; None: not known."""
    reason: str
    """The first reason against it, in a few words for a drain reason; empty where it is usable."""
    cohort: str = ""


class Drift(Struct, frozen=True, kw_only=True):
    """What changed on hosts between an earlier moment and this one."""

    hosts: tuple[str, ...]
    folded: str
    what: str
    """The fact, or the id of the finding."""
    before: str
    after: str


class FleetView(Struct, frozen=True, kw_only=True):
    """Everything that is shown of a fleet."""

    schema: Annotated[str, Limits(const=SCHEMA)] = SCHEMA
    created: str
    run: str
    """The run that is shown: the newest, unless another was asked for."""
    hosts: tuple[HostState, ...]
    """In natural order."""
    cohorts: tuple[Cohort, ...]
    """The largest first."""
    findings: tuple[FleetFinding, ...]
    """Those of the fleet first, then by severity, then by the number of hosts."""
    suspicions: tuple[Suspicion, ...] = ()
    verdicts: tuple[FleetVerdict, ...] = ()
    drift: tuple[Drift, ...] = ()
    """Empty where no earlier moment was asked for."""
    since: str = ""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Files that are no rows, each with the reason."""
    versions: Mapping[str, int] = field(default_factory=dict)
    """How many fresh rows each version of the program and of the checks made: 'gpudoctor 0.1.0, checks 2026.11.22'."""


class FleetVerdict(Struct, frozen=True, kw_only=True):
    """What another program found on hosts, beside ours."""

    program: str
    test: str
    outcome: str
    """One of fleet_row.OUTCOMES."""
    hosts: tuple[str, ...]
    folded: str
    detail: str
