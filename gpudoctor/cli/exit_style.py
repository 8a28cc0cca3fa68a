"""The exit status and the one line that a monitoring engine reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gpudoctor.cli import FINDINGS, OK, UNKNOWN, BadInput
from gpudoctor.cli.exit_status import no_such_stack, status, unanswered
from gpudoctor.diagnosis.policy_demands import ID as POLICY
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.phrases import bus_seen, no_gpu

if TYPE_CHECKING:
    from gpudoctor.model.report import Report, Trace


NAGIOS_UNKNOWN = 3
NPD_UNKNOWN = 2
SLURM_UNKNOWN = 2
"""A node whose state is unknown should neither be drained nor called healthy."""


def answer(report: Report, style: str, fail_on: str, stack: str | None) -> tuple[str, int]:
    """The line and the exit status in the form of Nagios plugins, Node Problem Detector or a Slurm health check."""
    code = status(report, fail_on, stack)
    text = _sentence(report, code, stack)
    without = _no_device(report, stack)
    if without and not report.summary["errors"] and not report.summary["warnings"]:
        code, text = (FINDINGS if bus_seen(report) else UNKNOWN), without
    if style == "nagios":
        state = _nagios(report, code, bool(without))
        return f"GPU {_STATES[state]} - {_cut(_no_pipe(text), 200)} | {_numbers(report)}", state
    if style == "npd":  # Node Problem Detector: 0 ok, 1 a problem, 2 unknown; the message goes into a node condition
        return _cut(text, 80), {OK: 0, FINDINGS: 1}.get(code, NPD_UNKNOWN)
    reason = "".join(char for char in text if char not in "\"'\\`$")  # Slurm: the text for `scontrol update … Reason=`
    return _cut(f"gpudoctor: {reason}", 120), {OK: 0, FINDINGS: 1}.get(code, SLURM_UNKNOWN)


def _no_device(report: Report, stack: str | None) -> str:
    """Why a monitor must not report OK: the machine has no GPU, and no policy says how many it should have. Empty otherwise."""
    if stack is not None:
        return visible(no_such_stack(report, stack) or "")
    if any(trace.check == POLICY and trace.outcome == "ok" and _speaks_of_gpus(trace) for trace in report.traces):
        return ""
    if "gpus" not in report.facts:
        return "GPUs not determined"
    if not no_gpu(report):
        return ""
    return "no GPU found" if bus_seen(report) else "no GPU found, and no PCI bus visible"


def _speaks_of_gpus(trace: Trace) -> bool:
    return any(leaf.text.startswith("gpu.count ") for leaf in (trace.problem.leaves() if trace.problem else ()))


def not_checked(style: str, error: BadInput) -> int:
    """The exit status where nothing could be checked, in the form that the engine reads.

    An engine that takes 2 for 'critical', as Nagios does, must not report a broken GPU because a file is missing.
    """
    text = " ".join(visible(error.format_message()).split())
    if style == "slurm":  # no reason to drain a node, and no reason to call it healthy either: 2, on standard error
        raise error
    click.echo(f"GPU UNKNOWN - {_cut(_no_pipe(text), 200)}" if style == "nagios" else _cut(text, 80))
    return NAGIOS_UNKNOWN if style == "nagios" else NPD_UNKNOWN


_STATES = ("OK", "WARNING", "CRITICAL", "UNKNOWN")


def _numbers(report: Report) -> str:
    """Performance data: label=value[unit];warn;crit;min"""
    summary = report.summary
    found = [f"errors={summary['errors']};;0;0", f"warnings={summary['warnings']};0;;0", f"unknown={summary['unknown']};;;0"]
    return " ".join(found + ([f"time={report.seconds:.3f}s;;;0"] if report.seconds is not None else []))


def _no_pipe(text: str) -> str:
    """The text without pipes: Nagios reads what follows one as numbers."""
    return text.replace("|", "/")


def _nagios(report: Report, code: int, without: bool) -> int:
    if code == FINDINGS and without and not report.summary["errors"]:
        return 2
    if code == FINDINGS:
        return 2 if report.summary["errors"] else 1 if report.summary["warnings"] else 3
    return 3 if code else 0


def _sentence(report: Report, code: int, stack: str | None) -> str:
    serious = [finding for finding in report.findings if finding.severity != "info"]
    if serious and code != 4:
        more = f" (and {len(serious) - 1} more)" if len(serious) > 1 else ""
        return visible(serious[0].title) + more
    if code == 4:
        return "not determined: " + visible(", ".join(unanswered(report, stack)))
    if report.incomplete:
        return "incomplete: " + visible(", ".join(report.incomplete))
    good = [result.stack for result in report.stacks if result.verdict == "ok" and (result.used or result.stack == stack)]
    return f"{', '.join(good)} ok" if good else "no problems found"


def _cut(text: str, length: int) -> str:
    """The text shortened to a number of bytes, which engines count, without cutting a character."""
    whole = text.encode()
    if len(whole) <= length:
        return text
    return whole[: length - 3].decode(errors="ignore") + "..."
