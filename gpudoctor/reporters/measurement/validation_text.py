"""The measurements of `validate` for a person: the live table, the final table, bars, and their interpretation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from gpudoctor.model.batch_pick import BatchPick
from gpudoctor.model.comparison import LEAST_PROCESSES
from gpudoctor.model.measurement import FAILED, OK, SKIPPED, Measurement
from gpudoctor.model.report import Report
from gpudoctor.reporters.measurement import course_text, links_text, replicas_text, side_by_side_text
from gpudoctor.reporters.shared.advice_lines import command_lines
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.layout import Line, Span, Terminal, hanging

if TYPE_CHECKING:
    from rich.table import Table

HEAD = ("workload", "task", "dtype", "batch", "median", "throughput", "spread", "result")
SHORT = {"training": "train", "inference": "infer", "micro": "micro"}
CELLS = {True: ("█", "░"), False: ("#", ".")}
"""Full and empty cells of a bar: in Unicode, and in ASCII."""
BAR = 20
BESIDE_A_BAR = 40
"""Columns for the words beside a bar; a name that leaves fewer stands above it."""
CLOCK = {
    "preprocess": "preparing images", "host_to_device": "copies to the device", "compute": "computing",
    "device_to_host": "copies to the host",
}  # fmt: skip
MOST_LATE = 4
"""Workloads of a framework that are named when there was no time for them."""
LAYERS = ("compute", "performance")
RICH = {"": "", "good": "green", "bad": "bold red", "warn": "yellow", "dim": "dim"}


class Running(Struct, frozen=True, kw_only=True):
    """One line of the live table. `measured` is set once the job is finished."""

    words: str
    stage: str = ""
    detail: str = ""
    measured: Measurement | None = None


def duration_text(seconds: float) -> str:
    """'40 s', '7 min', '2.5 h': rounded, since it is an estimate."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def moving(rows: Sequence[Running], waiting: int, seconds: float, terminal: Terminal) -> Table:
    """The live table: finished jobs, running ones, the number of waiting ones and their time. Each has one line, cut where the terminal
    ends."""
    from rich.table import Table
    from rich.text import Text

    def cell(text: str, style: str = "") -> Text:
        return Text(terminal.shown(" ".join(visible(text).split())), RICH[style], no_wrap=True, overflow="ellipsis")

    table = Table.grid(padding=(0, 1), pad_edge=True)
    table.add_column(width=7, no_wrap=True)
    table.add_column(overflow="ellipsis", min_width=20)
    table.add_column(overflow="ellipsis")
    for row in rows:
        mark, style, text = _state(row)
        table.add_row(cell(mark, style), cell(row.words), cell(text, "dim" if row.measured is None else ""))
    if waiting:
        table.add_row(cell(""), cell(f"and up to {waiting} more", "dim"), cell(f"about {duration_text(seconds)} left", "dim"))
    return table


def _state(row: Running) -> tuple[str, str, str]:
    """The mark, its style, and the text of a line."""
    if row.measured is None:
        return "…", "", f"{row.stage} {row.detail}".strip()
    said = row.measured
    if said.status == OK:
        return "noisy" if said.noisy else "ok", "warn" if said.noisy else "good", f"{time_text(said)}  {rate_text(said)}"
    return ("FAILED", "bad", said.reason or "") if said.status == FAILED else ("skipped", "dim", said.reason or "")


