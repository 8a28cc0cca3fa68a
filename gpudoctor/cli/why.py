"""check --why ID: the tree of conditions, each with the value of its fact."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gpudoctor.cli import OK, BadInput, nearest
from gpudoctor.cli.output import deliver
from gpudoctor.reporters.report.json_report import dumps
from gpudoctor.reporters.shared.escape import visible

if TYPE_CHECKING:
    from gpudoctor.model.condition import Verdict
    from gpudoctor.model.report import Report, Trace

OUTCOME = {
    "problem": "it fires",
    "ok": "it was looked at and is fine",
    "undetermined": "not determined",
    "not-applicable": "it does not apply here",
}
MARK = {"true": "yes", "false": "no", "unknown": "?"}


def show(report: Report, check: str, form: str, output: str | None) -> int:
    """Shows how a check was decided, for each of its subjects, and returns the exit status."""
    traces = [trace for trace in report.traces if trace.check == check]
    if not traces:
        names = sorted({trace.check for trace in report.traces})
        if check in names or not names:
            raise BadInput(f"check '{check}' had nothing to look at here")
        raise BadInput(f"check '{visible(check)}' was not asked: it is not known, or there is no item to look at{nearest(check, names)}")
    if form == "json":
        deliver(dumps({"check": check, "subjects": [_as_table(trace) for trace in traces]}), output)
    else:
        deliver("\n\n".join("\n".join(_lines(trace)) for trace in traces) + "\n", output)
    return OK


def _lines(trace: Trace) -> Iterator[str]:
    outcome = f"{trace.check} would fire, but {trace.silenced_by} explains it better" if trace.silenced_by else OUTCOME[trace.outcome]
    yield f"{trace.check}, {visible(trace.subject)}: {outcome}"
    for title, verdict in _verdicts(trace):
        if verdict is not None:
            yield from _tree(verdict, title, 1)


def _verdicts(trace: Trace) -> tuple[tuple[str, Verdict | None], ...]:
    return ("said", trace.said), ("applies", trace.applies), ("problem", trace.problem), ("suspect", trace.suspect)


def _tree(verdict: Verdict, title: str, depth: int) -> Iterator[str]:
    lead = f"{'  ' * depth}{MARK[verdict.truth]:<4}" + (f"{title}: " if title else "")
    seen = f"   [{visible(verdict.seen)}]" if verdict.seen else ""
    source = f" from {visible(verdict.source)}" if verdict.source else ""
    yield f"{lead}{visible(verdict.text)}{seen}{source}"
    for part in verdict.parts:
        yield from _tree(part, "", depth + 1)


def _as_table(trace: Trace) -> dict[str, Any]:
    return {
        "subject": trace.subject,
        "outcome": trace.outcome,
        "silenced_by": trace.silenced_by,
        **{name: _node(verdict) for name, verdict in _verdicts(trace)},
    }


def _node(verdict: Verdict | None) -> dict[str, Any] | None:
    if verdict is None:
        return None
    return {
        "truth": verdict.truth,
        "text": verdict.text,
        "seen": verdict.seen,
        "source": verdict.source,
        "parts": [_node(part) for part in verdict.parts],
    }
