"""The exit status of a report, and the undetermined layers of a named stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudoctor.cli import FINDINGS, OK, UNKNOWN
from gpudoctor.reporters.shared.phrases import bus_seen

if TYPE_CHECKING:
    from gpudoctor.model.report import Report


def status(report: Report, fail_on: str, stack: str | None) -> int:
    """The exit status. A fault outweighs what is undetermined; a stack that was named and has no device here is a fault."""
    summary = report.summary
    absent = stack is not None and no_such_stack(report, stack) is not None
    unknown = unanswered(report, stack) or (absent and not bus_seen(report))
    levels = {
        "error": summary["errors"],
        "warning": summary["errors"] + summary["warnings"],
        "unknown": summary["errors"] + summary["warnings"] + summary["unknown"] + len(report.incomplete),
        "never": 0,
    }
    if levels[fail_on] or (absent and not unknown and fail_on != "never"):
        return FINDINGS
    return UNKNOWN if unknown and fail_on != "never" else OK


def no_such_stack(report: Report, stack: str) -> str | None:
    """Why the named stack cannot be used here although nothing is broken; None where that is not the case."""
    result = next((result for result in report.stacks if result.stack == stack), None)
    if result is None or result.verdict not in ("not-applicable", "incomplete"):
        return None
    if result.verdict == "not-applicable":
        return f"no device for {stack}" if bus_seen(report) else f"no device for {stack} visible"
    missing = next((rung.detail for rung in result.layers if rung.status == "not-reached" and rung.detail), "")
    return missing or f"{stack} is not installed"


def unanswered(report: Report, stack: str | None) -> list[str]:
    """Demands of a policy, and layers of the stack of --stack, that could not be determined."""
    rungs = [
        f"{result.stack}/{rung.layer}"
        for result in report.stacks
        if result.stack == stack and result.verdict == "unknown"
        for rung in result.layers
        if rung.status == "unknown" and rung.layer not in ("compute", "performance")  # `validate` determines these
    ]
    return [*report.undetermined, *rungs]
