"""The measurements of a run, as recordings of machines and the state folder hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, TypedDict

from gpudoctor.model.measurement import Measurement
from gpudoctor.model.typed_json import Limits

KEPT_FORMAT = 1


class RecordedRun(TypedDict):
    """The measurements of one run of `validate`, as a recording of a machine holds them (measurements.json)."""

    date: str
    """UTC: 2026-11-21T20:00:00Z."""
    measurements: Sequence[Measurement]


class KeptRun(RecordedRun):
    """The measurements of one environment on one device, as the state folder keeps them for a later `check`."""

    format: Annotated[int, Limits(const=KEPT_FORMAT)]
    environment: str
    """The interpreter (fact python.executable)."""
    framework: str
    device: str
    depends_on: Mapping[str, str | None]
    """Versions of software and devices that influence the result; null: absent."""
