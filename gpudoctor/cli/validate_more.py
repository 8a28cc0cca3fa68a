"""The modes of `gpudoctor validate`: --operators, --try-fixes, --sweep-batch, --table and --compare, each as a screen or JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from gpudoctor.cli import FINDINGS, INTERRUPTED, OK, UNKNOWN, BadInput

if TYPE_CHECKING:
    from gpudoctor.benchmark.job_plan import Job
    from gpudoctor.cli.progress import StatusLine
    from gpudoctor.model.batch_sweep import SweepPoint
    from gpudoctor.model.trials import TrialResult
    from gpudoctor.services.validating import Validated, ValidateRequest

MODES = ("operators", "try_fixes", "sweep_batch", "table")


def wanted(given: Mapping[str, Any]) -> bool:
    """Whether one of the other modes was requested. Raises BadInput for options that exclude each other."""
    modes = [name for name in MODES if given.get(name)]
    if len(modes) > 1:
        raise BadInput(f"--{modes[0].replace('_', '-')} and --{modes[1].replace('_', '-')}: choose one of them")
    if given["max_latency"] is not None and not given["sweep_batch"] and given["replicas"] is None:
        raise BadInput("--max-latency requires --sweep-batch or --replicas, which measure several batch sizes")
    if given["replicas"] is not None and modes and modes != ["table"]:
        raise BadInput(f"--replicas cannot be combined with --{modes[0].replace('_', '-')}; use --batch 2,4,6 for several batch sizes")
    if len(given["compare"]) > 2 or (len(given["compare"]) == 2 and modes):
        raise BadInput("--compare: expected one report, or two to compare without measuring")
    if given["compare"] and modes in (["try_fixes"], ["sweep_batch"]):
        raise BadInput(f"--compare cannot be combined with --{modes[0].replace('_', '-')}; use it alone, with --operators or with --table")
    pages = ["html"] if modes in ([], ["sweep_batch"]) else []
    if given["form"] not in ("text", "json", *pages) and (modes or given["compare"]):
        other, can = f"--{modes[0].replace('_', '-')}" if modes else "--compare", " or ".join(("text", "json", *pages))
        raise BadInput(f"--format {given['form']}: not available here; {other} writes {can}")
    return bool(modes) or len(given["compare"]) == 2


def carry_out(given: Mapping[str, Any], request: ValidateRequest | None) -> int:
    """Runs the mode and returns the exit status. `request` is None where nothing is measured. Raises services.checking.BAD_INPUT."""
    from gpudoctor.cli.progress import StatusLine

    if len(given["compare"]) == 2:
        from gpudoctor.services import experimenting

        here, there = (experimenting.read_report(path) for path in given["compare"])
        names = tuple(map(os.path.basename, given["compare"]))
        return compared(here, there, given, (names[0], names[1]))
    assert request is not None
    carry = {"operators": _operators, "try_fixes": _fixes, "sweep_batch": _sweep, "table": _table}
    line = StatusLine(quiet=given["quiet"])
    try:
        return carry[next(name for name in MODES if given.get(name))](given, request, line)
    finally:
        line.wipe()


def _operators(given: Mapping[str, Any], request: ValidateRequest, line: StatusLine) -> int:
    from gpudoctor.benchmark.operators import to_json
    from gpudoctor.reporters.measurement import operators_text
    from gpudoctor.services import experimenting

    other = experimenting.read_report(given["compare"][0]) if given["compare"] else None
    if other is not None:
        experimenting.changes((), other)  # a wrong file is refused before the operators are tested, which takes minutes
    found = experimenting.cover(request, line.says)
    line.wipe()
    changes = experimenting.changes(found, other) if other is not None else [None] * len(found)
    if given["form"] == "json":
        lists = [[to_builtins(change) for change in each] for each in changes if each is not None]
        text = _json("operators", [to_json(each) for each in found], {"changes": lists} if other is not None else {})
    else:
        text = "\n".join(operators_text.render(one, change, _place(given)) for one, change in zip(found, changes, strict=True))
    _deliver(text, given)
    verdicts = {result.verdict for one in found for result in one.results}
    return FINDINGS if verdicts & {"wrong", "crash"} else OK if verdicts - {"skipped"} else UNKNOWN


def _fixes(given: Mapping[str, Any], request: ValidateRequest, line: StatusLine) -> int:
    from gpudoctor.benchmark.trial_runs import best_first
    from gpudoctor.reporters.measurement import known_fixes_text
    from gpudoctor.services import experimenting

    found: list[TrialResult] = []
    interrupted = False
    try:
        experimenting.try_fixes(request, line.says, found)
    except KeyboardInterrupt:
        if not found:
            raise
        interrupted = True
    line.wipe()
    results = best_first(found)
    if given["form"] == "json":
        text = _json("trials", [to_builtins(one) for one in results], {"interrupted": True} if interrupted else {})
    else:
        text = known_fixes_text.render(results, _place(given), interrupted=interrupted)
    _deliver(text, given)
    return INTERRUPTED if interrupted else UNKNOWN if found and all(one.outcome == "failed" for one in found) else OK


def _sweep(given: Mapping[str, Any], request: ValidateRequest, line: StatusLine) -> int:
    from gpudoctor.reporters.measurement import sweep_text
    from gpudoctor.services import experimenting

    def show_point(job: Job, point: SweepPoint) -> None:
        line.says(f"{job.workload.id}: batch {point.batch} {point.status}")

    found = experimenting.sweep_batches(request, given["max_latency"], show_point)
    line.wipe()
    if given["form"] == "html":
        text = _page(sweeps=found)
    elif given["form"] == "json":
        text = _json("sweeps", [to_builtins(one) for one in found])
    else:
        text = "\n".join(sweep_text.render(one, _place(given)) for one in found)
    _deliver(text, given)
    return UNKNOWN if not found else FINDINGS if any(one.limit is None for one in found) else OK


def _table(given: Mapping[str, Any], request: ValidateRequest, line: StatusLine) -> int:
    from gpudoctor.cli.validate import MeasurementScreen
    from gpudoctor.reporters.measurement import table_text
    from gpudoctor.services import experimenting, published_tables

    beside = (os.path.basename(given["compare"][0]), experimenting.read_report(given["compare"][0])) if given["compare"] else None
    screen = MeasurementScreen(given)
    try:
        found = published_tables.measure(given["table"], request, screen.looking, screen, beside)
    finally:
        screen.clear()
    text = (
        _json("table", to_builtins(found))
        if given["form"] == "json"
        else table_text.render(found, _place(given), given.get("verbose", False))
    )
    _deliver(text, given)
    states = {row.measured.status for row in found.rows}
    return INTERRUPTED if found.interrupted else FINDINGS if "failed" in states else OK if "ok" in states else UNKNOWN


def other(given: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The report of --compare, read before anything is measured; None without the option."""
    if not given["compare"]:
        return None
    from gpudoctor.services import checking, experimenting

    try:
        found = experimenting.read_report(given["compare"][0])
        experimenting.beside(found, found, (given["compare"][0], given["compare"][0]))
    except checking.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    return found


