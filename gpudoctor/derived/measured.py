"""What `validate` measured, in facts that performance checks ask for. Nothing was measured: `measurements` is unknown, and so are these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpudoctor.derived._derivation import Derivation
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown

TASKS = ("training", "inference", "micro")
SOURCE = "gpudoctor validate"
FIELDS = {
    "name": "text", "workload": "text", "task": "text", "framework": "text", "backend": "text", "device": "text", "device_name": "text",
    "dtype": "text", "batch": "int", "status": "text", "reason": "text", "stage": "text", "compile": "text", "median_ms": "float",
    "first_ms": "float", "throughput": "float", "unit": "text", "ratio_to_reference": "float", "ceiling_fraction": "float",
    "ceiling_bound": "text", "mean_watts": "float", "memory_peak_bytes": "int", "correct": "bool", "noisy": "text",
}  # fmt: skip


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    rows = facts.value("measurements")
    if rows is None:
        for spec in PROVIDES:
            yield spec.name, Unknown("not probed")
        return
    rows = [row for row in rows if isinstance(row, Mapping)]
    done = [row for row in rows if row.get("status") == "ok"]
    for task in TASKS:
        mine = [row for row in done if row.get("task") == task]
        yield f"measured.{task}.ratio_to_reference", _lowest(mine, "ratio_to_reference")
        yield f"measured.{task}.ceiling_fraction", _highest(mine, "ceiling_fraction")
    yield "measured.done", Known(len(done), SOURCE)
    yield "measured.failed", Known(_names(rows, status="failed"), SOURCE)
    yield "measured.wrong", Known([str(row.get("name")) for row in rows if row.get("correct") is False], SOURCE)
    yield "measured.noisy", Known([str(row.get("name")) for row in done if row.get("noisy")], SOURCE)
    yield (
        "measured.throttled",
        Known(any(word in str(row.get("noisy") or "") for row in done for word in ("throttled", "clock fell")), SOURCE),
    )
    yield "measured.devices", Known(sorted({str(row.get("device")) for row in done}), SOURCE)


def _names(rows: list[Mapping[str, Any]], *, status: str) -> list[str]:
    return [str(row.get("name")) for row in rows if row.get("status") == status]


def _lowest(rows: list[Mapping[str, Any]], field: str) -> Fact:
    values = [row[field] for row in rows if isinstance(row.get(field), int | float)]
    return Known(min(values), SOURCE) if values else Absent(SOURCE)


def _highest(rows: list[Mapping[str, Any]], field: str) -> Fact:
    values = [row[field] for row in rows if isinstance(row.get(field), int | float)]
    return Known(max(values), SOURCE) if values else Absent(SOURCE)


PROVIDES = (
    *(
        FactSpec(f"measured.{task}.ratio_to_reference", "float", f"speed of {task} by the published one: the lowest of all")
        for task in TASKS
    ),
    *(
        FactSpec(f"measured.{task}.ceiling_fraction", "float", f"share of the device's roofline that {task} reached: the best")
        for task in TASKS
    ),
    FactSpec("measured.done", "int", "measurements that came to an end"),
    FactSpec("measured.failed", "list", "measurements that failed"),
    FactSpec("measured.wrong", "list", "measurements whose results differ from the processor's in float64"),
    FactSpec("measured.noisy", "list", "measurements whose numbers are not to be relied on"),
    FactSpec("measured.throttled", "bool", "the device was held back by heat or power while it was measured"),
    FactSpec("measured.devices", "list", "devices that were measured"),
)
MEASUREMENTS = FactSpec("measurements", "records", "what gpudoctor validate measured", item="measurement", fields=FIELDS)
DERIVATION = Derivation("measured", (*PROVIDES, MEASUREMENTS), derive)
