"""What receives the progress of a run of measurements: a table on a terminal, or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from gpudoctor.benchmark.job_plan import Job
from gpudoctor.model.measurement import Measurement


class MeasurementListener(Protocol):
    def planned(self, jobs: Sequence[Job], seconds: float) -> None:
        """Receives all planned jobs, and the estimated seconds of the run."""

    def begins(self, job: Job) -> None: ...
    def stage(self, job: Job, stage: str, table: Mapping[str, Any]) -> None: ...
    def ends(self, job: Job, measured: Measurement) -> None: ...
    def left(self, seconds: float) -> None:
        """Receives the estimated seconds of the rest."""
