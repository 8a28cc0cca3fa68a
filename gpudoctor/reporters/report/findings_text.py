"""The findings on a screen: those that are likely with their advice, else a question; possible ones in a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from gpudoctor.model.report import Finding
from gpudoctor.reporters.report.finding_order import MOST, Arranged, question_of
from gpudoctor.reporters.shared.advice_lines import command_lines, sentence
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.layout import Line, Span, hanging


def arranged_lines(
    arranged: Arranged, width: int, *, verbose: bool, whole: int | None = None, brief: bool = False, where: Mapping[str, str] | None = None
) -> Iterator[list[Line]]:
    """The findings in groups. `whole`: how many findings are shown with explanation and advice; of the others the titles, and of
    consequences the number (None: all in full). `brief`: explanations are cut to their first sentence. `where`: by the id of a finding,
    the file and line of an archive that show it."""
    where = where or {}
    numbers = {finding.key: number for number, finding in enumerate(arranged.shown, 1)}
    first = list(arranged.shown) if whole is None else list(arranged.shown[:whole])
    for finding in first:
        yield list(finding_lines(_cut(finding) if brief else finding, numbers, width, verbose, where.get(finding.id, "")))
    rest = arranged.shown[len(first) :]
    titles = [line for finding in rest if finding.caused_by not in numbers for line in _title(finding, numbers, width)]
    follow = sum(finding.caused_by in numbers for finding in rest)
    if follow:
        titles += [(Span(f"{follow} more follow{'s' if follow == 1 else ''} from {'this' if len(first) == 1 else 'these'}.", "dim"),)]
    if titles:
        yield titles
    if arranged.question is not None:
        yield list(question_lines(arranged.question, width, verbose, where.get(arranged.question.id, "")))
    if arranged.possible:
        titles_of_possible = "; ".join(f"{finding.title} ({finding.id})" for finding in arranged.possible[:MOST])
        yield list(hanging((Span("Could also be: ", "dim"),), titles_of_possible, width, style="dim"))


TWO_LINES = 150
"""The number of letters up to which a text takes two lines."""


def _cut(finding: Finding) -> Finding:
    sentence = re.match(r".*?[a-z)0-9]\.(?= [A-Z])", finding.explanation)
    text = sentence[0] if sentence else finding.explanation
    clause = re.match(r".{40,}?(?=[:;] )", text) if len(text) > TWO_LINES else None
    return replace(finding, explanation=f"{clause[0]}." if clause else text)


def question_lines(finding: Finding, width: int, verbose: bool, place: str = "") -> Iterator[Line]:
    """A finding that is only possible: the question that decides it, the command that answers the question, and the advice."""
    margin = Span("   ")
    yield from hanging((Span("?  ", "warn"),), question_of(finding), width, style="bold", last="possible")
    if place:
        yield margin, Span("in     ", "dim"), Span(visible(place), "dim")
    if finding.look:
        yield margin, Span("look   ", "good"), Span(f"$ {visible(finding.look)}", "command")
    if finding.explanation:
        yield from hanging((margin,), finding.explanation, width)
    yield from _evidence(finding, width, margin, verbose)
    yield from _advice(finding, width, margin, "if so  ", verbose)
    yield margin, Span("more   ", "dim"), Span(f"gpudoctor show {finding.id}", "dim")


def finding_lines(finding: Finding, numbers: dict[str, int], width: int, verbose: bool, place: str = "") -> Iterator[Line]:
    yield from _title(finding, numbers, width)
    margin = Span("   ")
    if place:
        yield margin, Span("in     ", "dim"), Span(visible(place), "dim")
    if finding.caused_by in numbers and not verbose:
        return
    if finding.explanation:
        yield from hanging((margin,), finding.explanation, width)
    if len(finding.subjects) > 1:
        yield from hanging((margin, Span("on     ", "dim")), ", ".join(finding.subjects), width)
    yield from _evidence(finding, width, margin, verbose)
    yield from _advice(finding, width, margin, "do     ", verbose)
    yield margin, Span("more   ", "dim"), Span(f"gpudoctor show {finding.id}", "dim")  # one line: to be copied
    if verbose and finding.sources:
        yield from hanging((margin, Span("       ")), "  ".join(finding.sources[:2]), width, style="dim")


def _title(finding: Finding, numbers: dict[str, int], width: int) -> Iterator[Line]:
    style = "bad" if finding.severity == "error" else "warn"
    doubt = finding.confidence if finding.severity == "error" else f"{finding.severity}, {finding.confidence}"
    yield from hanging((Span(f"{numbers[finding.key]:<3}", style),), finding.title, width, style="bold", last=doubt)
    if finding.caused_by in numbers:
        yield from hanging((Span("   "),), f"Caused by {numbers[finding.caused_by]}; fix that first.", width)


def _evidence(finding: Finding, width: int, margin: Span, verbose: bool) -> Iterator[Line]:
    for seen in finding.evidence if verbose else ():
        yield from hanging((margin, Span("seen   ", "dim")), seen, width, style="dim", quoted=True)


def _advice(finding: Finding, width: int, margin: Span, label: str, verbose: bool) -> Iterator[Line]:
    advice = finding.advice
    text = sentence(advice)
    if text:
        yield from hanging((margin, Span(label, "good")), text, width)
        label = " " * len(label)
    for command in command_lines(advice):
        yield margin, Span(label, "good"), Span(f"$ {visible(command)}", "command")  # one line: to be copied
        label = " " * len(label)
    for words in advice.otherwise if verbose else ():
        alternative = words[3:4].upper() + words[4:] if words.startswith("Or ") else words
        yield from hanging((margin, Span("or     ", "dim")), alternative, width)


def info_lines(finding: Finding, width: int, verbose: bool) -> Iterator[Line]:
    """An info, with the command that tells more."""
    more = "" if verbose else f" (gpudoctor show {finding.id})"
    yield from hanging((Span("Also: ", "dim"),), finding.title + more, width)
    margin = Span("      ")
    if verbose:
        yield from hanging((margin,), finding.explanation, width)
        yield from _advice(finding, width, margin, "do     ", verbose)
        yield margin, Span(f"gpudoctor show {finding.id}", "dim")


def notes_line(hints: Sequence[Finding], again: str, width: int) -> list[Line]:
    """Several infos in one line, where there is no room for more."""
    return hanging((Span("Also: ", "dim"),), f"{len(hints)} notes ({again} -v): {', '.join(hint.id for hint in hints)}", width, style="dim")