def render(
    report: Report, terminal: Terminal, *, left_out: Sequence[str] = (), picks: Sequence[BatchPick] = (), seconds: float = 0.0,
    verbose: bool = False, full_seconds: float = 0.0,
) -> str:  # fmt: skip
    """The whole text. `left_out`: what was not measured, a line each. `picks`: of the batches of replicas. `full_seconds`: what --full
    would take."""
    width = min(max(terminal.width, 60), 110)
    parts: list[list[Line]] = []
    for device in dict.fromkeys((each.device, each.framework) for each in report.measurements):
        mine = [each for each in report.measurements if (each.device, each.framework) == device]
        shown = [each for each in mine if not each.out_of_time]
        parts.append([*_heading(mine), *(_table(shown, width) if shown else ())])
        steps = list(course_text.lines(shown, [_bar_name(each) for each in shown], terminal, width))
        if steps:
            parts.append(steps)
        bars = list(_bars(mine, terminal, width))
        if bars:
            parts.append(bars)
    parts.append(list(side_by_side_text.lines(report.measurements, width)))
    parts.append(list(replicas_text.lines(report.measurements, picks, width)))
    parts.append(list(links_text.lines(report.measurements, width)))
    if not report.measurements:
        parts.append([(Span("Nothing was measured.", "bold"),)])
    parts.append(list(_meaning(report, width, verbose)))
    parts.append(list(_left_out(left_out, width, verbose)))
    parts.append(list(_findings(report, width)))
    done = sum(each.status != SKIPPED for each in report.measurements)
    parts.append([(Span(f"{done} measurement{'' if done == 1 else 's'} in {seconds:.0f} s.", "dim"),)])
    parts[-1] += _next(report, left_out, full_seconds, width)
    lines = [line for part in parts if part for line in (*part, ())]
    return terminal.draw(lines[:-1])


def _next(report: Report, left_out: Sequence[str], full_seconds: float, width: int) -> Iterator[Line]:
    """The most useful next command."""
    causes = [finding for finding in report.findings if finding.layer in LAYERS and finding.severity != "info"]
    commands = command_lines(causes[0].advice) if causes else []
    if commands:
        lead, command = "Next:", commands[0]
    elif causes:
        lead, command = "Next, about the cause:", f"gpudoctor show {causes[0].id}"
    elif not report.measurements or any(each.status == FAILED for each in report.measurements):
        lead, command = "Next, to find out why:", "gpudoctor check"
    elif full_seconds:
        lead, command = f"Next, to measure all of it in about {duration_text(full_seconds)}:", "gpudoctor validate --full"
    elif left_out:
        lead, command = "Next, to measure all of it:", "gpudoctor validate --full"
    else:
        lead, command = "Next, to keep the results in one file:", "gpudoctor report -o report.html"
    if len(lead) + len(command) + 1 <= width:
        yield Span(f"{lead} "), Span(visible(command), "command")
        return
    yield (Span(lead),)
    yield Span("  "), Span(visible(command), "command")


def _heading(mine: Sequence[Measurement]) -> Iterator[Line]:
    one = next((each for each in mine if each.status == OK), mine[0])
    name = f" · {visible(one.device_name)}" if one.device_name and one.device_name != one.device else ""
    version = f" {visible(one.framework_version)}" if one.framework_version else ""
    yield (Span(visible(one.device), "bold"), Span(f"{name} · {visible(one.framework)}{version}"))


def _table(mine: Sequence[Measurement], width: int) -> Iterator[Line]:
    """The table within the width. Where it is too wide, names of workloads get their own lines; then the spread is dropped."""
    rows = [_cells(each) for each in mine]
    widths = [max(len(HEAD[place]), *(len(row[place]) for row in rows)) for place in range(len(HEAD))]
    right = (3, 4, 5, 6)

    def fits(places: Sequence[int], margin: int) -> bool:
        return margin + sum(widths[place] for place in places) + 2 * (len(places) - 1) <= width

    shown, margin = list(range(len(HEAD))), 2
    apart = not fits(shown, margin)
    if apart:
        shown, margin = shown[1:], 4
    if not fits(shown, margin):
        shown.remove(HEAD.index("spread"))

    def cell(text: str, place: int) -> str:
        return text.rjust(widths[place]) if place in right else text.ljust(widths[place])

    yield (Span(" " * margin + "  ".join(cell(HEAD[place], place) for place in shown), "dim"),)
    name = ""
    for each, row in zip(mine, rows, strict=True):
        if apart and row[0] != name:
            name = row[0]
            yield (Span(f"  {name}"),)
        texts = "  ".join(cell(row[place], place) for place in shown[:-1])
        style = "bad" if each.status == FAILED else "dim" if each.status == SKIPPED else "warn" if each.noisy or "," in row[-1] else "good"
        yield Span(f"{' ' * margin}{texts}  "), Span(row[-1], style)


