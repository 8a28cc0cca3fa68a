"""The screen of `gpudoctor validate --operators`: a table of groups against types, then the operators that are not native, one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gpudoctor.model.operators import VERDICTS, Coverage, OperatorChange, OperatorResult
from gpudoctor.reporters.shared.layout import Line, Span, Terminal, hanging

STYLES = {"native": "good", "cpu-fallback": "warn", "wrong": "bad", "missing": "warn", "crash": "bad", "skipped": "dim"}
MOST = 60
"""Lines of single operators; the rest is counted."""


def render(coverage: Coverage, changes: Sequence[OperatorChange] | None = None, terminal: Terminal | None = None) -> str:
    """The screen. `changes`: differences from an earlier run, if one is given."""
    terminal = terminal or Terminal()
    width = min(max(terminal.width, 60), 120)
    name = " ".join(word for word in (coverage.framework, coverage.framework_version) if word)
    on = coverage.device + (f" ({coverage.device_name})" if coverage.device_name and coverage.device_name != coverage.device else "")
    lines: list[Line] = [*hanging((), f"Operators of {name} on {on}", width, style="bold"), _totals(coverage.results), ()]
    lines += _table(coverage.results)
    lines += _single(coverage.results, width)
    if coverage.incomplete:
        lines += [(), *hanging((Span("Incomplete: ", "warn"),), coverage.incomplete, width)]
    if changes is not None:
        lines += [(), *_changes(changes, width)]
    return terminal.draw(lines)


def _totals(results: Sequence[OperatorResult]) -> Line:
    counted = Counter(result.verdict for result in results)
    spans: list[Span] = []
    for verdict in VERDICTS:
        if counted[verdict]:
            spans += [Span(" · " if spans else ""), Span(f"{counted[verdict]} {verdict}", STYLES[verdict])]
    return tuple(spans) or (Span("none was asked", "warn"),)


def _table(results: Sequence[OperatorResult]) -> Iterator[Line]:
    """One row for each group: for each type, the number of native operators and of all."""
    dtypes = list(dict.fromkeys(result.dtype for result in results))
    groups = {result.operator: result.group for result in results if result.group}
    names = list(dict.fromkeys(groups.get(result.operator, "other") for result in results))
    if not names:
        return
    first = max(len(name) for name in names) + 2
    cell = max(max((len(dtype) for dtype in dtypes), default=0), 7) + 2
    yield Span(" " * first), *(Span(dtype.rjust(cell), "dim") for dtype in dtypes)
    for name in names:
        row: list[Span] = [Span(name.ljust(first))]
        for dtype in dtypes:
            here = [one for one in results if one.dtype == dtype and groups.get(one.operator, "other") == name and one.verdict != "skipped"]
            native = sum(one.verdict == "native" for one in here)
            worst = max((VERDICTS.index(one.verdict) for one in here), default=0)
            text = f"{native}/{len(here)}" if here else "-"
            row.append(Span(text.rjust(cell), STYLES[VERDICTS[worst]] if here else "dim"))
        yield tuple(row)


def _single(results: Sequence[OperatorResult], width: int) -> Iterator[Line]:
    odd = sorted((one for one in results if one.verdict not in ("native", "skipped")), key=lambda one: -VERDICTS.index(one.verdict))
    if odd:
        yield ()
    for one in odd[:MOST]:
        said = one.note
        if one.verdict == "wrong" and one.max_relative_error is not None:
            said = f"off by {one.max_relative_error:.2g}, allowed is {one.tolerance:.2g}" + (f"; {said}" if said else "")
        head = Span(one.verdict.ljust(13), STYLES[one.verdict])
        yield from hanging((head,), f"{one.operator} {one.dtype} {one.direction}: {said}" if said else one.key, width)
    if len(odd) > MOST:
        yield (Span(f"and {len(odd) - MOST} more: --format json has them all", "dim"),)


def _changes(changes: Sequence[OperatorChange], width: int) -> Iterator[Line]:
    if not changes:
        yield (Span("No operator changed since the other run.", "good"),)
        return
    both = [change for change in changes if change.before and change.now]
    yield (Span(f"Changed since the other run: {len(both)}", "bold"),)
    for change in both[:MOST]:
        better = VERDICTS.index(str(change.now)) < VERDICTS.index(str(change.before))
        yield from hanging(
            (Span("+ " if better else "- ", "good" if better else "bad"),), f"{change.key}: {change.before}, now {change.now}", width
        )
    alone = len(changes) - len(both)
    if alone:
        yield (Span(f"{alone} were asked in one of the runs only", "dim"),)
