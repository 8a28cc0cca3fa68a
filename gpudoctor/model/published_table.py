"""A published table, measured again: each measurement with the published numbers beside it."""

from __future__ import annotations

from dataclasses import dataclass

from gpudoctor.model.measurement import Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedNumber:
    """One number of the publication, and how this measurement compares with it."""

    id: str
    device: str
    software: str
    """Framework, version and backend: 'openvino 2022.1 gpu'."""
    batch: int | None
    value: float
    unit: str
    source: str
    ratio: float | None = None
    """What was measured by what was published, above 1 is better; None where the two cannot be brought together."""
    differs: tuple[str, ...] = ()
    """What was not the same: 'batch 16 then, 1 now'."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """`note`: what to know of this row. `relative`: the throughput by that of the report that was given."""

    measured: Measurement
    published: tuple[PublishedNumber, ...] = ()
    note: str = ""
    relative: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMeasured:
    """`relations`: sentences of the publication that compare two situations."""

    id: str
    title: str
    source: str
    rows: tuple[TableRow, ...] = ()
    relations: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """What was not measured, and why."""
    relative_to: str = ""
    interrupted: bool = False
