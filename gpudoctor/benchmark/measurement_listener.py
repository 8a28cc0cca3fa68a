"""What receives the progress of a run of measurements: a table on a terminal, or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from gpudoctor.benchmark.job_plan import Job
from gpudoctor.model.measurement import Measurement


class MeasurementListener(Protocol):
    def planned(self, jobs: Sequence[Job], seconds: float) -> None:
        """All that may be measured, and about how long it takes."""

    def begins(self, job: Job) -> None: ...
    def stage(self, job: Job, stage: str, table: Mapping[str, Any]) -> None: ...
    def ends(self, job: Job, measured: Measurement) -> None: ...
    def left(self, seconds: float) -> None:
        """About how long the rest takes."""
