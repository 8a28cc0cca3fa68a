"""Ladders on a screen: the relevant stacks layer by layer, the others in a line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.model.check import LAYERS
from gpudoctor.model.report import LayerResult, Report, StackResult
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.layout import Line, Span, hanging
from gpudoctor.reporters.shared.phrases import WORDS, name, plainly_missed, rung_detail, unmeasured, verdict_words, why_not_checked

STYLES = {"ok": "good", "warning": "warn", "broken": "bad", "unknown": "warn", "not-reached": "dim"}
SHOWN = 3
"""The number of ladders on a screen without -v."""
NARROW = 24
"""The number of columns that a detail needs beside its layer; with fewer it is written below."""
TO_MEASURE = "to measure: gpudoctor validate"


def ladders(report: Report, width: int, *, verbose: bool, only: str | None, tight: bool, brief: bool = False) -> Iterator[list[Line]]:
    """The ladders. `only`: the one stack to show. `tight`: layers that work are named without details. `brief`: a fault is one line,
    since the first finding repeats it."""
    stacks = [stack for stack in report.stacks if only in (None, stack.stack)]
    there = [stack for stack in stacks if stack.verdict != "not-applicable"]
    without = [stack for stack in stacks if stack.verdict == "not-applicable"]
    shown = there if verbose or only else chosen(there)
    for stack in shown:
        yield list(_ladder(stack, width, tight=tight and not verbose, one_line=("broken", "ok") if brief else () if verbose else ("ok",)))
    if only and without:
        yield [(Span(visible(without[0].title), "bold"), Span(": no device for it on this machine"))]
        return
    rest = [stack for stack in there if stack not in shown and (stack.used or not tight)]
    notes = _others(rest, bool(shown) and not verbose, width)
    if verbose and without:
        notes += hanging((Span("No device or not installed: ", "dim"),), ", ".join(stack.stack for stack in without), width)
    if notes:
        yield notes


def chosen(there: Sequence[StackResult]) -> list[StackResult]:
    """The stacks to show: those in use, or of broken ones the first; where none is in use, the one that gets furthest."""
    used = [stack for stack in there if stack.used] or [stack for stack in there if stack.verdict in ("broken", "ok", "unknown")][:1]
    broken = [stack for stack in used if stack.verdict == "broken"]
    return broken[:1] or [stack for stack in used if not _teaches_nothing(stack)][:SHOWN]


def _teaches_nothing(stack: StackResult) -> bool:
    return all(rung.status in ("unknown", "not-reached") for rung in stack.layers)


def _others(rest: Sequence[StackResult], some_shown: bool, width: int) -> list[Line]:
    """The other stacks in lines: broken ones, working ones, unchecked ones with the reason, and uninstalled ones where no other stack is
    shown."""
    notes: list[Line] = []
    for verdict in dict.fromkeys(verdict_words(stack) for stack in rest if stack.verdict in ("broken", "ok")):
        names = ", ".join(stack.stack for stack in rest if verdict_words(stack) == verdict)
        notes += hanging((Span(f"Also {verdict}: ", "dim"),), names, width)
    reasons: dict[str, list[StackResult]] = {}
    for stack in rest:
        if stack.verdict == "unknown" and not some_shown:
            reasons.setdefault(why_not_checked(stack), []).append(stack)
    for why, stacks in reasons.items():
        said = f"not checked ({why})" if why else "not checked"
        notes += hanging((Span(f"{', '.join(visible(stack.title) for stack in stacks)}: ", "dim"),), said, width, style="dim")
    missing = [stack.stack for stack in rest if stack.verdict == "incomplete"]
    if missing and not some_shown:
        notes += hanging((Span("Not installed: ", "dim"),), ", ".join(missing), width)
    return notes


def _ladder(stack: StackResult, width: int, *, tight: bool, one_line: Sequence[str]) -> Iterator[Line]:
    style = {"broken": "bad", "ok": "good"}.get(stack.verdict, "dim")
    title, verdict = visible(stack.title), verdict_words(stack)
    gap = width - len(title) - len(verdict)
    if gap >= 2:
        yield (Span(title, "bold"), Span(" " * gap), Span(verdict, style))
    else:
        yield (Span(title, "bold"),)
        yield (Span("  "), Span(verdict, style))
    layers = list(stack.layers)
    while layers:
        sound = []
        while tight and layers and layers[0].status == "ok":
            sound.append(name(layers.pop(0).layer))
        if sound:
            yield from hanging((Span(f"  {'ok':<12} ", "good"),), ", ".join(sound), width)
            continue
        rung = layers.pop(0)
        missed = [rung.layer]
        while layers and _alike(rung, layers[0]):
            missed.append(layers.pop(0).layer)
        yield from _rung(rung, missed, width, whole=rung.status not in one_line)


def _cut(lines: Sequence[Line], width: int) -> Line:
    """The first of several lines, with a sign that -v shows more."""
    *before, last = lines[0]
    text = last.text
    if len("".join(span.text for span in lines[0])) + 2 > width:
        text = text.rpartition(" ")[0] or text[: width - sum(len(span.text) for span in before) - 1]
        return (*before, Span(f"{text.rstrip(',')}{' ' if ' ' in last.text else ''}…", last.style))
    return (*before, Span(f"{text.rstrip(',')} …", last.style))


def _alike(rung: LayerResult, following: LayerResult) -> bool:
    """Whether two neighbouring layers have the same state and reason, so that they are written in one line."""
    if unmeasured(rung) or plainly_missed(rung):
        return unmeasured(following) == unmeasured(rung) and plainly_missed(following) == plainly_missed(rung)
    return rung.status == "unknown" == following.status and rung.detail == following.detail and not unmeasured(following)


def _rung(rung: LayerResult, missed: list[str], width: int, *, whole: bool) -> list[Line]:
    """One layer. `whole`: the detail on as many lines as needed; else one line, cut."""
    column = max(len(name(layer)) for layer in LAYERS) + 1
    names = name(missed[0]) + (f" … {name(missed[-1])}" if len(missed) > 1 else "")
    if unmeasured(rung):
        return [(Span(f"  {'not measured':<12} ", "dim"), Span(f"{' and '.join(map(name, missed))}; {TO_MEASURE}", "dim"))]
    word = Span(f"  {WORDS.get(rung.status, rung.status):<12} ", STYLES.get(rung.status, ""))
    if plainly_missed(rung):
        return [(word, Span(names, "dim"))]
    beside = (word, Span(f"{names:<{column}} "))
    room = width - sum(len(span.text) for span in beside)
    lines = hanging(beside if room >= NARROW else (Span("      "),), rung_detail(rung), width)
    if not whole and (len(lines) > 1 or sum(len(span.text) for span in lines[0]) > width):
        lines = [_cut(lines, width)]
    return lines if room >= NARROW else [(word, Span(names)), *lines]
