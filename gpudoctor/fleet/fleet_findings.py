"""Findings over all hosts: which are those of the fleet, and which checks are doubted.

A finding that more than MOST of the hosts have is one of the fleet. A check that speaks on DOUBTED or more of the hosts of each cohort,
in at least two cohorts with different cards of FEWEST hosts or more, is suspected itself: that unlike hosts all have one trouble is less
likely than that the check is wrong, or that it asks something of the site as a whole. A doubted check excludes no host.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from gpudoctor.fleet.cohorts import Division
from gpudoctor.model.check import SEVERITIES
from gpudoctor.model.fleet_row import OUTCOMES, FleetRow, RowFinding
from gpudoctor.model.fleet_view import FleetFinding, FleetVerdict
from gpudoctor.model.node_sets import fold, natural

MOST = 0.5
DOUBTED = 0.9
FEWEST = 3


class _Seen(Struct):
    """One check over all hosts."""

    hosts: dict[str, None] = field(default_factory=dict)
    texts: Counter[tuple[str, str]] = field(default_factory=Counter)
    severity: str = SEVERITIES[-1]
    layer: str = ""


def fleet_findings(rows: Sequence[FleetRow], divisions: Sequence[Division]) -> tuple[FleetFinding, ...]:
    """The findings of fresh rows: those of the fleet first, then by severity, then by the number of hosts."""
    seen: dict[str, _Seen] = {}
    for row in rows:
        for finding in row.findings:
            _count(seen.setdefault(finding.id, _Seen(layer=finding.layer)), row.host, finding)
    doubted = nearly_everywhere({name: each.hosts for name, each in seen.items()}, divisions)
    found = [_finding(name, each, len(rows), name in doubted) for name, each in seen.items()]
    return tuple(sorted(found, key=lambda each: (not each.of_the_fleet, SEVERITIES.index(each.severity), -len(each.hosts), each.id)))


def _count(seen: _Seen, host: str, finding: RowFinding) -> None:
    seen.hosts[host] = None
    seen.texts[finding.title, finding.do] += 1
    seen.severity = min(seen.severity, finding.severity, key=SEVERITIES.index)


def _finding(name: str, seen: _Seen, fresh: int, doubted: bool) -> FleetFinding:
    title, do = max(seen.texts, key=lambda text: (seen.texts[text], text))
    hosts = tuple(sorted(seen.hosts, key=natural))
    share = len(hosts) / fresh
    return FleetFinding(
        id=name, title=title, severity=seen.severity, layer=seen.layer, do=do, hosts=hosts, folded=fold(hosts), share=share,
        of_the_fleet=share > MOST and len(hosts) >= FEWEST, doubted=doubted,
    )  # fmt: skip


def nearly_everywhere(hosts_of: Mapping[str, Mapping[str, None]], divisions: Sequence[Division]) -> set[str]:
    """The names that nearly all hosts of all cohorts have, where there are cohorts with different cards."""
    large = [each for each in divisions if len(each.rows) >= FEWEST]
    kinds = {each.key["cards"] for each in large}
    if len(kinds) < 2:
        return set()
    least = DOUBTED * sum(len(each.rows) for each in large)
    return {
        name for name, hosts in hosts_of.items()
        if len(hosts) >= least and all(sum(row.host in hosts for row in each.rows) >= DOUBTED * len(each.rows) for each in large)
    }  # fmt: skip


def fleet_verdicts(rows: Sequence[FleetRow]) -> tuple[FleetVerdict, ...]:
    """What other programs found, folded over the hosts; what is not a pass comes first."""
    found: dict[tuple[str, str, str, str], dict[str, None]] = {}
    for row in rows:
        for each in row.verdicts:
            found.setdefault((each.program, each.test, each.outcome, each.detail), {})[row.host] = None
    verdicts = []
    for (program, test, outcome, detail), hosts in found.items():
        names = tuple(sorted(hosts, key=natural))
        verdicts.append(FleetVerdict(program=program, test=test, outcome=outcome, hosts=names, folded=fold(names), detail=detail))
    return tuple(sorted(verdicts, key=lambda each: (OUTCOMES.index(each.outcome), each.program, each.test, -len(each.hosts), each.detail)))
