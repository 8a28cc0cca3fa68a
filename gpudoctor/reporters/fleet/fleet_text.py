"""The screen of `gpudoctor fleet show`: which hosts cannot be used, which are not like the others, what is slow, what the fleet shares."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.model.fleet_row import FAIL, WARN
from gpudoctor.model.fleet_view import (
    CLEARED,
    CONFIRMED,
    SUSPECT,
    Cohort,
    Difference,
    FleetFinding,
    FleetView,
    HostGroup,
    HostState,
    Suspicion,
)
from gpudoctor.model.node_sets import fold
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.layout import Line, Span, Terminal, hanging

MOST = 12
"""The lines of one part that are shown; --verbose shows all."""
_SEVERITY = {"error": "bad", "warning": "warn", "info": "dim"}
_LIFE = {SUSPECT: "warn", CONFIRMED: "bad", CLEARED: "good"}
_ANSWERS = (("fresh", "answered"), ("failed", "failed"), ("silent", "silent"), ("stale", "only earlier results"), ("refused", "refused"))


def render(view: FleetView, terminal: Terminal | None = None, *, verbose: bool = False) -> str:
    terminal = terminal or Terminal()
    width, most = min(max(terminal.width, 60), 120), 10_000 if verbose else MOST
    lines: list[Line] = [*_head(view, width), *_unusable(view, width, most), *_cohorts(view, width, most), *_slow(view, width, most)]
    lines += [*_findings(view, width, most), *_verdicts(view, width, most), *_drift(view, width, most), *_rest(view, width)]
    return terminal.draw(lines)


def host(view: FleetView, name: str, terminal: Terminal | None = None) -> str:
    """The screen of one host. Raises KeyError for a host that the view does not hold."""
    terminal = terminal or Terminal()
    width = min(max(terminal.width, 60), 120)
    state = next((each for each in view.hosts if each.host == name), None)
    if state is None:
        raise KeyError(name)
    cohort = next((each for each in view.cohorts if each.name == state.cohort), None)
    group = next((each for each in cohort.groups if name in each.hosts), None) if cohort else None
    lines: list[Line] = [*_about(state, width)]
    if cohort is not None and group is not None:
        alike = len(group.hosts) - 1
        lines += hanging(
            (Span("cohort    ", "dim"),),
            f"{cohort.name}, {_hosts(cohort.hosts)}; {alike or 'none'} of the others equal{'s' * (alike == 1)} this one",
            width,
        )
        lines += [line for each in group.differences for line in _difference(each, width, 10)]
    lines += _slow(view, width, 10_000, name)
    for each in view.findings:
        if name in each.hosts:
            lines += _finding(each, width, others=len(each.hosts) - 1)
    for verdict in view.verdicts:
        if name in verdict.hosts:
            lines += hanging((Span("          ", ""),), f"{verdict.program} {verdict.test}: {verdict.outcome}. {verdict.detail}", width)
    return terminal.draw(lines)


def _head(view: FleetView, width: int) -> Iterator[Line]:
    counts = {answer: sum(each.answer == answer for each in view.hosts) for answer, _ in _ANSWERS}
    said = ", ".join(f"{counts[answer]} {words}" for answer, words in _ANSWERS if counts[answer])
    yield from hanging((Span(_hosts(len(view.hosts)), "bold"), Span(" · ")), f"run {view.run}: {said or 'no results'}", width)
    for answer, words in (("silent", "silent"), ("stale", "stale")):
        if counts[answer]:
            named = fold([each.host for each in view.hosts if each.answer == answer])
            yield from hanging((Span(f"{words:<10}", "warn"),), named, width)
    if len(view.versions) > 1:
        said = "; ".join(f"{number} × {name}" for name, number in sorted(view.versions.items(), key=lambda each: -each[1]))
        yield from hanging((Span("note      ", "warn"),), f"The rows were made by different versions: {said}.", width)


def _about(state: HostState, width: int) -> Iterator[Line]:
    word, style = {True: ("usable", "good"), False: ("not usable", "bad"), None: ("not known", "warn")}[state.usable]
    when = f"{state.answer}, row of {state.created.replace('T', ' ')[:16]}" if state.created else state.answer
    yield from hanging((Span(visible(state.host), "bold"), Span("  "), Span(word, style), Span("  ")), when, width)
    if state.reason:
        yield from hanging((Span("reason    ", "dim"),), state.reason, width)


def _unusable(view: FleetView, width: int, most: int) -> Iterator[Line]:
    """Hosts with an error, and hosts that gave no result, of which it is not known whether they can be used."""
    bad = [each for each in view.hosts if each.usable is False]
    mute = [each for each in view.hosts if each.usable is None and each.answer in ("failed", "refused")]
    yield ()
    if bad:
        yield from _by_reason(f"{_hosts(len(bad))} cannot be used: ", "bad", bad, width, most)
    else:
        good = sum(each.usable is True for each in view.hosts)
        yield (Span(f"{_hosts(good)} can be used; nothing speaks against a single host.", "good" if good else "warn"),)
    if mute:
        yield ()
        yield from _by_reason(f"{_hosts(len(mute))} gave no result: ", "warn", mute, width, most)


def _by_reason(title: str, style: str, hosts: list[HostState], width: int, most: int) -> Iterator[Line]:
    yield from hanging((Span(title, style),), fold([each.host for each in hosts]), width)
    found: dict[str, list[str]] = {}
    for each in hosts:
        found.setdefault(each.reason, []).append(each.host)
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    for reason, alike in ordered[:most]:
        yield from _columns(fold(alike), reason or "no result", width)
    yield from _more(len(ordered) - most, "reasons")


def _cohorts(view: FleetView, width: int, most: int) -> Iterator[Line]:
    odd = [each for each in view.cohorts if len(each.groups) > 1]
    alike = [each for each in view.cohorts if len(each.groups) == 1]
    if odd:
        yield ()
        yield (Span("Not like the others", "bold"),)
    for cohort in odd[:most]:
        yield from _cohort(cohort, width, most)
    yield from _more(len(odd) - most, "cohorts")
    if alike:
        yield ()
    for each in alike[:most]:
        said = "all alike" if each.hosts > 1 else "nothing to compare it with"
        yield from hanging((Span("  "),), f"{each.name}: {_hosts(each.hosts)}, {said}", width, style="dim")
    yield from _more(len(alike) - most, "cohorts without a difference")


def _cohort(cohort: Cohort, width: int, most: int) -> Iterator[Line]:
    odd = [each for each in cohort.groups if each.odd]
    kinds = [each for each in cohort.groups if not each.odd]
    said = [f"{len(kinds)} kinds of hosts, none of which is the odd one"] if cohort.kind == "several" else []
    if odd:
        number = sum(len(each.hosts) for each in odd)
        said.append(f"{number} differ{'s' * (number == 1)} from the others")
    yield from hanging((Span("  "),), f"{cohort.name}: {_hosts(cohort.hosts)}, {', '.join(said) or 'all alike'}", width, style="bold")
    for group in (*(kinds if cohort.kind == "several" else ()), *odd[:most]):
        yield from _group(group, width)
    yield from _more(len(odd) - most, "groups")


def _group(group: HostGroup, width: int) -> Iterator[Line]:
    words = f"{_hosts(len(group.hosts))}" + (f", findings: {', '.join(group.findings)}" if group.findings else "")
    yield from _columns(group.folded, words, width, indent=4)
    ordered = sorted(group.differences, key=lambda each: not each.matters)
    for difference in ordered[:4]:
        yield from _difference(difference, width, 8)
    yield from _more(len(ordered) - 4, "differences; --verbose or --format json has them")


def _difference(each: Difference, width: int, indent: int) -> Iterator[Line]:
    name = f"the {each.fact.removeprefix('group:')} facts" if each.fact.startswith("group:") else each.fact
    said = (
        f"{each.value or 'none'}, usually {each.usual or 'none'}" if not each.fact.startswith("group:") else "differ; compare two reports"
    )
    if each.matters:
        said += f". It matters: {', '.join(each.matters[:3])}"
    if each.follows:
        said += f". It follows {each.follows}"
    if each.unit:
        said += f". What is changed together: {each.unit}"
    yield from hanging((Span(" " * indent), Span(f"{visible(name)}: ", "dim")), said, width)


def _slow(view: FleetView, width: int, most: int, only: str = "") -> Iterator[Line]:
    found = [each for each in view.suspicions if not only or each.host == only]
    if found:
        yield ()
        yield (Span("Slower than their cohort", "bold"),)
    for each in found[:most]:
        yield from _suspicion(each, width)
    yield from _more(len(found) - most, "cards or links")


def _suspicion(each: Suspicion, width: int) -> Iterator[Line]:
    place = each.card if ":" in each.card and each.host in each.card else f"{each.host} {each.card}"
    said = (
        f"{each.workload}: {each.value:.4g} {each.unit}, {each.below_percent:.1f} % below the median {each.median:.4g} of {each.samples}"
        f" (z {each.z:.1f}); {each.runs} run{'s' if each.runs != 1 else ''}"
    )
    yield from hanging((Span("  "), Span(f"{each.life:<10}", _LIFE[each.life]), Span(f"{visible(place)}  ")), said, width)


def _findings(view: FleetView, width: int, most: int) -> Iterator[Line]:
    if view.findings:
        yield ()
        yield (Span("Findings", "bold"),)
    for each in view.findings[:most]:
        yield from _finding(each, width)
    yield from _more(len(view.findings) - most, "findings")


def _finding(each: FleetFinding, width: int, others: int | None = None) -> Iterator[Line]:
    where = f"{_hosts(len(each.hosts))}, {each.share:.0%}" if others is None else f"{_hosts(others)} more" if others else "this host alone"
    lead = (Span("  "), Span(f"{each.severity:<8}", _SEVERITY[each.severity]))
    yield from hanging(lead, f"{each.title}  [{where}]", width)
    if others is None:
        yield from hanging((Span(" " * 10),), each.folded, width, style="dim")
    if each.doubted:
        yield from hanging(
            (Span(" " * 10),), "So many hosts of different kinds have it that the check itself is in doubt.", width, style="warn"
        )
    elif each.of_the_fleet:
        yield from hanging((Span(" " * 10),), "It is a trouble of the fleet (image, site), not of single hosts.", width, style="dim")
    if each.do:
        yield from hanging((Span(" " * 10), Span("do  ", "dim")), each.do, width)
    yield (Span(" " * 10), Span(f"gpudoctor show {visible(each.id)}", "command"))


def _verdicts(view: FleetView, width: int, most: int) -> Iterator[Line]:
    shown = [each for each in view.verdicts if each.outcome in (FAIL, WARN)]
    if view.verdicts:
        yield ()
        yield (Span("Other programs", "bold"),)
        if not shown:
            yield (Span(f"  {len(view.verdicts)} results of other programs, none of which failed.", "good"),)
    for each in shown[:most]:
        lead = (Span("  "), Span(f"{each.outcome:<6}", "bad" if each.outcome == FAIL else "warn"))
        yield from hanging(lead, f"{each.program} {each.test} on {each.folded}. {each.detail}", width)
    yield from _more(len(shown) - most, "results")


def _drift(view: FleetView, width: int, most: int) -> Iterator[Line]:
    if not view.since:
        return
    yield ()
    yield (Span(f"Since {visible(view.since)}", "bold"),)
    if not view.drift:
        yield (Span("  Nothing that a row holds has changed.", "good"),)
    for each in view.drift[:most]:
        yield from _columns(each.folded, f"{each.what}: {each.before or 'none'} before, {each.after or 'none'} now", width)
    yield from _more(len(view.drift) - most, "changes")


def _rest(view: FleetView, width: int) -> Iterator[Line]:
    yield ()
    if view.refused:
        place, why = next(iter(view.refused.items()))
        more = f" and {len(view.refused) - 1} more" if len(view.refused) > 1 else ""
        yield from hanging((Span("Refused: ", "warn"),), f"{place}{more}: {why}", width)
    bad = next((each for each in view.hosts if each.usable is False), None)
    if bad is not None:
        yield (Span("Next: ", "dim"), Span(f"gpudoctor fleet show --host {visible(bad.host)}", "command"))
    elif any(each.answer in ("silent", "failed", "stale") for each in view.hosts):
        yield (Span("Next: ", "dim"), Span("gpudoctor fleet run --hosts NODES", "command"), Span(" asks the hosts without a result again"))


def _columns(first: str, text: str, width: int, indent: int = 2) -> list[Line]:
    """A node set with a text beside it, or below it where the node set is long."""
    names = visible(first)
    if len(names) > 24:
        return [*hanging((Span(" " * indent),), names, width), *hanging((Span(" " * (indent + 4)),), text, width)]
    return hanging((Span(" " * indent), Span(names.ljust(26 - indent)),), text, width)  # fmt: skip


def _more(number: int, what: str) -> Iterator[Line]:
    if number > 0:
        yield (Span(f"    and {number} more {what}", "dim"),)


def _hosts(number: int) -> str:
    return f"{number} host" if number == 1 else f"{number} hosts"
