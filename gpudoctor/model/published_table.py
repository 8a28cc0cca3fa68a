"""A published table that was measured again: each measurement beside the published numbers."""

from __future__ import annotations

from dataclasses import dataclass

from gpudoctor.model.measurement import Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedNumber:
    """One published number, compared with the measurement."""

    id: str
    device: str
    software: str
    """The framework, its version and the backend: 'openvino 2022.1 gpu'."""
    batch: int | None
    value: float
    unit: str
    source: str
    ratio: float | None = None
    """The measured value divided by the published one, above 1 is better; None where they cannot be compared."""
    differs: tuple[str, ...] = ()
    """What differs from the publication: 'batch 16 then, 1 now'."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One row. `note`: a remark on the row. `relative`: the throughput divided by that of the given report."""

    measured: Measurement
    published: tuple[PublishedNumber, ...] = ()
    note: str = ""
    relative: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMeasured:
    """The whole table. `relations`: sentences of the publication that compare two situations."""

    id: str
    title: str
    source: str
    rows: tuple[TableRow, ...] = ()
    relations: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """What was not measured, with the reason."""
    relative_to: str = ""
    interrupted: bool = False