def _cells(each: Measurement) -> tuple[str, ...]:
    latency = each.latency_ms
    star = "" if latency is None or len(latency.processes) >= LEAST_PROCESSES or each.replicas else "*"
    spread = f"±{latency.ci95_percent:.1f}%{star}" if latency is not None and latency.ci95_percent is not None else "-"
    done = each.status == OK
    return (
        visible(each.title), task_text(each), each.dtype, str(each.batch or "-"),
        time_text(each) if done else "-", rate_text(each) if done else "-", spread if done else "-", result_text(each),
    )  # fmt: skip


def task_text(each: Measurement) -> str:
    """The task and its optimizer in few words: 'train adam'."""
    return " ".join(filter(None, (SHORT.get(each.task, each.task), each.optimizer)))


def result_text(each: Measurement) -> str:
    if each.status != OK:
        if each.correctness is None or each.correctness.passed:
            return "FAILED" if each.status == FAILED else "skipped"
        return visible(each.correctness.computed_in or "WRONG")
    right = "right" if each.correctness is not None and each.correctness.passed else "timed"
    concern = each.course.concern if each.course is not None else ""
    if concern == "slows" and each.course is not None and each.course.others_grew is None and each.disturbed:
        concern = ""  # others took so much that it may be theirs
    return ", ".join(filter(None, (right, concern or ("noisy" if each.noisy else ""))))


def time_text(each: Measurement) -> str:
    if each.latency_ms is None:
        return "-"
    median = each.latency_ms.median
    if median >= 10_000:
        return f"{median / 1000:.1f} s"
    return f"{median * 1000:.3g} µs" if median < 0.1 else f"{median:.{3 if median < 10 else 1 if median < 1000 else 0}f} ms"


def rate_text(each: Measurement) -> str:
    if each.workload in ("operators", "large_tensors"):
        return f"{each.iterations or 0} operators"
    if each.throughput is None:
        return "-"
    value = each.throughput.value
    digits = 0 if value >= 1000 else 1 if value >= 100 else 2 if value >= 1 else 3
    return f"{value:.{digits}f} {visible(each.throughput.unit)}"


def bar(share: float, terminal: Terminal, cells: int = BAR) -> str:
    """A bar of the length `share`, where 1 is full; a longer one ends with a plus."""
    full, empty = CELLS[terminal.unicode]
    filled = min(max(round(share * cells), 0), cells)
    return full * filled + empty * (cells - filled) + ("+" if share > 1.005 else " ")


def _bar_name(each: Measurement) -> str:
    return f"{each.title} {SHORT.get(each.task, each.task)} {each.dtype}" + (f" b{each.batch}" if each.batch else "")


def _bars(mine: Sequence[Measurement], terminal: Terminal, width: int) -> Iterator[Line]:
    shown = [each for each in mine if each.status == OK and (each.ceiling is not None or each.reference is not None)]
    names = [_bar_name(each) for each in shown]
    room = max((len(name) for name in names), default=0)
    apart = room > width - BAR - BESIDE_A_BAR
    if apart:
        room = 0
    for each, name in zip(shown, names, strict=True):
        label = "" if apart else visible(name).ljust(room)
        if apart:
            yield (Span(f"  {visible(name)}"),)
        if each.ceiling is not None:
            limit = "memory" if each.ceiling.bound == "memory" else "arithmetic"
            text = f"{100 * each.ceiling.fraction:.0f} % of what {limit} allows"
            yield Span(f"  {label}  "), Span(bar(each.ceiling.fraction, terminal), "command"), Span(text)
            label = " " * room
        if each.reference is not None:
            text = f"{each.reference.ratio:.2f} x published {each.reference.value:g} {visible(each.reference.unit)}"
            style = "warn" if each.reference.ratio < 0.8 else "good"
            yield Span(f"  {label}  "), Span(bar(each.reference.ratio, terminal), style), Span(text[: max(width - room - BAR - 5, 20)])


