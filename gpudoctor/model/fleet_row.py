"""One host of a fleet at one moment: the row that is made on the host, and from which a fleet is merged (gpudoctor.row/1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Struct, field

from gpudoctor.model.check import SEVERITIES
from gpudoctor.model.typed_json import Limits, shaped

SCHEMA = "gpudoctor.row/1"
LARGEST = 8192
"""Bytes of a row that gpudoctor writes. A reader takes LARGEST_READ, since a later version may write more."""
LARGEST_READ = 65_536
FAIL, WARN, UNKNOWN, SKIP, PASS = OUTCOMES = ("fail", "warn", "unknown", "skip", "pass")
"""What another program found of a host or a card, the worst first."""
OURS = "gpudoctor"
Text = Annotated[str, Limits(maxLength=400)]
Name = Annotated[str, Limits(minLength=1, maxLength=253)]
Count = Annotated[int, Limits(minimum=0)]


@shaped(open=True, optional=("uuid", "memory_bytes", "kind"))
class RowCard(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One GPU or accelerator of the host."""

    address: Text
    """The PCI address, else the device as its runtime names it (ipu:0). It names the card within the host."""
    vendor: Text
    model: Text
    kind: Text = ""
    """discrete, integrated, accelerator; empty where it is not known."""
    memory_bytes: Count | None = None
    uuid: Text = ""
    """The vendor's id of the very card, which stays when the card moves to another host; empty where no tool gave it."""


@shaped(open=True, optional=("subjects", "do"))
class RowFinding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One finding of the host's report, shortened."""

    id: Name
    key: Name
    """The id with a hash of its subjects; the same in every run."""
    severity: Annotated[str, Limits(enum=SEVERITIES)]
    confidence: Text
    layer: Text
    title: Text
    subjects: tuple[Text, ...] = ()
    do: Text = ""
    """The one thing to do, filled in for this host."""


@shaped(open=True, optional=("value", "unit", "card", "samples", "links", "ci95_percent", "disturbed", "reason"))
class RowMeasurement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One measurement of `validate`, shortened. Two hosts are compared on equal (workload, task, framework, backend, dtype, batch)."""

    workload: Name
    task: Text
    framework: Text
    backend: Text
    dtype: Text
    batch: Count
    status: Annotated[str, Limits(enum=("ok", "failed", "skipped"))]
    value: Annotated[float, Limits(minimum=0)] | None = None
    """The throughput in `unit`; more is better. None where nothing was measured."""
    unit: Text = ""
    card: Text = ""
    """The address of the card, as in RowCard, else the device (cuda:0); of a link the two ends, separated by a space."""
    links: Mapping[str, Annotated[float, Limits(minimum=0)]] = field(default_factory=dict)
    """What each link moved meanwhile, in GB/s, by its two ends: 'cuda:0 cuda:1', or 'cuda:0 gpu02:cuda:0' to another host. A host of eight
    cards has 28 links, which would not fit into a row as measurements of their own."""
    samples: tuple[Annotated[float, Limits(minimum=0)], ...] = ()
    """The throughput of each process that measured it, in `unit`; empty where one process did."""
    ci95_percent: Annotated[float, Limits(minimum=0)] | None = None
    disturbed: Text = ""
    """What made the figure less reliable: other processes on the card, noise. It is then no evidence against the card."""
    reason: Text = ""
    """Why it failed or was skipped."""


@shaped(open=True, optional=("card", "detail"))
class RowVerdict(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What another program found: one test of DCGM, SuperBench, a node check of the site."""

    program: Name
    test: Name
    outcome: Annotated[str, Limits(enum=OUTCOMES)]
    card: Text = ""
    """The address or number of the card; empty for the host as a whole."""
    detail: Text = ""


@shaped(
    open=True,
    optional=(
        "catalogue", "cards", "labels", "groups", "values", "findings", "measurements", "verdicts", "incomplete", "failed", "left_out",
        "report",
    ),
)  # fmt: skip
class FleetRow(Struct, frozen=True, kw_only=True):
    """One host at one moment. Rows are never changed: a host that is examined again gives another row."""

    schema: Annotated[str, Limits(const=SCHEMA)] = SCHEMA
    host: Name
    """The name by which the site calls the host: that of the node set, else the host's own short name."""
    run: Name
    """The id of the collection that asked for the row; the same for all hosts of one `fleet run`."""
    created: Annotated[str, Limits(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
    """UTC by the clock of the host."""
    tool: Text
    """The program that made the row, with its version: 'gpudoctor 0.1.0'."""
    catalogue: Text = ""
    """The version of the checks."""
    cards: tuple[RowCard, ...] = ()
    labels: Mapping[str, Text] = field(default_factory=dict)
    """What the site says of the host (role, rack, image, switch), from the environment variable GPUDOCTOR_LABELS or the file
    /etc/gpudoctor/labels (`role=train,rack=r12`). Cohorts are made of them."""
    groups: Mapping[str, Text] = field(default_factory=dict)
    """By category of facts (kernel, driver, firmware, runtime …): a hash of all of its facts but those that differ in every run. Equal
    hashes are equal facts; where they differ, the whole report is worth fetching."""
    values: Mapping[str, Text] = field(default_factory=dict)
    """The facts of which a fleet is asked most (kernel.release, nvidia.driver.version …), by name, as text."""
    findings: tuple[RowFinding, ...] = ()
    """Errors and warnings in the order of the report."""
    measurements: tuple[RowMeasurement, ...] = ()
    verdicts: tuple[RowVerdict, ...] = ()
    incomplete: tuple[Text, ...] = ()
    """What was not examined, with the reason."""
    failed: Text = ""
    """Why there is no result ('no answer within 60 s', 'ssh: connection refused'); empty where there is one."""
    left_out: Mapping[str, Count] = field(default_factory=dict)
    """How many items of a field did not fit into LARGEST bytes."""
    report: Text = ""
    """Where the whole report lies; empty where it was not kept."""


def program(tool: str) -> str:
    """The program that made a row, from its `tool`. A row of another program than OURS holds verdicts alone."""
    return tool.partition(" ")[0] or OURS


def metric(measured: RowMeasurement) -> tuple[str, str, str, str, str, int]:
    """What was measured: the key by which the cards of a cohort are compared."""
    return (measured.workload, measured.task, measured.framework, measured.backend, measured.dtype, measured.batch)
