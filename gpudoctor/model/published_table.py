"""A published table that was measured again: each measurement beside the published numbers."""

from __future__ import annotations

from msgspec import Struct

from gpudoctor.model.measurement import Measurement


class PublishedNumber(Struct, frozen=True, kw_only=True):
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


class TableRow(Struct, frozen=True, kw_only=True):
    """One row. `note`: a remark on the row. `relative`: the throughput divided by that of the given report."""

    measured: Measurement
    published: tuple[PublishedNumber, ...] = ()
    note: str = ""
    relative: float | None = None


class TableMeasured(Struct, frozen=True, kw_only=True):
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