def _meaning(report: Report, width: int, verbose: bool) -> Iterator[Line]:
    """One line for each remark: failures, wrong results, noise and its reason, distance from the ceiling, causes."""
    done = [each for each in report.measurements if each.status == OK]
    for each in report.measurements:
        if each.status == FAILED:
            yield from hanging((Span("  failed   ", "bad"),), f"{_named(each)}: {each.reason}", width)
    for reason, names in grouped(
        [(each.reason or "", _named(each)) for each in report.measurements if each.status == SKIPPED and not each.out_of_time]
    ):
        yield from hanging((Span("  skipped  ", "dim"),), f"{names}: {reason}", width)
    yield from _out_of_time(report.measurements, width, verbose)
    for text in right_ones(done):
        yield from hanging((Span("  right    ", "good"),), text, width)
    yield from _how_it_was_timed(done, width)
    more = [each for each in done if each.task != "micro" and not each.replicas and set(each.includes) - {"compute"}]
    for parts, names in grouped([(_clock(each), _named(each)) for each in more]):
        yield from hanging((Span("  clock    ", "dim"),), f"{names}: {parts} are inside", width)
    for reason, names in grouped([(each.noisy, _named(each)) for each in done if each.noisy], exactly=verbose):
        yield from hanging((Span("  noisy    ", "warn"),), f"{names}: {reason}", width)
    for each in done:
        if each.reference is not None and (verbose or each.reference.ratio < 0.8):
            differs = f" ({'; '.join(each.reference.differs)})" if each.reference.differs else ""
            text = f"{_named(each)}: {each.reference.ratio:.2f} of the published speed, {each.reference.source}{differs}"
            yield from hanging((Span("  compare  ", "warn" if each.reference.ratio < 0.8 else "dim"),), text, width)
    if done and not any(each.reference for each in done):
        yield from hanging((Span("  note     ", "dim"),), "no published result of this device to compare with", width)
    for note in dict.fromkeys(note for each in done for note in each.notes if verbose or note.startswith("energy not known")):
        yield from hanging((Span("  note     ", "dim"),), note, width)
    for each in done:
        if each.energy is not None and each.energy.mean_watts is not None:
            per = f", {each.energy.joules_per_item:.3g} J per item" if each.energy.joules_per_item is not None else ""
            if each.energy.throughput_per_watt is not None and each.throughput is not None:
                per += f", {each.energy.throughput_per_watt:.3g} {visible(each.throughput.unit)}/W"
            text = f"{_named(each)}: {each.energy.mean_watts:.1f} W{per} ({each.energy.boundary}, {each.energy.source})"
            yield from hanging((Span("  energy   ", "dim"),), text, width)


def _out_of_time(measurements: Sequence[Measurement], width: int, verbose: bool) -> Iterator[Line]:
    """The jobs that the budget of --quick left out, in one line: the workloads of each framework, with the parts that are missing."""
    late = [each for each in measurements if each.out_of_time]
    if not late:
        return
    found = []
    for framework in dict.fromkeys(each.framework for each in late):
        tasks: dict[str, list[str]] = {}
        for each in late:
            if each.framework == framework:
                tasks.setdefault(each.title, []).append("" if each.task == "micro" else SHORT.get(each.task, each.task))
        names = [" ".join(filter(None, (title, "+".join(dict.fromkeys(filter(None, kinds)))))) for title, kinds in tasks.items()]
        more = len(names) - MOST_LATE
        found.append(f"{framework} {', '.join(names if verbose or more <= 1 else [*names[:MOST_LATE], f'{more} more'])}")
    yield from hanging((Span("  no time  ", "dim"),), f"for {len(late)} of {len(measurements)}: {'; '.join(found)}", width)


