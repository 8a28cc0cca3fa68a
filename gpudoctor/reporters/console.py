"""The screen: which machine, how far each stack gets, what is broken first, what to do, what nobody looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpudoctor.model.check import LAYERS
from gpudoctor.model.report import Finding, LayerResult, Report, StackResult
from gpudoctor.reporters.arranged import MOST, Arranged, arrange, question_of
from gpudoctor.reporters.escape import visible
from gpudoctor.reporters.layout import Line, Span, Terminal, hanging, joined, wrapped

WORDS = {"ok": "ok", "warning": "warning", "broken": "BROKEN", "unknown": "unknown", "not-reached": "not reached"}
STYLES = {"ok": "good", "warning": "warn", "broken": "bad", "unknown": "warn", "not-reached": "dim"}
MEASURED = ("compute", "performance")
"""Rungs that validate fills."""
SHOWN = 3
"""Ladders on a screen without -v."""


def render(
    report: Report,
    terminal: Terminal | None = None,
    *,
    verbose: bool = False,
    quiet: bool = False,
    stack: str | None = None,
    ignored: Mapping[str, str] | None = None,
) -> str:
    """The whole screen. `quiet` leaves out ladders and hints; `stack` is the only one to show; `ignored` were left out, and why."""
    terminal = terminal or Terminal()
    width = min(max(terminal.width, 40), 100)
    parts = [list(machine_lines(report, width))]
    if not quiet:
        parts += list(_ladders(report, width, verbose, stack))
    parts += list(_findings(report, width, verbose))
    parts.append(list(_tail(report, width, quiet, ignored or {})))
    lines = [line for part in parts if part for line in (*part, ())]
    return terminal.draw(lines[:-1])


def name(layer: str) -> str:
    return layer.replace("-", " ")


def machine_lines(report: Report, width: int) -> Iterator[Line]:
    if report.incomplete:
        yield from hanging((Span("incomplete: ", "warn"),), "; ".join(report.incomplete), width)
    head = report.headline
    machine = "No GPU seen" if no_gpu(report) else head.get("machine", "")
    kernel = f"kernel {head['kernel']}" if head.get("kernel") else ""
    for text in joined([machine, head.get("os", ""), kernel, python_line(head)], width, indent=2):
        yield (Span(text, "bold"),)
    if no_gpu(report):
        yield ()
        yield from hanging((), looked_for(report), width)


def python_line(head: Mapping[str, str]) -> str:
    """Which environment was looked at and why that one."""
    where, why = head.get("python_executable", ""), head.get("python_why", "")
    text = " ".join(
        part for part in (f"Python {head.get('python', '')}".strip(), f"at {where}" if where else "", f"({why})" if why else "") if part
    )
    return text if head.get("python") or where else ""


def no_gpu(report: Report) -> bool:
    return "gpus" in report.facts and not report.facts["gpus"]


def looked_for(report: Report) -> str:
    """No GPU is said with what was looked at: 'none here' and 'could not see' are two answers."""
    facts = report.facts
    pci, platform = facts.get("pci"), facts.get("platform")
    devices = pci.get("devices") if isinstance(pci, dict) else None
    kind = platform.get("kind") if isinstance(platform, dict) else None
    if devices:
        return f"No GPU among the {len(devices)} devices of the PCI bus."
    if kind == "wsl2":
        return "No GPU: there is no /dev/dxg, the way by which WSL reaches one."
    place = {"container": "this container", "windows": "this Windows", "macos": "this Mac"}.get(str(kind), "this machine")
    if kind in ("windows", "macos"):
        return f"No GPU among the display adapters of {place}."
    return f"No PCI bus is visible on {place} (virtual machines and containers may hide it), so a card could not be seen from here."


def _ladders(report: Report, width: int, verbose: bool, only: str | None) -> Iterator[list[Line]]:
    stacks = [stack for stack in report.stacks if only in (None, stack.stack) and (only or verbose or stack.verdict != "not-applicable")]
    stacks.sort(key=lambda stack: not stack.used)
    shown: list[StackResult] = []
    folded: list[StackResult] = []
    absent = []
    for stack in stacks:
        if not (only or verbose) and stack.verdict == "incomplete" and not stack.used:
            absent.append(stack.stack)
        elif not (only or verbose) and (len(shown) >= SHOWN or _teaches_nothing(stack, shown)):
            folded.append(stack)
        else:
            shown.append(stack)
    for stack in shown:
        yield list(_ladder(stack, width))
    notes: list[Line] = []
    for verdict in dict.fromkeys(verdict_words(stack) for stack in folded):
        names = ", ".join(stack.stack for stack in folded if verdict_words(stack) == verdict)
        notes += hanging((Span(f"Also {verdict}: ", "dim"),), names, width)
    if absent:
        notes += hanging((Span("Not installed: ", "dim"),), ", ".join(absent), width)
    if notes:
        yield notes


def _teaches_nothing(stack: StackResult, shown: list[StackResult]) -> bool:
    """An unused stack that stops where one on the screen stops, or of which no rung could be told."""
    if stack.used:
        return False
    if stack.broken_layer is not None:
        return any(other.broken_layer == stack.broken_layer for other in shown)
    return all(rung.status in ("unknown", "not-reached") for rung in stack.layers)


def verdict_words(stack: StackResult) -> str:
    if stack.verdict == "broken":
        return f"broken at {name(stack.broken_layer or '')}".removesuffix(" at ")
    if stack.verdict == "unknown":
        unknown = next((rung.layer for rung in stack.layers if rung.status == "unknown" and rung.layer not in MEASURED), "")
        return f"unknown from {name(unknown)} on" if unknown else "unknown"
    return {"ok": "ok", "incomplete": "not installed", "not-applicable": "no device for it"}[stack.verdict]


def _ladder(stack: StackResult, width: int) -> Iterator[Line]:
    style = {"broken": "bad", "ok": "good"}.get(stack.verdict, "dim")
    title, verdict = visible(stack.title), verdict_words(stack)
    gap = max(width - len(title) - len(verdict), 2)
    yield (Span(title, "bold"), Span(" " * gap), Span(verdict, style))
    if stack.verdict == "not-applicable":
        return
    layers = list(stack.layers)
    while layers:
        rung = layers.pop(0)
        missed = [rung.layer]
        alike = next((alike for alike in (plainly_missed, unmeasured) if alike(rung)), None)
        while alike is not None and layers and alike(layers[0]):
            missed.append(layers.pop(0).layer)
        yield from _rung(rung, missed, width)


def plainly_missed(rung: LayerResult) -> bool:
    return rung.status == "not-reached" and not rung.detail


def unmeasured(rung: LayerResult) -> bool:
    """What validate is for: nobody looked, and nothing is wrong with that."""
    return rung.status == "unknown" and rung.layer in MEASURED


def _rung(rung: LayerResult, missed: list[str], width: int) -> list[Line]:
    word = Span(f"  {WORDS.get(rung.status, rung.status):<12} ", STYLES.get(rung.status, ""))
    if plainly_missed(rung):
        return [(word, Span(name(missed[0]) + (f" … {name(missed[-1])}" if len(missed) > 1 else ""), "dim"))]
    if unmeasured(rung):
        return [(Span(f"  {'not measured':<12} ", "dim"), Span(f"{' and '.join(map(name, missed))}: gpudoctor validate tells", "dim"))]
    column = max(len(name(layer)) for layer in LAYERS) + 1
    detail = rung.detail or ("could not be told" if rung.status == "unknown" else "")
    return hanging((word, Span(f"{name(rung.layer):<{column}} ")), detail, width)


def _findings(report: Report, width: int, verbose: bool) -> Iterator[list[Line]]:
    arranged = arrange(report.findings, None)
    yield from arranged_lines(arranged, width, verbose)
    if arranged.hints:
        yield [line for finding in arranged.hints for line in info_lines(finding, width, verbose)]


def arranged_lines(arranged: Arranged, width: int, verbose: bool) -> Iterator[list[Line]]:
    """What is sure, else a question; then what could be as well, in one line."""
    numbers: dict[str, int] = {}
    for finding in arranged.shown:
        numbers[finding.key] = len(numbers) + 1
        yield list(finding_lines(finding, numbers, width, verbose))
    if arranged.question is not None:
        yield list(question_lines(arranged.question, width, verbose))
    if arranged.possible:
        said = "; ".join(f"{finding.title} ({finding.id})" for finding in arranged.possible[:MOST])
        yield list(hanging((Span("Could also be: ", "dim"),), said, width, style="dim"))


def question_lines(finding: Finding, width: int, verbose: bool) -> Iterator[Line]:
    """What is only possible: the question that decides it, the look that answers it, and what to do if so."""
    margin = Span("   ")
    yield from hanging((Span("?  ", "warn"),), question_of(finding), width, style="bold", last="possible")
    if finding.look:
        yield margin, Span("look   ", "good"), Span(f"$ {visible(finding.look)}", "command")
    if finding.explanation:
        yield from hanging((margin,), finding.explanation, width)
    if verbose:
        for seen in finding.evidence:
            yield from hanging((margin, Span("seen   ", "dim")), seen, width, style="dim", quoted=True)
    yield from _advice(finding, width, margin, "if so  ", verbose)
    yield from hanging((margin, Span("more   ", "dim")), f"gpudoctor show {finding.id}", width, style="dim")


def finding_lines(finding: Finding, numbers: dict[str, int], width: int, verbose: bool) -> Iterator[Line]:
    style = "bad" if finding.severity == "error" else "warn"
    doubt = finding.confidence if finding.severity == "error" else f"{finding.severity}, {finding.confidence}"
    yield from hanging((Span(f"{numbers[finding.key]:<3}", style),), finding.title, width, style="bold", last=doubt)
    margin = Span("   ")
    if finding.caused_by in numbers:
        yield from hanging((margin,), f"Caused by {numbers[finding.caused_by]}: fix that first.", width)
        if not verbose:
            return
    if finding.explanation:
        yield from hanging((margin,), finding.explanation, width)
    if len(finding.subjects) > 1:
        yield from hanging((margin, Span("on     ", "dim")), ", ".join(finding.subjects), width)
    if verbose:
        for seen in finding.evidence:
            yield from hanging((margin, Span("seen   ", "dim")), seen, width, style="dim", quoted=True)
    yield from _advice(finding, width, margin, "do     ", verbose)
    more = "  ".join((f"gpudoctor show {finding.id}", *finding.sources[:2]))
    yield from hanging((margin, Span("more   ", "dim")), more, width, style="dim")


def _advice(finding: Finding, width: int, margin: Span, label: str, verbose: bool) -> Iterator[Line]:
    advice = finding.advice
    text = advice.text + (" Then reboot." if advice.needs_reboot and "reboot" not in advice.text.lower() else "")
    if text:
        yield from hanging((margin, Span(label, "good")), text, width)
        label = " " * len(label)
    for command in advice.commands:
        yield margin, Span(label, "good"), Span(f"$ {visible(command)}", "command")  # one line: to be copied
        label = " " * len(label)
    for variable, value in advice.env.items():
        yield margin, Span(label, "good"), Span(f"$ export {visible(variable)}={visible(value)}", "command")
        label = " " * len(label)
    for words in advice.otherwise if verbose else ():
        yield from hanging((margin, Span("or     ", "dim")), words, width)


def info_lines(finding: Finding, width: int, verbose: bool) -> Iterator[Line]:
    yield from hanging((Span("Also: ", "dim"),), finding.title, width)
    margin = Span("      ")
    if verbose:
        yield from hanging((margin,), finding.explanation, width)
        yield from _advice(finding, width, margin, "do     ", verbose)
    yield margin, Span(f"gpudoctor show {finding.id}", "dim")


def _tail(report: Report, width: int, quiet: bool, ignored: Mapping[str, str]) -> Iterator[Line]:
    silenced = {trace.check for trace in report.traces if trace.outcome == "problem"} & set(ignored)
    for check in sorted(silenced):
        yield from hanging((Span("Ignored: ", "dim"),), f"{check} ({ignored[check]})", width, style="dim")
    if report.undetermined:
        yield from hanging((Span("Could not be told: ", "warn"),), "; ".join(report.undetermined), width)
    if report.not_looked_at and not quiet:
        yield from hanging((Span("Not looked at: ", "dim"),), "; ".join(report.not_looked_at) + ".", width, style="dim")
    if not any(finding.severity != "info" and finding.confidence != "possible" for finding in report.findings):
        yield (Span(nothing_wrong(report), "" if report.incomplete else "good"),)
    if not quiet:
        lead, command = next_step(report)
        if len(lead) + len(command) + 1 > width:
            yield from ((Span(text),) for text in wrapped(lead, width))
            yield (Span(f"  {command}", "command"),)
        else:
            yield Span(f"{lead} "), Span(command, "command")


def nothing_wrong(report: Report) -> str:
    if no_gpu(report):
        return "Nothing else to report."
    if report.incomplete or any(stack.verdict == "unknown" for stack in report.stacks):
        return "Nothing wrong was found in what could be looked at."
    return "Nothing wrong was found."


def next_step(report: Report) -> tuple[str, str]:
    """What to say, and the command to run next."""
    serious = [finding for finding in report.findings if finding.severity != "info" and finding.confidence != "possible"]
    if serious:
        first = serious[0]
        if first.advice.commands:
            return "Next:", visible(first.advice.commands[0])
        return "Next:", f"gpudoctor show {first.id}"
    if report.incomplete:
        return "Next, with more time:", "gpudoctor check --budget 120"
    if no_gpu(report):
        return "Next, on the machine with the GPU:", "gpudoctor capture -o machine.tar.gz"
    if report.origin == "live" and any(
        stack.used and stack.verdict == "ok" and any(map(unmeasured, stack.layers)) for stack in report.stacks
    ):
        return "Next, whether it computes right, and how fast:", "gpudoctor validate"
    return "Next, for the evidence:", "gpudoctor check -v"
