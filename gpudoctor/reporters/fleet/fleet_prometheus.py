"""A fleet in Prometheus' text format, for the textfile collector of the host that collects. A host is a label, so that one file has all."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.model.fleet_view import ANSWERS, CLEARED, LIVES, FleetView
from gpudoctor.reporters.shared.prometheus_text import Metric, epoch, text


def render(view: FleetView) -> str:
    """Every series once, with the prefix `gpudoctor_fleet_`."""
    return "".join(text(metric) for metric in _metrics(view))


def _metrics(view: FleetView) -> Iterator[Metric]:
    yield Metric(
        "gpudoctor_fleet_timestamp_seconds", "When the rows were merged, in seconds since 1970.", [({"run": view.run}, epoch(view.created))]
    )
    counts = {answer: sum(each.answer == answer for each in view.hosts) for answer in ANSWERS}
    yield Metric("gpudoctor_fleet_hosts", "Hosts by what came of them.", [({"answer": name}, number) for name, number in counts.items()])
    known = [(each.host, each.usable) for each in view.hosts if each.usable is not None]
    yield Metric("gpudoctor_fleet_host_usable",
                 "1 where the host can be used, 0 where something speaks against it; absent where it is not known.",
                 [({"host": host}, int(usable)) for host, usable in known])  # fmt: skip
    yield Metric(
        "gpudoctor_fleet_finding_hosts", "Hosts with a finding.",
        [({"id": each.id, "severity": each.severity, "layer": each.layer}, len(each.hosts)) for each in view.findings],
    )  # fmt: skip
    lives = {life: sum(each.life == life for each in view.suspicions) for life in LIVES}
    yield Metric(
        "gpudoctor_fleet_suspicions",
        "Slow cards and links by the life of the suspicion.",
        [({"life": name}, count) for name, count in lives.items()],
    )
    yield Metric(
        "gpudoctor_fleet_slow_percent", "How far a suspect or confirmed card or link lies below the median of its cohort.",
        [({"host": each.host, "card": each.card, "workload": each.workload, "life": each.life}, each.below_percent)
         for each in view.suspicions if each.life != CLEARED],
    )  # fmt: skip
