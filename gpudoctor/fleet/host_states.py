"""What is known of each host: whether it answered in this run, whether it can be used, and the first reason against it.

Against a host count: an error of its own report, unless the check is doubted or only asks; a test of another program that failed, unless
it fails nearly everywhere; a card or link of it that is confirmed as slow; that it has no GPU. While somebody else uses a slow card, the
host is neither usable nor not: nothing is done to a host on which a job runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from gpudoctor.fleet.cohorts import Division
from gpudoctor.fleet.fleet_findings import nearly_everywhere
from gpudoctor.model.fleet_row import FAIL, OURS, PASS, WARN, FleetRow, program
from gpudoctor.model.fleet_view import CONFIRMED, FleetFinding, HostState, Suspicion
from gpudoctor.model.node_sets import is_name, natural

_ERROR, _POSSIBLE = "error", "possible"
_RAN = (PASS, WARN, FAIL)
_SHORT = 80


class Answers(Struct, frozen=True, kw_only=True):
    """What came of each host. A host that is in several of these counts as what is named first."""

    fresh: Mapping[str, FleetRow]
    failed: Mapping[str, FleetRow]
    refused: Mapping[str, str]
    older: Mapping[str, str]
    """The time of the last row, by host."""
    silent: Collection[str]
    busy: Collection[str]
    """The hosts on which somebody else used a card while it was measured."""


def refused_hosts(refused: Mapping[str, str], known: Iterable[str]) -> dict[str, str]:
    """The hosts whose row could not be read, with the reason: where the place of a refused row is the name of a known host, or a file
    that is called like one."""
    hosts = set(known)
    found = {}
    for place, why in refused.items():
        name = place.replace("\\", "/").rpartition("/")[2]
        host = next((each for each in (name, name.removesuffix(".json")) if each in hosts and is_name(each)), None)
        if host is not None:
            found[host] = why
    return found


def states(
    answers: Answers, divisions: Sequence[Division], findings: Sequence[FleetFinding], suspicions: Sequence[Suspicion]
) -> tuple[HostState, ...]:  # fmt: skip
    """Every host, in natural order."""
    cohorts = {row.host: each.name for each in divisions for row in each.rows}
    doubted = {each.id for each in findings if each.doubted}
    passed_over = _failing_nearly_everywhere(answers.fresh.values(), divisions)
    confirmed: dict[str, list[Suspicion]] = {}
    for each in suspicions:
        if each.life == CONFIRMED:
            confirmed.setdefault(each.host, []).append(each)
    found: dict[str, HostState] = {}
    for host, row in answers.fresh.items():
        usable, reason = _judged(row, doubted, passed_over, confirmed.get(host, ()), host in answers.busy)
        found[host] = HostState(
            host=host, answer="fresh", created=row.created, usable=usable, reason=_short(reason), cohort=cohorts.get(host, "")
        )  # fmt: skip
    for answer, host, created, reason in _without_a_result(answers):
        found.setdefault(host, HostState(host=host, answer=answer, created=created, usable=None, reason=_short(reason)))
    return tuple(sorted(found.values(), key=lambda each: natural(each.host)))


def _without_a_result(answers: Answers) -> Iterator[tuple[str, str, str, str]]:
    for host, row in answers.failed.items():
        yield "failed", host, row.created, row.failed
    for host, why in answers.refused.items():
        yield "refused", host, "", f"its row could not be read: {why}"
    for host, created in answers.older.items():
        yield "stale", host, created, f"no row of this run; the last one is of {created}"
    for host in answers.silent:
        yield "silent", host, "", "no answer in this run or in an earlier one"


def _judged(
    row: FleetRow, doubted: Collection[str], passed_over: Collection[str], confirmed: Sequence[Suspicion], busy: bool
) -> tuple[bool | None, str]:  # fmt: skip
    """Whether a host that answered can be used, with the reason against it."""
    for finding in row.findings:
        if finding.severity == _ERROR and finding.confidence != _POSSIBLE and finding.id not in doubted:
            return False, finding.title
    for verdict in row.verdicts:
        if verdict.outcome == FAIL and (test := _test(verdict.program, verdict.test)) not in passed_over:
            return False, f"{test} failed: {verdict.detail}" if verdict.detail else f"{test} failed"
    for each in confirmed:
        what = f"{each.card or 'host'} is {each.below_percent:.1f} % slower than its cohort ({each.workload}, {each.runs} runs)"
        if busy:
            return None, f"{what}; a job may run there now"
        return False, what
    if program(row.tool) != OURS and not any(each.outcome in _RAN for each in row.verdicts):
        return None, "only other programs looked at it, and they came to no result"
    if program(row.tool) == OURS and not row.cards:
        return (None, "no GPU was found, and not everything was examined") if row.incomplete else (False, "no GPU was found")
    return True, ""


def _failing_nearly_everywhere(rows: Iterable[FleetRow], divisions: Sequence[Division]) -> set[str]:
    failing: dict[str, dict[str, None]] = {}
    for row in rows:
        for each in row.verdicts:
            if each.outcome == FAIL:
                failing.setdefault(_test(each.program, each.test), {})[row.host] = None
    return nearly_everywhere(failing, divisions)


def _test(program: str, test: str) -> str:
    return f"{program}: {test}"


def _short(text: str) -> str:
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 1]}…"
