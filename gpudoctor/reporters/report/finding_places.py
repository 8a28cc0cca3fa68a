"""The files that a finding is about: facts that were read from them caused it, or it is a demand of a policy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from urllib.parse import quote

from msgspec import Struct

from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.report import Finding, Report
from gpudoctor.reporters.shared.escape import visible

_DRIVE = lazy(r"[A-Za-z]:[\\/]")
_LINE = lazy(r"(.+):(\d{1,7})$")
_KERNEL = ("/proc/", "/sys/", "/dev/", "/run/")
"""Folders of the kernel, whose files nobody edits."""
_POLICY = "demand-not-met"


class FindingPlace(Struct, frozen=True):
    """A file, and the line in it where it is known."""

    path: str
    """The path as it was given; that of a policy may be relative to the working folder."""
    line: int | None = None

    @property
    def uri(self) -> str:
        """The address of the file: relative for a relative path, else file:///…"""
        path = visible(self.path).replace("\\", "/") if _DRIVE.match(self.path) else visible(self.path)
        if path.startswith("/"):
            return "file://" + quote(path)
        return "file:///" + path[:2] + quote(path[2:]) if _DRIVE.match(path) else quote(str(PurePosixPath(path)))


def places(finding: Finding, report: Report) -> list[FindingPlace]:
    """The places of a finding, each once, in the order of the evidence; empty where no file is concerned."""
    if finding.id == _POLICY:
        return [place for source in finding.sources[:1] if (place := _of_policy(source))]
    return list(dict.fromkeys(_of_traces(finding, report)))


def open_demands(report: Report) -> list[tuple[str, FindingPlace | None]]:
    """The demands of a policy that could not be determined, each with the reason and its place."""
    traces = [trace for trace in report.traces if trace.check == _POLICY and trace.outcome == "undetermined"]
    found = []
    for said in report.undetermined:
        trace = next((trace for trace in traces if said == trace.subject or said.startswith(f"{trace.subject} (")), None)
        found.append((said, _of_policy(trace.place) if trace else None))
    return found


def _of_policy(source: str) -> FindingPlace | None:
    at = _LINE.match(source)
    return FindingPlace(at[1], int(at[2])) if at else FindingPlace(source) if source else None


def _of_traces(finding: Finding, report: Report) -> Iterator[FindingPlace]:
    for trace in report.traces:
        if trace.check == finding.id and trace.outcome == "problem" and trace.subject in finding.subjects:
            for verdict in (trace.problem, trace.suspect, trace.applies):
                for leaf in verdict.leaves() if verdict else ():
                    if leaf.truth == "true" and _is_file(leaf.source):
                        yield FindingPlace(leaf.source)


def _is_file(source: str) -> bool:
    if "\n" in source or len(source) > 4096 or source.endswith("/"):
        return False
    return bool(_DRIVE.match(source)) or (source.startswith("/") and not source.startswith(_KERNEL))
