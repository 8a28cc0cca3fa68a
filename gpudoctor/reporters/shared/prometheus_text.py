"""Lines of Prometheus' text format: a metric with its rows, labels escaped."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from math import isfinite

from msgspec import Struct, field

from gpudoctor.reporters.shared.escape import visible

Row = tuple[Mapping[str, str], float | None]


class Metric(Struct):
    """A gauge. A row has labels and a value; None where it is not known."""

    name: str
    help: str
    rows: list[Row] = field(default_factory=list)


def epoch(created: str) -> float | None:
    try:
        return datetime.strptime(created, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None


def text(metric: Metric) -> str:
    """The lines of a metric; empty without a row. A value that is not finite has no row."""
    rows = [f"{metric.name}{_braces(labels)} {_value(value)}\n" for labels, value in metric.rows if value is not None and isfinite(value)]
    if not rows:
        return ""
    return f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name} gauge\n" + "".join(dict.fromkeys(rows))


def _value(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))


def _braces(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return visible(value).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
