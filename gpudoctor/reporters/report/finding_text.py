"""A finding as plain lines, for formats that hold text: why, what was seen, what to do, and the sources."""

from __future__ import annotations

from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.report import Finding
from gpudoctor.reporters.shared.advice_lines import command_lines, sentence
from gpudoctor.reporters.shared.escape import visible

_ISSUE = lazy(r"([A-Za-z0-9][\w.-]{0,99}/[\w.-]{1,100})#(\d{1,9})$")


def lines(finding: Finding) -> list[str]:
    """The lines of a finding without its title."""
    advice = finding.advice
    text = sentence(advice)
    found = [
        finding.explanation,
        f"On: {', '.join(finding.subjects)}" if len(finding.subjects) > 1 else "",
        *(f"Seen: {seen}" for seen in finding.evidence if seen not in finding.explanation),
        f"Do: {text}" if text else "",
        *(f"  $ {command}" for command in command_lines(advice)),
        f"More: {' '.join(finding.sources[:3])}" if finding.sources else "",
    ]
    return [visible(line) for line in found if line]


def address(source: str) -> str | None:
    """The address of a source: an address as it is, owner/repo#number at GitHub; None for any other text."""
    if source.startswith(("https://", "http://")) and " " not in source and source.isprintable():
        return source
    issue = _ISSUE.match(source)
    return f"https://github.com/{issue[1]}/issues/{issue[2]}" if issue else None
