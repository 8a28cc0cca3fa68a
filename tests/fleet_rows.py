"""Rows of hosts for tests of the merge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpudoctor.fleet.merging import merge
from gpudoctor.model.fleet_row import FleetRow, RowCard, RowFinding, RowMeasurement, RowVerdict
from gpudoctor.model.fleet_view import Cohort, FleetView, HostState

RUN, CREATED, VIEWED = "run-2", "2026-11-20T10:00:00Z", "2026-11-20T10:02:00Z"
GIB = 2**30


def cards(count: int = 2, model: str = "H100", memory: int | None = 80 * GIB, uuid: str = "") -> tuple[RowCard, ...]:
    return tuple(
        RowCard(address=f"0000:{number:02x}:00.0", vendor="nvidia", model=model, memory_bytes=memory, uuid=uuid and f"{uuid}-{number}")
        for number in range(count)
    )


def row(host: str, *, values: Mapping[str, str] | None = None, **fields: Any) -> FleetRow:
    given = {"run": RUN, "created": CREATED, "tool": "gpudoctor 0.1.0", "catalogue": "2026.11.20", "cards": cards()} | fields
    return FleetRow(host=host, values={"nvidia.driver.version": "550.54"} if values is None else values, **given)


def rows(count: int, **fields: Any) -> list[FleetRow]:
    return [row(name(number), **fields) for number in range(count)]


def name(number: int) -> str:
    return f"gpu{number:03}"


def finding(identity: str, severity: str = "error", **fields: str) -> RowFinding:
    given = {"confidence": "certain", "layer": "kernel-driver", "title": f"title of {identity}"} | fields
    return RowFinding(id=identity, key=identity, severity=severity, **given)


def verdict(test: str, outcome: str, detail: str = "") -> RowVerdict:
    return RowVerdict(program="dcgm", test=test, outcome=outcome, detail=detail)


def measured(value: float | None, card: int | str = 0, workload: str = "matmul", **fields: Any) -> RowMeasurement:
    given = {
        "task": "micro", "framework": "torch", "backend": "cuda", "dtype": "float32", "batch": 0, "status": "ok", "unit": "TFLOP/s",
    } | fields  # fmt: skip
    return RowMeasurement(workload=workload, value=value, card=card if isinstance(card, str) else f"0000:{card:02x}:00.0", **given)


def view(now: Iterable[FleetRow], **options: Any) -> FleetView:
    return merge(now, **{"run": RUN, "created": VIEWED} | options)


def cohort(now: Iterable[FleetRow], **options: Any) -> Cohort:
    """The only cohort of the rows."""
    (found,) = view(now, **options).cohorts
    return found


def state(shown: FleetView, host: str) -> HostState:
    return next(each for each in shown.hosts if each.host == host)


def odd(found: Cohort) -> dict[str, dict[str, tuple[str, str]]]:
    """The odd groups of a cohort by their node set: each odd fact with its value and the usual one."""
    return {each.folded: {one.fact: (one.value, one.usual) for one in each.differences} for each in found.groups if each.odd}


def kinds(found: Cohort) -> Sequence[str]:
    return [each.folded for each in found.groups if not each.odd]
