"""Several explained texts in one table: the first cause of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Any

from gpudoctor.model.report import Finding, Report
from gpudoctor.reporters.report.collect_env import at
from gpudoctor.reporters.report.json_report import dumps
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.layout import Line, Span, Terminal, hanging

SCHEMA = "gpudoctor.triage/1"
STYLE = {"error": "bad", "warning": "warn", "info": "dim"}


def first_of(report: Report) -> Finding | None:
    """The finding that a maintainer would answer first; a hint counts only where the text itself shows it."""
    return next((finding for finding in report.findings if finding.severity != "info" or finding.said_at), None)


def render_text(reports: Mapping[str, Report], terminal: Terminal | None = None, members: Mapping[str, Sequence[str]] | None = None) -> str:
    """The table. `members`: the files of a text that was put together from several, such as the logs of a machine in an archive."""
    terminal = terminal or Terminal()
    width = min(max(terminal.width, 60), 140)
    lines: list[Line] = []
    for name, report in reports.items():
        lines += _row(name, report, width, (members or {}).get(name, ()))
    explained = sum(first_of(report) is not None for report in reports.values())
    lines += [(), (Span(f"{explained} of {len(reports)} texts show a known problem.", "bold"),)]
    archived = next((name for name in reports if (members or {}).get(name)), None)
    if archived:
        archive, _, part = archived.partition(": ")
        lines.append((Span("Next, one of them in full: "), Span(f"gpudoctor explain {quote(archive)} --member {quote(part)}", "command")))
    return terminal.draw(lines)


def _row(name: str, report: Report, width: int, members: Sequence[str]) -> Iterator[Line]:
    finding = first_of(report)
    files = f"  ({members[0]})" if len(members) == 1 else f"  ({len(members)} files)" if members else ""
    yield Span(visible(name), "bold"), Span(visible(files), "dim")
    if report.incomplete:
        yield from hanging((Span("  incomplete: ", "warn"),), "; ".join(report.incomplete), width)
    if finding is None:
        yield Span("  nothing known  ", "dim"), Span(", ".join(visible(stack) for stack in _stacks(report)[:3]), "dim")
        yield from _ask_for(report, width)
        return
    yield from hanging((Span(f"  {finding.severity:<8} ", STYLE[finding.severity]),), finding.title, width, last=finding.confidence)
    yield from _ask_for(report, width)
    yield Span(" " * 11), Span(visible(f"{finding.id}, in {place_of(finding)}" if members and place_of(finding) else finding.id), "dim")


def missing(report: Report) -> list[str]:
    """What a text does not say of its machine; nothing where a finding is certain without it."""
    first = first_of(report)
    if first is not None and first.confidence == "certain":
        return []
    asked = (
        ("gpus", "the GPU"),
        ("kernel.release", "the kernel"),
        ("python.distributions", "the Python packages"),
        ("python.version", "the Python"),
    )
    return [words for name, words in asked if at(report.facts, name) is None]


def _ask_for(report: Report, width: int) -> Iterator[Line]:
    lacking = missing(report)
    if lacking:
        yield from hanging(
            (Span("  ask for  ", "warn"),), f"the output of python gpudoctor-env.py (not shown: {', '.join(lacking)})", width
        )


def place_of(finding: Finding) -> str:
    """The file and line of an archive that contain the message; empty for a finding from facts alone."""
    return finding.evidence[0].partition(": ")[0] if finding.said_at and finding.evidence else ""


def _stacks(report: Report) -> list[str]:
    text = report.facts.get("text")
    stacks = text.get("stacks") if isinstance(text, Mapping) else None
    return [str(stack) for stack in stacks] if isinstance(stacks, list) else []


def render_json(reports: Mapping[str, Report]) -> str:
    """An object for each text: its first finding (null where there is none), all ids, and the stacks that it concerns."""
    return dumps({"schema": SCHEMA, "texts": [_entry(name, report) for name, report in reports.items()]})


def _entry(name: str, report: Report) -> dict[str, Any]:
    finding = first_of(report)
    first = None
    if finding is not None:
        first = {
            "id": finding.id, "title": finding.title, "severity": finding.severity, "confidence": finding.confidence,
            "advice": finding.advice.text, "sources": list(finding.sources),
        }  # fmt: skip
    findings = [each.id for each in report.findings]
    return {
        "text": name,
        "first": first,
        "findings": findings,
        "stacks": _stacks(report),
        "missing": missing(report),
        "incomplete": list(report.incomplete),
    }
