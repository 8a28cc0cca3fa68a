"""The tables of a policy file (gpudoctor.policy/1, TOML), published as data/policy.schema.json and read by knowledge.policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

from gpudoctor.model.policy import MOST_DEVICES, SCHEMA, VENDORS, VERSIONS
from gpudoctor.model.report_document import Layer
from gpudoctor.model.typed_json import Limits, shaped

Range = Annotated[str, Limits(pattern=r"^\s*(===?|[<>!~]=?)")]
"""A range of versions, such as '>=2.8,<2.9'."""
Words = Annotated[str, Limits(minLength=1, maxLength=300)]


class AllTable(TypedDict):
    """True where all of the conditions are true."""

    all: Sequence[ConditionTable]


class AnyTable(TypedDict):
    """True where one of the conditions is true."""

    any: Sequence[ConditionTable]


NotTable = TypedDict("NotTable", {"not": "ConditionTable"})


class ItemTable(TypedDict):
    """One item of the records fact `of` satisfies `where`."""

    of: str
    where: ConditionTable


class SomeTable(TypedDict):
    """True where one item of a list of tables satisfies a condition."""

    some: ItemTable


_Operators = TypedDict(
    "_Operators",
    {
        "is": Any, "in": Any, "contains": Any, "matches": Any, "version": Any, "older_than": Any, "at_least": Any, "less_than": Any,
        "greater_than": Any, "known": "Annotated[bool, Limits(const=True)]", "absent": "Annotated[bool, Limits(const=True)]",
        "unknown": "Annotated[bool, Limits(const=True)]", "present": "Annotated[bool, Limits(const=True)]", "is_fact": str, "in_fact": str,
        "contains_fact": str, "older_than_fact": str, "at_least_fact": str, "less_than_fact": str, "greater_than_fact": str,
        "version_fact": str,
    },
    total=False,
)  # fmt: skip


@shaped(size={"minProperties": 2, "maxProperties": 2})
class LeafTable(_Operators):
    """One test of one fact, by one operator. `gpudoctor list facts` names the facts."""

    fact: str


ConditionTable = AllTable | AnyTable | NotTable | SomeTable | LeafTable


class DeviceTable(TypedDict, total=False):
    """At least so many devices such as this."""

    count: Annotated[int, Limits(minimum=1, maximum=MOST_DEVICES, default=1)]
    vendor: Annotated[str, Limits(enum=VENDORS)]
    name: Words
    """A part of the name; upper and lower case are alike."""
    memory_gib: Annotated[float, Limits(exclusiveMinimum=0)]
    """The size as the card is sold."""
    advice: str
    """What to do where the demand is not met."""


class _Selectors(TypedDict, total=False):
    task: str
    framework: str
    backend: str
    device: str
    device_name: str
    dtype: str
    batch: int
    unit: str
    """images/s, it/s, TFLOP/s and others."""
    advice: str
    """What to do where the demand is not met."""


class ThroughputTable(_Selectors):
    """The fastest fitting measurement of the last `gpudoctor validate`, on each device."""

    workload: str
    at_least: Annotated[float, Limits(exclusiveMinimum=0)]


class _DemandDetails(TypedDict, total=False):
    advice: str
    """What to do where the demand is not met."""
    layer: Layer
    stacks: Sequence[str]


class DemandTable(_DemandDetails):
    """Anything else, in the language of the checks."""

    name: Words
    that: ConditionTable


class PolicyTable(TypedDict, total=False):
    """A policy of gpudoctor (TOML).

    What must be there: gpudoctor check --expect FILE. gpudoctor check --write-expect FILE writes one.
    """

    schema: Annotated[str, Limits(const=SCHEMA)]
    device: Sequence[DeviceTable]
    versions: Annotated[Mapping[str, Range], Limits(propertyNames={"enum": list(VERSIONS)})]
    """Ranges such as '>=6.8' of the kernel, drivers and runtimes."""
    packages: Mapping[str, Range]
    """Ranges such as '>=2.8,<2.9' of packages in the target Python environment."""
    throughput: Sequence[ThroughputTable]
    demand: Sequence[DemandTable]
