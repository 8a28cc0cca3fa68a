"""The findings on the page: the first one large at the top, the others below, each with its evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpudoctor.model.measurement import OK, SKIPPED, Measurement
from gpudoctor.model.report import Finding, Report
from gpudoctor.reporters.html.advice import advice, commands
from gpudoctor.reporters.html.element import Element, element, source, within
from gpudoctor.reporters.html.words import KINDS, mark, slug
from gpudoctor.reporters.measurement.validation_text import rate_text, task_text
from gpudoctor.reporters.shared import phrases

SHORT_WORD, SHORT_NUMBER = 22, 8
"""The number of letters for which a narrow screen has room."""
SURE = {"certain": "certain", "likely": "likely", "possible": "possible"}


def serious(report: Report) -> list[Finding]:
    return [finding for finding in report.findings if finding.severity != "info"]


def place(finding: Finding) -> str:
    return f"finding-{slug(finding.key)}"


def opening(report: Report) -> Element:
    """The top of the page: the first finding and its advice, or that there is none."""
    wrong = serious(report)
    if not wrong:
        return _nothing(report)
    first = wrong[0]
    return element(
        "section",
        _machine(report),
        _label(first),
        element("h1", unbroken(first.title), id="verdict"),
        element("p", first.explanation, class_="lead") if first.explanation else None,
        _subjects(first),
        advice(first.advice, element("h2", "What to do")) or commands([f"gpudoctor show {first.id}"]),
        _ground(first, heading="h2"),
        class_="opening", id=place(first), aria_labelledby="verdict",
    )  # fmt: skip


def _nothing(report: Report) -> Element:
    doubtful = bool(report.incomplete) or any(stack.verdict == "unknown" for stack in report.stacks)
    if phrases.no_gpu(report):
        title = "No GPU found; no other problems"
    else:
        title = _result(report.measurements) or phrases.nothing_wrong(report).rstrip(".")
    kind = "doubt" if doubtful or phrases.no_gpu(report) else "good"
    word = {"doubt": "Not everything was checked" if doubtful else "No GPU", "good": "Sound"}[kind]
    lead, following = phrases.next_step(report)
    working = [stack.title for stack in report.stacks if stack.verdict == "ok" and stack.used]
    sentences = [phrases.looked_for(report)] if phrases.no_gpu(report) else []
    sentences += [f"Works from the device up: {', '.join(working)}."] if working else []
    return element(
        "section",
        _machine(report),
        element("p", element("span", mark(kind), word, class_=f"state {kind}"), class_="label"),
        element("h1", title, id="verdict"),
        element("p", " ".join(sentences), class_="lead") if sentences else None,
        element("div", element("h2", lead.rstrip(":")), commands(list(following)), class_="do"),
        class_="opening", aria_labelledby="verdict",
    )  # fmt: skip


def _result(measurements: Sequence[Measurement]) -> str:
    """The result of `validate`: how many results match their reference, and the throughput of the first network."""
    done = [each for each in measurements if each.status == OK]
    if not done:
        return ""
    compared = [each for each in measurements if each.status != SKIPPED and each.correctness is not None]
    right = sum(each.correctness.passed for each in compared if each.correctness is not None)
    timed = next((each for each in done if each.throughput is not None and each.task != "micro"), None)
    timed = timed or next((each for each in done if each.throughput is not None), None)
    speed = f"{timed.title} {task_text(timed)}: {rate_text(timed)} on {timed.device}" if timed is not None else ""
    results = f"{right} of {len(compared)} results match the reference" if compared else ""
    return "; ".join(part for part in (speed, results) if part)


def unbroken(text: str) -> Iterator[Element | str]:
    """The text in parts that stay on one line: versions with hyphens, and a word with its number, such as Arc A750 or Python 3.11."""
    groups: list[str] = []
    for word in text.split(" "):
        if groups and len(word) <= SHORT_NUMBER and any(map(str.isdigit, word)) and " " not in groups[-1]:
            groups[-1] += f" {word}"
        else:
            groups.append(word)
    for number, group in enumerate(groups):
        if number:
            yield " "
        yield element("span", group, class_="whole") if ("-" in group or " " in group) and len(group) <= SHORT_WORD else group


def _machine(report: Report) -> Element:
    """The machine in one line."""
    head = report.headline
    machine = phrases.NO_GPU if phrases.no_gpu(report) else head.get("machine", "")
    kernel = f"kernel {head['kernel']}" if head.get("kernel") else ""
    first = " · ".join(part for part in (machine, head.get("os", ""), kernel) if part)
    python = phrases.python_line(head)
    return element("p", element("strong", first), element("span", python) if python else None, class_="machine")


def _label(finding: Finding) -> Element:
    kind = KINDS.get(finding.severity, "note")
    words = {"error": "Error", "warning": "Warning", "info": "Note"}
    return element(
        "p",
        element("span", mark(kind), words.get(finding.severity, finding.severity), class_=f"state {kind}"),
        element("span", SURE.get(finding.confidence, finding.confidence)),
        element("span", f"layer: {phrases.name(finding.layer)}"),
        class_="label",
    )


def _subjects(finding: Finding) -> Element | None:
    return element("p", "On ", ", ".join(finding.subjects), class_="aside") if len(finding.subjects) > 1 else None


def _ground(finding: Finding, heading: str = "h4") -> Element:
    """The evidence of a finding, its sources, and the command that shows more."""
    seen = [element("li", text) for text in finding.evidence]
    refs = [element("li", source(ref)) for ref in finding.sources]
    return element(
        "div",
        element("div", element(heading, "What was seen"), element("ul", seen, class_="seen")) if seen else None,
        element("div", element(heading, "Sources"), element("ul", refs, class_="sources")) if refs else None,
        element("div", element(heading, "All that is known of it"), commands([f"gpudoctor show {finding.id}"]), class_="known"),
        class_="ground",
    )


def others(report: Report) -> Element | None:
    """All findings but the one at the top; notes are folded."""
    wrong = serious(report)
    notes = [finding for finding in report.findings if finding.severity == "info"]
    if len(wrong) < 2 and not notes:
        return None
    numbers = {finding.key: number for number, finding in enumerate(wrong, 1)}
    return element(
        "section",
        element("h2", "Other findings" if wrong else "Notes", id="findings"),
        [_article(finding, numbers, wrong) for finding in wrong[1:]],
        [_note(finding) for finding in notes],
        aria_labelledby="findings",
    )


def _article(finding: Finding, numbers: Mapping[str, int], wrong: Sequence[Finding]) -> Element:
    name = place(finding)
    cause = next((each for each in wrong if each.key == finding.caused_by), None)
    follows = None
    if cause is not None:
        follows = element("p", "Caused by ", within(place(cause), f"{numbers[cause.key]}: {cause.title}"), "; fix that first.")
    return element(
        "article",
        _label(finding),
        element("h3", element("span", f"{numbers[finding.key]}", class_="number"), " ", finding.title, id=f"{name}-title"),
        follows,
        *_body(finding),
        class_="finding", id=name, aria_labelledby=f"{name}-title",
    )  # fmt: skip


def _note(finding: Finding) -> Element:
    return element(
        "details",
        element("summary", mark("note"), element("h3", finding.title)),
        element("div", *_body(finding), class_="folded"),
        class_="finding note", id=place(finding),
    )  # fmt: skip


def _body(finding: Finding) -> list[Element | None]:
    return [
        element("p", finding.explanation) if finding.explanation else None,
        _subjects(finding),
        advice(finding.advice, element("h4", "What to do")),
        _ground(finding),
    ]
