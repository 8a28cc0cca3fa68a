"""The changes between two reports on the page: new and vanished findings, verdicts, and facts by what they can break."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpudoctor.reporters.html.element import Child, Element, element
from gpudoctor.reporters.html.table import table
from gpudoctor.reporters.html.words import KINDS, STATES, count, mark, moment, scalar

if TYPE_CHECKING:
    from gpudoctor.model.change import Diff, FindingChange, Side

WORDS = {"new": "New", "gone": "Gone", "stayed": "Still there"}


def headline(found: Diff) -> str:
    """The most important change in one sentence: a new finding, else a vanished one."""
    counted = {state: [each for each in found.findings if each.state == state] for state in WORDS}
    new = {severity: sum(each.severity == severity for each in counted["new"]) for severity in ("error", "warning")}
    came = [count(number, f"new {severity}") for severity, number in new.items() if number]
    gone = [f"{count(len(counted['gone']), 'finding')} gone"] if counted["gone"] else []
    since = f" since {found.before.name}" if found.before.name else ""
    words = ", ".join([*came, *gone])
    return words + since if words else f"No finding came or went{since}" if found.changes else f"Nothing changed{since}"


def section(found: Diff) -> Element:
    return element(
        "section",
        element("h2", "What changed", id="changes"),
        element("div", _side("Before", found.before), _side("After", found.after), class_="sides"),
        _findings(found),
        _verdicts(found),
        _facts(found),
        aria_labelledby="changes",
    )


def _side(word: str, side: Side) -> Element:
    return element(
        "p", element("span", word, class_="label"), element("strong", side.name), element("span", side.machine), moment(side.created),
        element("span", f"{count(side.errors, 'error')}, {count(side.warnings, 'warning')}"), class_="side",
    )  # fmt: skip


def _findings(found: Diff) -> Element:
    if not found.findings:
        return element("p", "Neither report has a finding.")
    return element("ul", (_finding(each) for each in found.findings), class_="moves")


def _finding(each: FindingChange) -> Element:
    kind = "good" if each.state == "gone" else KINDS.get(each.severity, "note")
    was = f" (was: {each.was})" if each.was else ""
    return element(
        "li",
        element("span", mark(kind), f"{WORDS.get(each.state, each.state)}: {each.severity}{was}", class_=f"state {kind}"),
        element("span", each.title),
        element("span", "by ", ", ".join(each.changes), class_="aside") if each.changes else None,
    )


def _verdicts(found: Diff) -> Element | None:
    if not found.verdicts:
        return None
    rows = ((each.title, STATES.get(each.before, each.before), STATES.get(each.after, each.after)) for each in found.verdicts)
    return element("div", element("h3", "Stacks"), table("Stacks whose verdict changed", ("Stack", "Before", "After"), rows, words=True))


def _facts(found: Diff) -> Element:
    rows: list[tuple[Child, ...]] = [(each.fact, each.category, _value(each.before), _value(each.after)) for each in found.changes]
    heading = element("h3", "Facts, what can break a GPU stack first")
    if not rows:
        return element("div", heading, element("p", "No fact that both reports know is another one."))
    also = [f"{count(found.followed, 'computed fact')} followed from these"] if found.followed else []
    also += [f"{count(len(found.one_sided), 'fact')} known in one of the two only"] if found.one_sided else []
    return element(
        "div", heading, table("Facts that changed", ("Fact", "Kind", "Before", "After"), rows, words=True),
        element("p", "; ".join(also) + ".", class_="aside") if also else None,
    )  # fmt: skip


def _value(value: Any) -> str:
    if isinstance(value, Mapping | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    return scalar(value)
