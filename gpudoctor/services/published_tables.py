"""The service of `validate --table`: measures a published table again, beside the published numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpudoctor.benchmark import tables
from gpudoctor.benchmark.job_plan import MeasurementRequestError
from gpudoctor.benchmark.measurement_listener import MeasurementListener
from gpudoctor.model.published_table import TableMeasured, TableRow
from gpudoctor.services import checking
from gpudoctor.services.measurement_run import Run
from gpudoctor.services.measurement_setting import Progress, look
from gpudoctor.services.validating import ValidateRequest
from gpudoctor.system.framework_child import Caches


def measure(
    name: str, request: ValidateRequest, progress: Progress | None = None, watcher: MeasurementListener | None = None,
    beside: tuple[str, Mapping[str, Any]] | None = None,
) -> TableMeasured:  # fmt: skip
    """The table with its measurements. `beside`: the name and the content of another report, to which the throughput is related. An
    interruption ends the table after the finished rows. Raises services.checking.RequestError."""
    try:
        chosen = tables.named(name)
    except MeasurementRequestError as error:
        raise checking.RequestError(str(error)) from error
    looked = look(request, progress)
    planned, left_out = tables.plan(chosen, looked.targets, request.asked)
    if not planned:
        why = f": {'; '.join(left_out)}" if left_out else ": no framework works in this environment; to find out why: gpudoctor check"
        raise checking.RequestError(f"--table {name}: nothing of it can be measured here{why}")
    run, rows, interrupted = Run(looked.host, looked.facts, watcher), [], False
    other = _measurements(beside[1]) if beside is not None else ()
    try:
        with Caches() as caches:
            for row_plan in planned:
                measured = (
                    run.together(row_plan.job, caches) if row_plan.job.peers else run.one(row_plan.job, caches, row_plan.of.environment)
                )
                numbers = tuple(tables.published(chosen, measured))
                rows.append(
                    TableRow(measured=measured, published=numbers, note=row_plan.of.note, relative=tables.relative(measured, other))
                )
    except KeyboardInterrupt:
        if not rows:
            raise
        interrupted = True
    return TableMeasured(
        id=chosen.id, title=chosen.title, source=chosen.source, rows=tuple(rows), notes=chosen.notes, left_out=tuple(left_out),
        relations=tuple(tables.sentences(chosen, (row.measured.workload for row in rows))), interrupted=interrupted,
        relative_to=beside[0] if beside is not None else "",
    )  # fmt: skip


def _measurements(report: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The measurements of a usual report, or of an earlier table."""
    table = report.get("table")
    rows = [row.get("measured") for row in table.get("rows", ()) if isinstance(row, Mapping)] if isinstance(table, Mapping) else None
    listed = rows if rows is not None else report.get("measurements")
    return [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
