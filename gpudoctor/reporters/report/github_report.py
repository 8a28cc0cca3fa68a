"""Annotations of GitHub Actions, which the runner reads from standard output, and the Markdown of a job's summary."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.model.report import Finding, Report
from gpudoctor.reporters.report.finding_places import FindingPlace, open_demands, places
from gpudoctor.reporters.report.finding_text import address, lines
from gpudoctor.reporters.shared.advice_lines import command_lines, sentence
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.markdown_text import cell
from gpudoctor.reporters.shared.markdown_text import text as _text
from gpudoctor.reporters.shared.phrases import nothing_wrong

COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
MOST = 4000
"""The number of characters of a message that the runner does not cut."""


def render(report: Report) -> str:
    """One line for each finding, in reading order: the runner shows ten of each kind per step."""
    annotations = [_annotation(finding, report) for finding in report.findings]
    annotations += [_line("warning", {**_file(place), "title": "gpudoctor: not determined"}, text) for text, place in open_demands(report)]
    annotations += [_line("warning", {"title": "gpudoctor: incomplete"}, text) for text in report.incomplete]
    if not annotations:
        annotations = [_line("notice", {"title": "gpudoctor"}, nothing_wrong(report))]
    return "".join(annotations)


def _annotation(finding: Finding, report: Report) -> str:
    properties = {**_file(next(iter(places(finding, report)), None)), "title": finding.title}
    return _line(COMMANDS[finding.severity], properties, "\n".join((*lines(finding), f"gpudoctor show {finding.id}")))


def annotation(command: str, place: FindingPlace | None, title: str, message: str) -> str:
    """One line for the runner. `command`: error, warning or notice."""
    return _line(command, {**_file(place), "title": title}, message)


def _file(place: FindingPlace | None) -> dict[str, str]:
    if place is None:
        return {}
    return {"file": place.path} if place.line is None else {"file": place.path, "line": str(place.line)}


def _line(command: str, properties: dict[str, str], message: str) -> str:
    given = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{command} {given}::{_data(message)}\n"


def _data(text: str) -> str:
    """The text in the runner's escaping, so that it cannot end the line or begin a command."""
    text = visible(text[:MOST], multiline=True)
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(" ".join(text.split())).replace(":", "%3A").replace(",", "%2C")


def summary(report: Report) -> str:
    """Markdown for $GITHUB_STEP_SUMMARY: the machine, the stacks, and the findings with their advice."""
    return "\n".join(_summary(report)) + "\n"


def _summary(report: Report) -> Iterator[str]:
    head = report.headline
    counts = report.summary
    yield f"## gpudoctor: {counts.get('errors', 0)} errors, {counts.get('warnings', 0)} warnings"
    yield ""
    yield " · ".join(_text(text) for text in (head.get("machine", ""), head.get("os", ""), f"kernel {head.get('kernel', '')}") if text)
    shown = [stack for stack in report.stacks if stack.used or stack.verdict in ("ok", "broken")]
    if shown:
        yield from ("", "| stack | verdict | at |", "| --- | --- | --- |")
        yield from (f"| {cell(_text(stack.title))} | {stack.verdict} | {stack.broken_layer or ''} |" for stack in shown)
    for finding in report.findings:
        yield from ("", f"### {_text(finding.title)}", "", f"{finding.severity}, {finding.confidence}: `{finding.id}`")
        if finding.explanation:
            yield from ("", _text(finding.explanation))
        if to_do := sentence(finding.advice):
            yield from ("", f"**Do:** {_text(to_do)}")
        if commands := command_lines(finding.advice):
            yield from ("", *(f"    {visible(command)}" for command in commands))
        links = [f"[{_text(source)}]({link})" for source in finding.sources if (link := address(source)) and ")" not in link]
        if links:
            yield from ("", ", ".join(links))
    for title, summary in (("Not determined", report.undetermined), ("Incomplete", report.incomplete)):
        if summary:
            yield from ("", f"**{title}:** {_text('; '.join(summary))}")
