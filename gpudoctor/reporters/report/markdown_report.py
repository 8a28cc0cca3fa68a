"""A report for an issue tracker: the first fault at the top, details folded, always within the tracker's limit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from gpudoctor.model.measurement import OK, Measurement
from gpudoctor.model.packed import pack
from gpudoctor.model.report import Finding, LayerResult, Report, StackResult
from gpudoctor.reporters.measurement.validation_text import rate_text, result_text, task_text, time_text
from gpudoctor.reporters.report import collect_env, json_report
from gpudoctor.reporters.shared import phrases
from gpudoctor.reporters.shared.advice_lines import command_lines, sentence
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.markdown_text import block, code, folded, table, text, units

LIMIT = 65_000
"""UTF-16 units; GitHub, GitLab and Gitea accept 65,536 or more."""
TITLE = 200
"""Characters; trackers accept 255."""
FINDINGS = 60
KERNEL_LINES = (60, 20, 0)
KINDS = {
    "user": "user names", "host": "host names", "domain": "domain names", "ip": "addresses", "mac": "hardware addresses", "uuid": "UUIDs",
    "serial": "serial numbers", "secret": "secrets", "credentials": "credentials", "email": "e-mail addresses", "share": "shares",
    "folder": "folders and files of projects", "project": "project names", "sid": "account numbers",
}  # fmt: skip
"""The words for each kind of replaced name."""


class _Part(Struct):
    """A part of the report in several lengths, the longest first; `name` is written where the part is left out."""

    name: str
    worth: int
    """The part of least worth is shortened first."""
    forms: Sequence[Callable[[], str]]
    chosen: int = 0

    def content(self) -> str:
        return self.forms[self.chosen]() if self.chosen < len(self.forms) else ""


def markdown(report: Report, *, ignored: Mapping[str, str] | None = None, beside: str = "", packed: bool = True, limit: int = LIMIT) -> str:
    """The whole text, at most `limit` UTF-16 units long. `beside`: a sentence that says where the recording is. `packed`: adds the facts
    in a folded block for `check --capture`, where they fit."""
    parts = _parts(report, ignored or {}, beside, packed)
    whole = _joined(parts)
    if units(whole) <= limit:
        return whole
    cuts: list[tuple[_Part, int]] = []
    for part in sorted(parts, key=lambda each: each.worth):
        while part.chosen < len(part.forms) and part.worth < 100 and units(whole) > limit:
            cuts.append((part, part.chosen))
            part.chosen += 1
            whole = _joined(parts)
    for part, before in reversed(cuts):  # a part that was cut before a large one may fit after that one is cut
        now, part.chosen = part.chosen, before
        if units(longer := _joined(parts)) <= limit:
            whole = longer
        else:
            part.chosen = now
    return whole if units(whole) <= limit else _clipped(report, limit)


def title(report: Report) -> str:
    """The title of an issue: one line of plain text."""
    first = next((finding.title for finding in report.findings if finding.severity != "info"), None)
    wrong = phrases.nothing_wrong(report)
    said = visible(first or f"{_machine(report)}: {wrong[0].lower()}{wrong[1:].rstrip('.')}")
    return said if len(said) <= TITLE else said[: TITLE - 1] + "…"


def _machine(report: Report) -> str:
    return phrases.NO_GPU if phrases.no_gpu(report) else report.headline.get("machine") or "Unknown machine"


def summary(report: Report) -> str:
    """The verdict and the machine: the lines that are always kept."""
    counts = [f"{report.summary.get(key, 0)} {word}" + ("s" if report.summary.get(key) != 1 else "")
              for key, word in (("errors", "error"), ("warnings", "warning")) if report.summary.get(key)]  # fmt: skip
    broken = report.summary.get("first_broken")
    verdict = f"First broken: {code(str(broken))}. " if broken else ""
    lines = [f"**{text(title(report))}**", verdict + (", ".join(counts) + "." if counts else "")]
    head = report.headline
    kernel = f"kernel {head['kernel']}" if head.get("kernel") else ""
    python = f"Python {head['python']}" if head.get("python") else ""
    machine = " · ".join(text(part) for part in (_machine(report), head.get("os", ""), kernel, python) if part)
    if report.incomplete:
        lines.append(f"Incomplete: {text('; '.join(report.incomplete))}")
    return "\n\n".join(line for line in [*lines, machine] if line)


def redaction_line(report: Report) -> str:
    """One sentence that says what was redacted; empty where nothing was."""
    if not report.redactions:
        return ""
    counted = ", ".join(f"{KINDS.get(kind, kind)} ({count})" for kind, count in sorted(report.redactions.items()))
    return f"Replaced by pseudonyms: {counted}."


def _parts(report: Report, ignored: Mapping[str, str], beside: str, packed: bool) -> list[_Part]:
    stacks = [stack for stack in report.stacks if stack.verdict != "not-applicable"]
    first = [stack for place, stack in enumerate(stacks) if place == 0 or stack.used or stack.verdict == "broken"][:3]
    others = [stack for stack in stacks if stack not in first]
    serious = [finding for finding in report.findings if finding.severity != "info"]
    infos = [finding for finding in report.findings if finding.severity == "info"]
    numbers = {finding.key: number for number, finding in enumerate(serious, 1)}

    def findings(most: int, full: bool) -> Callable[[], str]:
        return lambda: "\n\n".join([*(_finding(each, numbers, full) for each in serious[:most]), *_more(len(serious), most)])

    return [
        _Part("", 100, [lambda: summary(report)]),
        _Part("ladders", 80, [lambda: "\n\n".join(_ladder(stack) for stack in first), lambda: _ladder(first[0]) if first else ""]),
        _Part("findings", 90, [findings(FINDINGS, True), *(findings(most, False) for most in (FINDINGS, 10, 3, 1))]),
        _Part("hints", 50, [lambda: _infos(infos, 200), lambda: _infos(infos, 5)]),
        _Part("environment", 75, [lambda: _environment(report, 200), lambda: _environment(report, 30), lambda: _environment(report, 0)]),
        _Part("measurements", 70, [lambda: _measurements(report, 100), lambda: _measurements(report, 12)]),
        _Part("other stacks", 10, [lambda: folded("Other stacks", "\n\n".join(_ladder(stack) for stack in others))]),
        _Part("environment variables", 20, [lambda: _variables(report)]),
        _Part("kernel log", 40, [lambda most=most: _kernel_log(report, most) for most in KERNEL_LINES if most]),  # type: ignore[misc]
        _Part("what was not looked at", 60, [lambda: _not_looked_at(report, ignored)]),
        _Part("packed facts", 30, [lambda: _packed(report, ignored)] if packed else []),
        _Part("", 100, [lambda: _foot(report, beside)]),
    ]


def _joined(parts: Sequence[_Part]) -> str:
    missing = [part.name for part in parts if part.chosen and part.name]
    said = f"*Cut to fit into an issue: {', '.join(missing)}.*" if missing else ""
    *body, foot = [part.content() for part in parts]
    return "\n\n".join(part for part in (*body, said, foot) if part) + "\n"


def _clipped(report: Report, limit: int) -> str:
    """The summary cut to whole paragraphs, for a very small limit."""
    kept = "*The rest did not fit.*\n"
    lines = summary(report).split("\n\n")
    while lines and units("\n\n".join([*lines, kept])) > limit:
        lines.pop()
    return "\n\n".join([*lines, kept])


def _ladder(stack: StackResult) -> str:
    rows = [(_word(rung), phrases.name(rung.layer), text(rung.detail)) for rung in stack.layers if not phrases.plainly_missed(rung)]
    missed = [phrases.name(rung.layer) for rung in stack.layers if phrases.plainly_missed(rung)]
    rows += [("not reached", f"{missed[0]} … {missed[-1]}" if len(missed) > 1 else missed[0], "")] if missed else []
    head = f"**{text(stack.title)}**: {phrases.verdict_words(stack)}"
    return f"{head}\n\n{table(('', 'layer', 'what is there'), rows)}" if rows else head


def _word(rung: LayerResult) -> str:
    return "not measured" if phrases.unmeasured(rung) else phrases.WORDS.get(rung.status, rung.status)


def _finding(finding: Finding, numbers: Mapping[str, int], full: bool) -> str:
    doubt = finding.confidence if finding.severity == "error" else f"{finding.severity}, {finding.confidence}"
    lines = [f"**{numbers[finding.key]}. {text(finding.title)}** ({doubt}, {code(finding.id)})"]
    if finding.caused_by is not None and finding.caused_by in numbers:
        lines.append(f"Caused by {numbers[finding.caused_by]}: fix that first.")
    if finding.explanation:
        lines.append(text(finding.explanation))
    if len(finding.subjects) > 1:
        lines.append("On " + ", ".join(code(subject) for subject in finding.subjects[:40]) + ".")
    lines += _advice(finding)
    if full:
        lines.append(folded("Evidence and sources", "\n".join(_grounds(finding))))
    return "\n\n".join(line for line in lines if line)


def _advice(finding: Finding) -> Iterator[str]:
    advice = finding.advice
    said = sentence(advice)
    if said:
        yield f"Do: {text(said)}"
    commands = command_lines(advice)
    if commands:
        yield block("\n".join(command.replace("\n", " ") for command in commands), "sh")


def _grounds(finding: Finding) -> Iterator[str]:
    yield from (f"- seen: {code(seen)}" for seen in finding.evidence[:20])
    yield from (f"- source: {code(source)}" for source in finding.sources[:6])
    yield f"- more: {code(f'gpudoctor show {finding.id}')}"


def _more(count: int, shown: int) -> Iterator[str]:
    if count > shown:
        yield f"… and {count - shown} more findings."


def _infos(infos: Sequence[Finding], most: int) -> str:
    if not infos:
        return ""
    return "\n".join(["Also:", "", *(f"- {text(each.title)} ({code(each.id)})" for each in infos[:most]), *_more(len(infos), most)])


def _environment(report: Report, packages: int) -> str:
    return folded("Environment (the fields of collect_env)", block(collect_env.block(report, packages), "text"))


def _measurements(report: Report, most: int) -> str:
    measured = report.measurements[:most]
    if not measured:
        return ""
    head = ("workload", "device", "framework", "dtype", "batch", "median", "throughput", "result")
    notes = dict.fromkeys(note for each in measured for note in _notes(each))
    lines = [*(f"- {text(note)}" for note in list(notes)[:20]), *_more(len(report.measurements), most)]
    content = [table(head, map(_measurement, measured)), *(["\n".join(lines)] if lines else [])]
    return folded(f"Measurements ({len(report.measurements)})", "\n\n".join(content))


def _notes(each: Measurement) -> Iterator[str]:
    yield from each.notes
    if each.noisy:
        yield f"{each.title}: {each.noisy}"


def _measurement(each: Measurement) -> tuple[str, ...]:
    done = each.status == OK
    said = result_text(each) if done else f"{each.status}: {each.reason or ''}"
    return (
        f"{text(each.title)} {task_text(each)}", text(f"{each.device} {each.device_name or ''}"),
        text(f"{each.framework} {each.framework_version or ''}"), text(each.dtype), str(each.batch or ""),
        time_text(each) if done else "", text(rate_text(each)) if done else "", text(said),
    )  # fmt: skip


def _variables(report: Report) -> str:
    variables = report.facts.get("env")
    if not isinstance(variables, Mapping) or not variables:
        return ""
    return folded("Environment variables", block("\n".join(f"{name}={value}" for name, value in sorted(variables.items()))))


def _kernel_log(report: Report, most: int) -> str:
    lines = collect_env.at(report.facts, "kernel.log")
    if not isinstance(lines, list) or not lines:
        return ""
    shown = [str(line)[:300] for line in lines[-most:]]
    count = f"the last {len(shown)} of {len(lines)} lines" if len(lines) > len(shown) else f"{len(lines)} lines"
    return folded(f"Kernel log ({count} that speak of GPUs, firmware and memory)", block("\n".join(shown)))


def _not_looked_at(report: Report, ignored: Mapping[str, str]) -> str:
    lines = [f"Not read: {text('; '.join(report.not_looked_at))}." if report.not_looked_at else ""]
    silenced = sorted(set(ignored))
    lines.append("Ignored: " + ", ".join(f"{code(check)} ({text(ignored[check])})" for check in silenced) + "." if silenced else "")
    return "\n\n".join(line for line in lines if line)


def _packed(report: Report, ignored: Mapping[str, str]) -> str:
    """The same report for programs: `check --capture` of this text replays it."""
    document = json.dumps(json_report.document(report, ignored), separators=(",", ":"), allow_nan=False)
    return folded("The same report for programs (save this text and run gpudoctor check --capture FILE)", block(pack(document)))


def _foot(report: Report, beside: str) -> str:
    made = f"Made by gpudoctor {text(report.tool_version)} on {text(report.created[:10])}" + (
        " from a recorded machine." if report.origin == "capture" else "."
    )
    return " ".join(part for part in (made, text(redaction_line(report)), text(beside)) if part)