def beside(done: Validated, there: Mapping[str, Any], given: Mapping[str, Any]) -> int:
    """Compares the measurements of this run with an earlier report, and returns the exit status."""
    from gpudoctor.reporters.report import json_report

    return compared(json.loads(json_report.render(done.report)), there, given, ("now", os.path.basename(given["compare"][0])))


def compared(here: Mapping[str, Any], there: Mapping[str, Any], given: Mapping[str, Any], names: tuple[str, str]) -> int:
    """Writes the comparison of two reports and returns the exit status."""
    from gpudoctor.reporters.measurement import comparison_text
    from gpudoctor.services import experimenting

    found = experimenting.beside(here, there, names)
    if given["form"] == "html":
        text = _page(compared=found)
    else:
        text = _json("comparison", to_builtins(found)) if given["form"] == "json" else comparison_text.render(found, _place(given))
    _deliver(text, given)
    return FINDINGS if found.broken else OK if found.rows else UNKNOWN


def _json(name: str, content: Any, more: Mapping[str, Any] | None = None) -> str:
    return json.dumps({"schema": f"gpudoctor.{name}/1", name: content, **(more or {})}, indent=1) + "\n"


def _page(**parts: Any) -> str:
    import time

    from gpudoctor import __version__
    from gpudoctor.reporters.report.html_report import comparison_page

    return comparison_page(__version__, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **parts)


def _place(given: Mapping[str, Any]) -> Any:
    from gpudoctor.cli.output import terminal

    return terminal(given["no_color"], to_file=given["output"] not in (None, "-"))


def _deliver(text: str, given: Mapping[str, Any]) -> None:
    from gpudoctor.cli.output import deliver

    deliver(text, given["output"])
