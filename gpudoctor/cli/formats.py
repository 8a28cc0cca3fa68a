"""The formats of a report other than text: one function for all commands that end in a report."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gpudoctor.cli import BadInput

if TYPE_CHECKING:
    from gpudoctor.model.report import Report

FORMATS = ("text", "json", "junit", "sarif", "prometheus", "github", "row")
MEASURED = ("text", "json", "html", "junit", "prometheus", "row")
"""The formats of `validate`, which have a place for measurements."""


def render(
    form: str,
    report: Report,
    ignored: Mapping[str, str] | None = None,
    *,
    fail_on: str = "error",
    unanswered: Sequence[str] = (),
    extra: Sequence[str] = (),
) -> str:
    """The report in any of FORMATS and MEASURED but text. `unanswered`: undetermined demands and layers that were named; `extra`: folders
    of --checks."""
    if form == "json":
        from gpudoctor.reporters.report import json_report

        return json_report.render(report, ignored)
    if form == "html":
        from gpudoctor.reporters.report import html_report

        return html_report.html(report, ignored=ignored)
    if form == "junit":
        from gpudoctor.reporters.report import junit_report

        return junit_report.render(report, fail_on=fail_on, unanswered=unanswered)
    if form == "prometheus":
        from gpudoctor.reporters.report import prometheus_report

        return prometheus_report.render(report)
    if form == "github":
        from gpudoctor.reporters.report import github_report

        return github_report.render(report)
    if form == "row":
        from gpudoctor.services import row_making

        return row_making.render(report)
    from gpudoctor.reporters.report import sarif_report
    from gpudoctor.services import checking

    return sarif_report.render(report, checking.catalogue(extra).checks)


def step_summary(report: Report) -> None:
    """Appends to the summary of the current GitHub Actions job. Raises BadInput outside of a job."""
    from gpudoctor.reporters.report import github_report

    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        raise BadInput("--step-summary: GITHUB_STEP_SUMMARY is not set; it is for a step of GitHub Actions")
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(github_report.summary(report))
    except OSError as error:
        raise BadInput(f"--step-summary: {path} cannot be written ({error.strerror})") from error
