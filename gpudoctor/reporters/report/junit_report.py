"""JUnit XML for Jenkins, GitLab and others: a test case for each check, demand, stack and measurement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from msgspec import Struct, field

from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.measurement import Measurement
from gpudoctor.model.report import Finding, Report, Trace
from gpudoctor.reporters.report.finding_text import lines
from gpudoctor.reporters.shared.escape import visible

LEVELS = {"error": ("error",), "warning": ("error", "warning"), "unknown": ("error", "warning"), "never": ()}
"""The severities that count as failures, by --fail-on."""
_POLICY = "demand-not-met"
_NOT_XML = lazy("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _Case(Struct):
    name: str
    group: str
    outcome: str = "passed"
    """passed, failure, error (something that had to be determined could not be) or skipped."""
    message: str = ""
    kind: str = ""
    text: str = ""
    seconds: float | None = None
    said: list[str] = field(default_factory=list)


def render(report: Report, *, fail_on: str = "error", unanswered: Sequence[str] = ()) -> str:
    """One document. There is a failure or an error in it where the exit status of `check` is 1 or 4.

    `unanswered`: demands and rungs (stack/layer) that were requested by name and could not be determined; they are errors.
    """
    suites = [
        ("gpudoctor.checks", list(_checks(report, fail_on))),
        ("gpudoctor.policy", list(_demands(report, fail_on))),
        ("gpudoctor.stacks", list(_stacks(report, fail_on, unanswered))),
        ("gpudoctor.measurements", list(_measurements(report.measurements))),
    ]
    root = ElementTree.Element("testsuites", name="gpudoctor")
    for name, cases in suites:
        if cases or name == "gpudoctor.checks":
            root.append(_suite(name, cases, report))
    ElementTree.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(name: str, cases: Sequence[_Case], report: Report) -> ElementTree.Element:
    counted = {outcome: sum(case.outcome == outcome for case in cases) for outcome in ("failure", "error", "skipped")}
    suite = ElementTree.Element(
        "testsuite", name=name, tests=str(len(cases)), failures=str(counted["failure"]), errors=str(counted["error"]),
        skipped=str(counted["skipped"]), timestamp=report.created.removesuffix("Z"),
        time=_time(report.seconds if name == "gpudoctor.checks" else sum(case.seconds or 0.0 for case in cases)),
    )  # fmt: skip
    if name == "gpudoctor.checks":
        properties = ElementTree.SubElement(suite, "properties")
        about = {"gpudoctor": report.tool_version, "catalogue": report.catalogue_version, **report.headline}
        for key, value in about.items():
            if value:
                ElementTree.SubElement(properties, "property", name=key, value=_xml(str(value)))
    for case in cases:
        suite.append(_element(case))
    if name == "gpudoctor.checks" and (report.incomplete or report.not_looked_at):
        said = [*(f"incomplete: {line}" for line in report.incomplete), *(f"not looked at: {line}" for line in report.not_looked_at)]
        ElementTree.SubElement(suite, "system-out").text = _xml("\n".join(said), multiline=True)
    return suite


def _element(case: _Case) -> ElementTree.Element:
    element = ElementTree.Element("testcase", name=_xml(case.name), classname=_xml(case.group), time=_time(case.seconds))
    if case.outcome == "skipped":
        ElementTree.SubElement(element, "skipped", message=_xml(case.message))
    elif case.outcome != "passed":
        said = ElementTree.SubElement(element, case.outcome, message=_xml(case.message), type=_xml(case.kind))
        said.text = _xml(case.text, multiline=True)
    if case.said:
        ElementTree.SubElement(element, "system-out").text = _xml("\n".join(case.said), multiline=True)
    return element


def _checks(report: Report, fail_on: str) -> Iterator[_Case]:
    """A test case for each check that had something to examine; an undetermined one is skipped."""
    findings = {finding.id: finding for finding in report.findings}
    traces: dict[str, list[Trace]] = {}
    for trace in report.traces:
        if trace.check != _POLICY:
            traces.setdefault(trace.check, []).append(trace)
    for check, asked in traces.items():
        outcomes = {trace.outcome for trace in asked}
        if check in findings:
            yield _found(findings[check], check, fail_on)
        elif "ok" in outcomes or "problem" in outcomes:  # a problem without a finding was left out, or is explained by another
            yield _Case(check, "gpudoctor.checks")
        elif "undetermined" in outcomes:
            yield _Case(check, "gpudoctor.checks", "skipped", "not determined")
    for check, finding in findings.items():
        if check not in traces and check != _POLICY:
            yield _found(finding, check, fail_on)
    if report.incomplete:
        said = "incomplete: " + "; ".join(report.incomplete)
        yield _Case("everything was looked at", "gpudoctor.checks", "failure" if fail_on == "unknown" else "skipped", said, "unknown", said)


def _found(finding: Finding, name: str, fail_on: str, group: str = "gpudoctor.checks") -> _Case:
    text = [finding.title, *lines(finding)]
    if finding.severity in LEVELS[fail_on]:
        kind = f"{finding.severity}, {finding.confidence}"
        return _Case(name, f"{group}.{finding.layer}", "failure", visible(finding.title), kind, "\n".join(text))
    return _Case(name, f"{group}.{finding.layer}", said=[f"{finding.severity}: {text[0]}", *text[1:]])


def _demands(report: Report, fail_on: str) -> Iterator[_Case]:
    unmet = {finding.subjects[0]: finding for finding in report.findings if finding.id == _POLICY and finding.subjects}
    for trace in report.traces:
        name = trace.subject
        if trace.check != _POLICY:
            continue
        if name in unmet:
            yield _found(unmet[name], name, fail_on, "gpudoctor.policy")
        elif trace.outcome == "undetermined":
            line = next((line for line in report.undetermined if line == name or line.startswith(f"{name} (")), name)
            outcome = "skipped" if fail_on == "never" else "error"
            yield _Case(name, "gpudoctor.policy", outcome, f"not determined: {line}", "unknown", f"not determined: {line}")
        else:
            yield _Case(name, "gpudoctor.policy")


def _stacks(report: Report, fail_on: str, unanswered: Sequence[str]) -> Iterator[_Case]:
    """A test case for each stack. A broken stack is not a second failure, since its checks already fail."""
    for stack in report.stacks:
        if stack.verdict == "not-applicable":
            continue
        rungs = [f"{rung.layer}: {rung.status} {rung.detail}".rstrip() for rung in stack.layers]
        case = _Case(stack.stack, "gpudoctor.stacks", said=rungs, kind="unknown", text="\n".join(rungs))
        unknown = [rung.layer for rung in stack.layers if rung.status == "unknown" and rung.layer not in ("compute", "performance")]
        if stack.verdict != "ok":
            case.outcome = "skipped"
            case.message = f"{stack.verdict} at {stack.broken_layer}" if stack.broken_layer else stack.verdict
        if fail_on == "unknown" and unknown:
            case.outcome, case.message = "failure", f"not determined: {', '.join(unknown)}"
        elif fail_on != "never" and any(f"{stack.stack}/{rung.layer}" in unanswered for rung in stack.layers):
            case.outcome, case.message = "error", f"not determined: {', '.join(unknown)}"
        yield case


def _measurements(measured: Sequence[Measurement]) -> Iterator[_Case]:
    for each in measured:
        name = " ".join(str(part) for part in (each.title, each.task, each.dtype, f"batch {each.batch}" if each.batch else "") if part)
        case = _Case(f"{name} on {each.device}", f"gpudoctor.measurements.{each.framework}")
        if each.latency_ms and each.iterations:
            case.seconds = each.latency_ms.median * each.iterations / 1000
        if each.throughput:
            case.said.append(f"{each.throughput.value:.6g} {each.throughput.unit}")
        if each.status == "skipped":
            case.outcome, case.message = "skipped", each.reason or ""
        elif each.status == "failed" or (each.correctness and not each.correctness.passed):
            compared = f"the results differ, compared with {each.correctness.compared_with}" if each.correctness else "no reason is known"
            why = each.reason or compared
            case.outcome, case.message, case.kind, case.text = "failure", why, "measurement", why
        case.said += [*([f"noisy: {each.noisy}"] if each.noisy else []), *each.notes]
        yield case


def _time(seconds: float | None) -> str:
    return f"{seconds or 0.0:.3f}"


def _xml(text: str, *, multiline: bool = False) -> str:
    """The text without characters that XML 1.0 cannot hold or that a terminal would obey."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", visible(text, multiline=multiline))
