"""Prometheus' text format for the textfile collector: gauges of the present state, without timestamps. `-o FILE.prom` replaces the file
as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.model.measurement import OK, SKIPPED, Measurement
from gpudoctor.model.report import VERDICTS, Report
from gpudoctor.reporters.shared.prometheus_text import Metric, Row, epoch, text


def render(report: Report) -> str:
    """Every series once. Names have the prefix `gpudoctor_`; seconds, bytes, joules and watts are the units."""
    return "".join(text(metric) for metric in (*_check(report), *_measured(report.measurements)))


def _check(report: Report) -> Iterator[Metric]:
    about = {"version": report.tool_version, "catalogue": report.catalogue_version, "origin": report.origin}
    yield Metric("gpudoctor_info", "The gpudoctor that wrote this, always 1.", [(about, 1)])
    yield Metric("gpudoctor_check_timestamp_seconds", "When the check was made, in seconds since 1970.", [({}, epoch(report.created))])
    yield Metric("gpudoctor_check_duration_seconds", "How long the check took.", [({}, report.seconds)])
    yield Metric("gpudoctor_check_incomplete", "1 where time ran out before everything was looked at.", [({}, bool(report.incomplete))])
    counts = {name: report.summary.get(f"{name}s") for name in ("error", "warning", "info")}
    yield Metric("gpudoctor_findings", "Findings of the check.", [({"severity": name}, _number(count)) for name, count in counts.items()])
    yield Metric("gpudoctor_unknown_layers", "Layers of stacks that were not checked.", [({}, _number(report.summary.get("unknown")))])
    yield Metric(
        "gpudoctor_stack_verdict", "1 for the verdict of each stack, 0 for the others.",
        [({"stack": stack.stack, "verdict": verdict, "used": "yes" if stack.used else "no"}, stack.verdict == verdict)
         for stack in report.stacks for verdict in VERDICTS],
    )  # fmt: skip
    yield Metric(
        "gpudoctor_stack_broken", "1 at the layer at which a stack is broken.",
        [({"stack": stack.stack, "layer": stack.broken_layer}, 1)
         for stack in report.stacks if stack.broken_layer and stack.verdict == "broken"],
    )  # fmt: skip
    yield Metric(
        "gpudoctor_finding", "1 for each finding; gpudoctor show ID says what it means.",
        [({"id": finding.id, "severity": finding.severity, "layer": finding.layer, "confidence": finding.confidence,
           "subjects": ", ".join(finding.subjects)}, 1) for finding in report.findings],
    )  # fmt: skip
    demands = [trace for trace in report.traces if trace.check == "demand-not-met"]
    words = {"ok": "met", "problem": "unmet", "undetermined": "unknown"}
    yield Metric(
        "gpudoctor_policy_demands", "Demands of the policy by what became of them.",
        [({"state": word}, sum(trace.outcome == outcome for trace in demands)) for outcome, word in words.items()] if demands else [],
    )  # fmt: skip


def _measured(measured: Sequence[Measurement]) -> Iterator[Metric]:
    named = list(zip(_labels(measured), measured, strict=True))
    done = [(labels, each) for labels, each in named if each.status == OK]
    yield Metric(
        "gpudoctor_measurement_ok", "1 where the measurement came to its end, 0 where it failed.",
        [(labels, each.status == OK) for labels, each in named if each.status != SKIPPED],
    )  # fmt: skip
    yield Metric(
        "gpudoctor_measurement_throughput", "Items in a second; the label unit says of what.",
        [({**labels, "unit": each.throughput.unit}, each.throughput.value) for labels, each in done if each.throughput],
    )  # fmt: skip
    for quantile in ("p50", "p95", "p99"):
        yield Metric(
            f"gpudoctor_measurement_latency_{quantile}_seconds", f"{quantile} of the time of one step over the whole batch.",
            [(labels, _seconds(each, quantile)) for labels, each in done],
        )  # fmt: skip
    yield Metric(
        "gpudoctor_measurement_memory_peak_bytes", "Most memory of the device in use.",
        [(labels, each.memory_peak_bytes) for labels, each in done],
    )  # fmt: skip
    energy = [(labels, each.energy) for labels, each in done if each.energy]
    yield Metric("gpudoctor_measurement_power_watts", "Mean power while it ran.", [(labels, each.mean_watts) for labels, each in energy])
    joules: list[Row] = [(labels, each.joules_per_item) for labels, each in energy]
    yield Metric("gpudoctor_measurement_energy_joules", "Energy for one item.", joules)
    yield Metric(
        "gpudoctor_measurement_correct", "1 where the results agree with those that they were compared with.",
        [(labels, each.correctness.passed) for labels, each in done if each.correctness],
    )  # fmt: skip
    yield Metric(
        "gpudoctor_measurement_ceiling_ratio", "Share of what the device can do at most.",
        [(labels, each.ceiling.fraction) for labels, each in done if each.ceiling],
    )  # fmt: skip
    yield Metric(
        "gpudoctor_measurement_reference_ratio", "Speed by that of a published result.",
        [(labels, each.reference.ratio) for labels, each in done if each.reference],
    )  # fmt: skip


def _labels(measured: Sequence[Measurement]) -> list[dict[str, str]]:
    """The labels that distinguish measurements; equal ones are numbered."""
    found: list[dict[str, str]] = []
    for each in measured:
        labels = {
            "workload": each.workload, "task": each.task, "framework": each.framework, "backend": each.backend, "device": each.device,
            "dtype": each.dtype, "batch": "" if each.batch is None else str(each.batch), "compile": each.compile,
        }  # fmt: skip
        title = each.title if each.title != each.workload else None
        more = {"optimizer": each.optimizer, "replicas": each.replicas, "title": title}
        labels.update((name, str(value)) for name, value in more.items() if value is not None)
        same = sum({**other, "run": ""} == {**labels, "run": ""} for other in found)
        found.append({**labels, "run": str(same + 1)} if same else labels)
    return found


def _seconds(measured: Measurement, quantile: str) -> float | None:
    latency = measured.latency_ms
    value = getattr(latency, quantile) if latency else None
    if value is None and latency and quantile == "p50":
        value = latency.median
    return None if value is None else value / 1000


def _number(value: object) -> float | None:
    return value if isinstance(value, (int, float)) else None
