"""A fleet as one HTML file that loads nothing: the hosts by their state, the odd ones, the slow cards, the findings."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.model.fleet_view import CLEARED, CONFIRMED, SUSPECT, Cohort, Difference, FleetFinding, FleetView, HostState, Suspicion
from gpudoctor.model.node_sets import fold
from gpudoctor.reporters.html import charts
from gpudoctor.reporters.html.document import page
from gpudoctor.reporters.html.element import Element, element
from gpudoctor.reporters.html.table import folded, table
from gpudoctor.reporters.html.words import mark, moment

MOST_ROWS = 500
"""The rows of one table; the JSON has all."""
MOST_BARS = 20
_STATES = (
    ("can be used", "good"), ("cannot be used", "bad"), ("failed to answer", "warn"), ("silent", "warn"), ("stale", "warn"),
    ("not known", "idle"),
)  # fmt: skip
_KINDS = {
    "error": "bad",
    "warning": "warn",
    "info": "note",
    SUSPECT: "warn",
    CONFIRMED: "bad",
    CLEARED: "good",
}


def render(view: FleetView) -> str:
    parts = (
        ("summary", "Summary", _summary(view)),
        ("odd", "Not like the others", _cohorts(view)),
        ("slow", "Slow cards", _slow(view)),
        ("findings", "Findings", _findings(view)),
        ("others", "Other programs", _verdicts(view)),
        ("since", "Changes", _drift(view)),
        ("hosts", "Hosts", _hosts(view)),
    )
    sections = [(place, name, content) for place, name, content in parts if content is not None]
    versions = "; ".join(f"{number} × {name}" for name, number in view.versions.items())
    footer = element("footer", versions or "gpudoctor", " · this file asks for nothing from the network")
    return page(f"{_headline(view)} – gpudoctor", element("span", "Made ", moment(view.created)), sections, footer)


def _state(host: HostState) -> str:
    if host.usable is not None:
        return "can be used" if host.usable else "cannot be used"
    return {"failed": "failed to answer", "refused": "failed to answer", "silent": "silent", "stale": "stale"}.get(host.answer, "not known")


def _headline(view: FleetView) -> str:
    bad = sum(each.usable is False for each in view.hosts)
    if bad:
        return f"{bad} of {_count(len(view.hosts))} cannot be used"
    unknown = sum(each.usable is None for each in view.hosts)
    return f"{unknown} of {_count(len(view.hosts))} gave no result" if unknown else f"All {_count(len(view.hosts))} can be used"


def _summary(view: FleetView) -> Element:
    counts = {name: sum(_state(each) == name for each in view.hosts) for name, _ in _STATES}
    most = max(len(view.hosts), 1)
    rows = [
        charts.Bar(label=name, value=str(counts[name]), share=counts[name] / most, kind=kind if kind != "idle" else "plain")
        for name, kind in _STATES if counts[name]
    ]  # fmt: skip
    height, shapes = charts.bars(rows)
    described = "; ".join(f"{row.label}: {row.value}" for row in rows) or "no hosts"
    odd = sum(len(each.groups) > 1 for each in view.cohorts)
    said = f"Run {view.run}. {_cohorts_in_words(len(view.cohorts), odd)}"
    return element(
        "section",
        element("h1", _headline(view), id="summary"),
        element("p", said, class_="lead"),
        charts.figure("hosts-by-state", "Hosts by state", described, height, shapes),
        class_="opening",
        aria_labelledby="summary",
    )


def _cohorts_in_words(number: int, odd: int) -> str:
    if not number:
        return "No host gave a result."
    whole = "Its hosts should all be alike" if number == 1 else f"Its hosts form {number} cohorts of hosts that should be alike"
    return f"{whole}, and they are." if not odd else f"{whole}; in {odd if number > 1 else 'the fleet'} some are not."


def _section(place: str, title: str, *content: Element | None) -> Element:
    return element("section", element("h2", title, id=place), *content, aria_labelledby=place)


def _cohorts(view: FleetView) -> Element | None:
    odd = [each for each in view.cohorts if len(each.groups) > 1]
    alike = [each for each in view.cohorts if len(each.groups) == 1]
    if not view.cohorts:
        return None
    rest = element(
        "p", "Without a difference: ", "; ".join(f"{each.name} ({_count(each.hosts)})" for each in alike[:MOST_ROWS]) + ".", class_="aside"
    )
    return _section("odd", "Not like the others", *(_cohort(each) for each in odd[:MOST_ROWS]), rest if alike else None)


def _cohort(cohort: Cohort) -> Element:
    several = cohort.kind == "several"
    said = (
        "It falls into several kinds of hosts, none of which is the odd one."
        if several
        else "The others are equal in all that a row holds."
    )
    groups = [each for each in cohort.groups if each.odd or several]
    rows = (
        (fold(each.hosts), str(len(each.hosts)), _differences(each.differences), ", ".join(each.findings) or "–")
        for each in groups[:MOST_ROWS]
    )
    shown = table(cohort.name, ("Hosts", "Number", "What differs", "Findings"), rows, (1,), words=True)
    return element("div", element("h3", f"{cohort.name}, {_count(cohort.hosts)}"), element("p", said, class_="intro"), shown)


def _differences(found: Sequence[Difference]) -> Element | str:
    return element("ul", (element("li", _difference(each)) for each in found)) if found else "–"


def _difference(each: Difference) -> str:
    if each.fact.startswith("group:"):
        said = f"the {each.fact.removeprefix('group:')} facts differ"
    else:
        said = f"{each.fact}: {each.value or 'none'}, usually {each.usual or 'none'}"
    said += f"; it follows {each.follows}" if each.follows else ""
    return f"{said}; it matters for {', '.join(each.matters)}" if each.matters else said


def _slow(view: FleetView) -> Element | None:
    if not view.suspicions:
        return None
    shown = view.suspicions[:MOST_BARS]
    bars = [_bar(each) for each in shown]
    height, shapes = charts.bars(bars)
    described = "; ".join(f"{row.label}: {row.value}" for row in bars)
    note = element("span", " The stroke is the median of the cohort.")
    rows = (_row(each) for each in view.suspicions[:MOST_ROWS])
    heads = ("Card or link", "State", "Measured", "Value", "Below the median", "Modified z", "Cards measured", "Runs")
    return _section(
        "slow", "Slower than their cohort",
        element("p", "A suspect was slow in one run, a confirmed card in a further one; a cleared one was not when it was measured again.",
                class_="intro"),
        charts.figure("slow-cards", "Speed by the median of the cohort", described, height, shapes, caption=note),
        folded("The same as a table", table("Slow cards and links", heads, rows, (3, 4, 5, 6, 7))),
    )  # fmt: skip


def _bar(each: Suspicion) -> charts.Bar:
    share = min(each.value / each.median, 1.0) if each.median else 0.0
    value = f"{each.value:.4g} of {each.median:.4g} {each.unit}"
    return charts.Bar(label=_place(each), value=value, share=share, tick=1.0, kind=_KINDS[each.life])


def _row(each: Suspicion) -> tuple[Element | str, ...]:
    life = element("span", mark(_KINDS[each.life]), each.life, class_=f"state {_KINDS[each.life]}")
    numbers = (f"{each.below_percent:.1f} %", f"{each.z:.1f}", str(each.samples), str(each.runs))
    return (_place(each), life, each.workload, f"{each.value:.4g} {each.unit}", *numbers)


def _place(each: Suspicion) -> str:
    return each.card if each.host in each.card else f"{each.host} {each.card}"


def _findings(view: FleetView) -> Element | None:
    if not view.findings:
        return None
    return _section("findings", "Findings", *(_finding(each) for each in view.findings[:MOST_ROWS]))


def _finding(each: FleetFinding) -> Element:
    kind = _KINDS[each.severity]
    state = element("span", mark(kind), each.severity, class_=f"state {kind}")
    doubt = "So many hosts of different kinds have it that the check itself is in doubt." if each.doubted else ""
    whole = "It is a trouble of the fleet (image, site), not of single hosts." if each.of_the_fleet and not doubt else ""
    return element(
        "article",
        element("p", state, f" {_count(len(each.hosts))}, {each.share:.0%}", class_="label"),
        element("h3", each.title),
        element("p", fold(each.hosts), class_="aside"),
        element("p", doubt or whole, class_="aside") if doubt or whole else None,
        element("p", element("strong", "Do: "), each.do) if each.do else None,
        element("p", element("code", f"gpudoctor show {each.id}"), class_="aside"),
        class_="finding",
    )


def _verdicts(view: FleetView) -> Element | None:
    if not view.verdicts:
        return None
    rows = ((f"{each.program}: {each.test}", each.outcome, fold(each.hosts), each.detail or "–") for each in view.verdicts[:MOST_ROWS])
    return _section("others", "Other programs", table("Results of other programs", ("Test", "Result", "Hosts", "Detail"), rows, words=True))


def _drift(view: FleetView) -> Element | None:
    if not view.since:
        return None
    if not view.drift:
        return _section("since", f"Since {view.since}", element("p", "Nothing that a row holds has changed."))
    rows = ((fold(each.hosts), each.what, each.before or "none", each.after or "none") for each in view.drift[:MOST_ROWS])
    return _section("since", f"Since {view.since}", table("What changed", ("Hosts", "What", "Before", "Now"), rows, words=True))


def _hosts(view: FleetView) -> Element | None:
    other = [each for each in view.hosts if each.usable is not True]
    good = [each.host for each in view.hosts if each.usable is True]
    rows = ((each.host, _state(each), each.reason or "–", each.created.replace("T", " ")[:16] or "–") for each in other[:MOST_ROWS])
    return _section(
        "hosts", "Hosts",
        table("Hosts that cannot be used or gave no result", ("Host", "State", "Reason", "Row of"), rows, words=True) if other else None,
        element("p", f"Can be used ({len(good)}): ", element("code", fold(good)), class_="aside") if good else None,
    )  # fmt: skip


def _count(number: int) -> str:
    return f"{number} host" if number == 1 else f"{number} hosts"
