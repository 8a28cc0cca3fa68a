"""The ladders on the page: how far each stack gets, from the device to a computation."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.model.report import LayerResult, Report, StackResult
from gpudoctor.reporters.html.element import Element, element
from gpudoctor.reporters.html.words import KINDS, mark, slug, state
from gpudoctor.reporters.shared import phrases


def section(report: Report) -> Element | None:
    """Stacks in use are shown in full, others in a line that unfolds; stacks without a device are only named."""
    there = [stack for stack in report.stacks if stack.verdict != "not-applicable"]
    absent = [stack.title for stack in report.stacks if stack.verdict == "not-applicable"]
    if not report.stacks:
        return None
    whole = [stack for stack in there if stack.used] or there[:1]
    rest = [stack for stack in there if stack not in whole]
    hint = "no measurement covers it" if report.measurements else "to measure: gpudoctor validate"
    return element(
        "section",
        element("h2", "How far each stack gets", id="stacks"),
        element("p", "From the device up to a computation. Fix the lowest broken layer first; what lies above it is not reached.",
                class_="intro"),
        element("div", (_whole(stack, hint) for stack in whole), class_="ladders") if whole else None,
        element("div", (_folded(stack, hint) for stack in rest), class_="folds") if rest else None,
        element("p", element("strong", "No device or not installed: "), ", ".join(absent), ".", class_="aside absent") if absent else None,
        aria_labelledby="stacks",
    )  # fmt: skip


def verdict(stack: StackResult) -> str:
    return "sound" if stack.verdict == "ok" else phrases.verdict_words(stack)


def _verdict(stack: StackResult) -> Element:
    kind = KINDS.get(stack.verdict, "doubt")
    return element("span", mark(kind), verdict(stack), class_=f"state {kind}")


def _whole(stack: StackResult, hint: str) -> Element:
    name = f"stack-{slug(stack.stack)}"
    return element(
        "article",
        element("header", element("h3", stack.title, id=name), _verdict(stack)),
        _rungs(stack, hint),
        class_="ladder", aria_labelledby=name,
    )  # fmt: skip


def _folded(stack: StackResult, hint: str) -> Element:
    return element(
        "details",
        element("summary", element("h3", stack.title), _pips(stack), _verdict(stack)),
        element("div", _rungs(stack, hint), class_="folded"),
        class_="ladder", id=f"stack-{slug(stack.stack)}",
    )  # fmt: skip


def _pips(stack: StackResult) -> Element:
    """The ladder as small marks; the words beside it say the same."""
    marks = (element("i", class_=_kind(rung)) for rung in stack.layers)
    return element("span", marks, class_="pips", aria_hidden="true")


def _rungs(stack: StackResult, hint: str) -> Element:
    return element("ol", _rows(stack, hint), class_="rungs")


def _rows(stack: StackResult, hint: str) -> Iterator[Element]:
    for rung in stack.layers:
        yield element(
            "li",
            element("span", mark("idle"), "not measured", class_="state idle") if phrases.unmeasured(rung) else state(rung.status),
            element("span", phrases.name(rung.layer), class_="layer"),
            element("span", _detail(rung, hint), class_="detail"),
            class_=f"rung {_kind(rung)}",
        )


def _detail(rung: LayerResult, hint: str) -> str:
    return phrases.rung_detail(rung, hint)


def _kind(rung: LayerResult) -> str:
    return "idle" if phrases.unmeasured(rung) else KINDS.get(rung.status, "doubt")
