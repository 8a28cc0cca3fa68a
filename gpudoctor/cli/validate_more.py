"""gpudoctor validate --operators, --try-fixes, --sweep-batch and --compare: what they do, as screens or JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gpudoctor.cli import FINDINGS, OK, UNKNOWN, BadInput

if TYPE_CHECKING:
    from gpudoctor.cli.progress import StatusLine
    from gpudoctor.model.batch_sweep import SweepPoint
    from gpudoctor.validate.requests import Job
    from gpudoctor.validating import Validated, ValidateRequest

MODES = ("operators", "try_fixes", "sweep_batch")


def wanted(given: Mapping[str, Any]) -> bool:
    """Whether something else than the usual measurements was asked for. Raises BadInput for what does not go together."""
    modes = [name for name in MODES if given[name]]
    if len(modes) > 1:
        raise BadInput(f"--{modes[0].replace('_', '-')} and --{modes[1].replace('_', '-')}: give one of them")
    if given["max_latency"] is not None and not given["sweep_batch"] and given["replicas"] is None:
        raise BadInput("--max-latency: goes with --sweep-batch or --replicas, which measure the batches to pick from")
    if given["replicas"] is not None and modes:
        raise BadInput(f"--replicas does not go with --{modes[0].replace('_', '-')}; --batch 2,4,6 names the batches of replicas")
    if len(given["compare"]) > 2 or (len(given["compare"]) == 2 and modes):
        raise BadInput("--compare: one report to measure against, or two that are compared without measuring")
    if given["compare"] and modes in (["try_fixes"], ["sweep_batch"]):
        raise BadInput(f"--compare does not go with --{modes[0].replace('_', '-')}; give it with --operators, or alone")
    pages = ["html"] if modes in ([], ["sweep_batch"]) else []
    if given["form"] not in ("text", "json", *pages) and (modes or given["compare"]):
        other, can = f"--{modes[0].replace('_', '-')}" if modes else "--compare", " or ".join(("text", "json", *pages))
        raise BadInput(f"--format {given['form']}: it is for the usual measurements; {other} writes {can}")
    return bool(modes) or len(given["compare"]) == 2


def carry_out(given: Mapping[str, Any], request: ValidateRequest | None) -> int:
    """`request`: None where nothing is to be measured. Raises app.BAD_INPUT."""
    from gpudoctor.cli.progress import StatusLine

    if len(given["compare"]) == 2:
        from gpudoctor import trying

        here, there = (trying.read_report(path) for path in given["compare"])
        names = tuple(map(os.path.basename, given["compare"]))
        return compared(here, there, given, (names[0], names[1]))
    assert request is not None
    carry = {"operators": _operators, "try_fixes": _fixes, "sweep_batch": _sweep}
    line = StatusLine(quiet=given["quiet"])
    try:
        return carry[next(name for name in MODES if given[name])](given, request, line)
    finally:
        line.wipe()


def _operators(given: Mapping[str, Any], request: ValidateRequest, line: StatusLine) -> int:
    from gpudoctor import trying
    from gpudoctor.reporters import operators_text
    from gpudoctor.validate.operators import to_json

    other = trying.read_report(given["compare"][0]) if given["compare"] else None
    if other is not None:
        trying.changes((), other)  # told before the minutes that the probe takes
    found = trying.cover(request, line.says)
    line.wipe()
    changes = trying.changes(found, other) if other is not None else [None] * len(found)
    if given["form"] == "json":
        lists = [[asdict(change) for change in each] for each in changes if each is not None]
        text = _json("operators", [to_json(each) for each in found], {"changes": lists} if other is not None else {})
    else:
        text = "\n".join(operators_text.render(one, change, _place(given)) for one, change in zip(found, changes, strict=True))
    _deliver(text, given)
    verdicts = {result.verdict for one in found for result in one.results}
    return FINDINGS if verdicts & {"wrong", "crash"} else OK if verdicts - {"skipped"} else UNKNOWN


def _fixes(given: Mapping[str, Any], request: ValidateRequest, line: StatusLine) -> int:
    from gpudoctor import trying
    from gpudoctor.reporters import trials_text

    found = trying.try_fixes(request, line.says)
    line.wipe()
    text = _json("trials", [asdict(one) for one in found]) if given["form"] == "json" else trials_text.render(found, _place(given))
    _deliver(text, given)
    return UNKNOWN if found and all(one.outcome == "failed" for one in found) else OK


def _sweep(given: Mapping[str, Any], request: ValidateRequest, line: StatusLine) -> int:
    from gpudoctor import trying
    from gpudoctor.reporters import sweep_text

    def told(job: Job, point: SweepPoint) -> None:
        line.says(f"{job.workload.id}: batch {point.batch} {point.status}")

    found = trying.sweep_batches(request, given["max_latency"], told)
    line.wipe()
    if given["form"] == "html":
        text = _page(sweeps=found)
    elif given["form"] == "json":
        text = _json("sweeps", [asdict(one) for one in found])
    else:
        text = "\n".join(sweep_text.render(one, _place(given)) for one in found)
    _deliver(text, given)
    return UNKNOWN if not found else FINDINGS if any(one.limit is None for one in found) else OK


def other(given: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The report of --compare, read before anything is measured."""
    if not given["compare"]:
        return None
    from gpudoctor import app, trying

    try:
        found = trying.read_report(given["compare"][0])
        trying.beside(found, found, (given["compare"][0], given["compare"][0]))
    except app.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    return found


def beside(done: Validated, there: Mapping[str, Any], given: Mapping[str, Any]) -> int:
    """What was measured now against a report of before."""
    from gpudoctor.reporters import json_report

    return compared(json.loads(json_report.render(done.report)), there, given, ("now", os.path.basename(given["compare"][0])))


def compared(here: Mapping[str, Any], there: Mapping[str, Any], given: Mapping[str, Any], names: tuple[str, str]) -> int:
    from gpudoctor import trying
    from gpudoctor.reporters import comparison_text

    found = trying.beside(here, there, names)
    if given["form"] == "html":
        text = _page(compared=found)
    else:
        text = _json("comparison", asdict(found)) if given["form"] == "json" else comparison_text.render(found, _place(given))
    _deliver(text, given)
    return FINDINGS if found.broken else OK if found.rows else UNKNOWN


def _json(name: str, content: Any, more: Mapping[str, Any] | None = None) -> str:
    return json.dumps({"schema": f"gpudoctor.{name}/1", name: content, **(more or {})}, indent=1) + "\n"


def _page(**parts: Any) -> str:
    import time

    from gpudoctor import __version__
    from gpudoctor.reporters.html_report import comparison_page

    return comparison_page(__version__, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **parts)


def _place(given: Mapping[str, Any]) -> Any:
    from gpudoctor.cli.output import terminal

    return terminal(given["no_color"], to_file=given["output"] not in (None, "-"))


def _deliver(text: str, given: Mapping[str, Any]) -> None:
    from gpudoctor.cli.output import deliver

    deliver(text, given["output"])


