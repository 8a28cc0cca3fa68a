"""The status and the one line that a monitoring engine reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudoctor.cli.check import status, unanswered
from gpudoctor.reporters.escape import visible

if TYPE_CHECKING:
    from gpudoctor.model.report import Report


def answer(report: Report, style: str, fail_on: str, stack: str | None) -> tuple[str, int]:
    """(line, exit status) as Nagios plugins, Node Problem Detector or a Slurm health check have them."""
    code = status(report, fail_on, stack)
    text = _sentence(report, code, stack)
    if style == "nagios":
        state = _nagios(report, code)
        name = ("OK", "WARNING", "CRITICAL", "UNKNOWN")[state]
        summary = report.summary
        numbers = f"errors={summary['errors']} warnings={summary['warnings']} unknown={summary['unknown']}"
        return f"GPU {name} - {_cut(text.replace('|', '/'), 200)} | {numbers}", state
    if style == "npd":  # 0 fine, 1 a problem, 2 cannot tell; the message goes into a node condition
        return _cut(text, 80), {0: 0, 1: 1}.get(code, 2)
    reason = "".join(char for char in text if char not in "\"'\\`$")  # slurm: a reason for `scontrol update … Reason=`
    return _cut(f"gpudoctor: {reason}", 120), 1 if code == 1 else 0


def _nagios(report: Report, code: int) -> int:
    if code == 1:
        return 2 if report.summary["errors"] else 1 if report.summary["warnings"] else 3
    return 3 if code else 0


def _sentence(report: Report, code: int, stack: str | None) -> str:
    serious = [finding for finding in report.findings if finding.severity != "info"]
    if serious and code != 4:
        more = f" (and {len(serious) - 1} more)" if len(serious) > 1 else ""
        return visible(serious[0].title) + more
    if code == 4:
        return "could not tell: " + visible(", ".join(unanswered(report, stack)))
    if report.incomplete:
        return "incomplete: " + visible(", ".join(report.incomplete))
    good = [result.stack for result in report.stacks if result.verdict == "ok"]
    return f"{', '.join(good)} ok" if good else "nothing wrong found"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."