def right_ones(done: Sequence[Measurement]) -> Iterator[str]:
    """How many of the finished measurements match their reference."""
    compared = [each.correctness.compared_with for each in done if each.correctness is not None and each.correctness.passed]
    for reference in dict.fromkeys(compared):
        words = "the float64 reference on the processor" if reference == "cpu float64" else visible(reference)
        yield f"{compared.count(reference)} of {len(done)} match {words}"


def _how_it_was_timed(done: Sequence[Measurement], width: int) -> Iterator[Line]:
    for lead, style, texts in (("spread", "dim", spreads(done)), ("steps", "good", course_text.looked_at(done))):
        for text in texts:
            yield from hanging((Span(f"  {lead:9}", style),), text, width)


def spreads(done: Sequence[Measurement]) -> Iterator[str]:
    """What the ± of finished measurements covers: processes of the same work differ more than the steps within one."""
    timed = [each for each in done if each.latency_ms is not None and each.latency_ms.ci95_percent is not None and not each.replicas]
    several = [each for each in timed if each.latency_ms is not None and len(each.latency_ms.processes) >= LEAST_PROCESSES]
    if timed:
        rest = "within one process for the others (*)" if several else "within one process (*)"
        counts = sorted({len(each.latency_ms.processes) for each in several if each.latency_ms is not None})
        over = f"over {' or '.join(map(str, counts))} processes for {len(several)} of {len(timed)}" if several else ""
        yield "± is " + (over if len(several) == len(timed) else ", ".join(filter(None, (over, rest))))


def _clock(each: Measurement) -> str:
    """'preparing images, copies to the device, computing, copies to the host'."""
    return ", ".join(CLOCK.get(part, part) for part in each.includes)


def _findings(report: Report, width: int) -> Iterator[Line]:
    """The likely cause, from the measurements and settings of this machine, and the one remedy."""
    here = [finding for finding in report.findings if finding.layer in LAYERS]
    for finding in here:
        if finding.severity != "info":
            yield from hanging((Span("  cause    ", "bad" if finding.severity == "error" else "warn"),), finding.title, width, style="bold")
            margin = Span("           ")
            yield from hanging((margin,), finding.explanation, width)
            if finding.advice.text:
                yield from hanging((margin, Span("do  ", "good")), finding.advice.text, width)
            for command in command_lines(finding.advice)[:1]:
                yield margin, Span("    "), Span(f"$ {visible(command)}", "command")
            yield margin, Span(f"gpudoctor show {finding.id}", "dim")
    for finding in here:
        if finding.severity == "info":
            yield from hanging((Span("  also     ", "dim"),), f"{finding.title} (gpudoctor show {finding.id})", width)


def _named(each: Measurement) -> str:
    return f"{each.title} {each.task} {each.dtype}" + (f" batch {each.batch}" if each.batch else "") + f" on {each.device}"


def grouped(pairs: Sequence[tuple[str, str]], exactly: bool = True) -> list[tuple[str, str]]:
    """(reason, workloads), each reason once. Unless `exactly`, reasons that differ in numbers only are one, and the first is shown."""
    groups: dict[str, tuple[str, list[str]]] = {}
    for reason, name in pairs:
        key = reason if exactly else "".join(letter for letter in reason.partition(";")[0] if not letter.isdigit())
        groups.setdefault(key, (reason, []))[1].append(name)
    return [(reason, ", ".join(names) if len(names) < 4 else f"{names[0]} and {len(names) - 1} more") for reason, names in groups.values()]


def _left_out(left_out: Sequence[str], width: int, verbose: bool) -> Iterator[Line]:
    if not left_out:
        return
    shown = left_out if verbose else left_out[:4]
    minute = any("would take about" in line for line in left_out)
    yield (Span("Left out, to stay within a minute" if minute else "Left out", "bold"),)
    for line in shown:
        yield from hanging((Span("  "),), line, width)
    if len(shown) < len(left_out):
        yield (Span(f"  and {len(left_out) - len(shown)} more (-v names them)", "dim"),)
    if minute:
        yield from hanging((Span("  "),), "gpudoctor validate --full measures all, --workload NAME a single one.", width)
