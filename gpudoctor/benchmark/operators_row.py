"""The quick set of operators as one measurement, in a row next to the networks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from gpudoctor.benchmark.operators import from_json
from gpudoctor.model.measurement import FAILED, SKIPPED, Conditions, Correctness, Measurement
from gpudoctor.model.operators import OperatorResult
from gpudoctor.system.framework_child import one_line

BAD = ("wrong", "crash")
COMPARED_WITH = "references in plain Python"
NAMED = 3


def of_operators(base: Measurement, rows: Any) -> Measurement:
    """The measurement `base`, completed with the verdicts on operators. `rows`: from the worker's result, unvalidated."""
    found = [result for row in rows if isinstance(row, dict) and (result := from_json(row))] if isinstance(rows, list) else []
    asked = [result for result in found if result.verdict != "skipped"]
    if found and not asked:
        return replace(base, status=SKIPPED, reason=one_line(found[0].note) or "memory is full")
    if not asked:
        return replace(base, status=FAILED, stage="operators", reason="operators: the worker's answer holds no verdicts")
    bad = [result for result in asked if result.verdict in BAD]
    fallbacks = _names([result for result in asked if result.verdict == "cpu-fallback"])
    whole = replace(
        base, iterations=len({result.operator for result in asked if result.verdict not in BAD}),
        correctness=_correctness(bad[0] if bad else max(asked, key=_share)),
        conditions=replace(base.conditions or Conditions(), fallbacks=fallbacks) if fallbacks else base.conditions,
        notes=(*base.notes, *_notes([result for result in asked if result.verdict == "missing"])),
    )  # fmt: skip
    if not bad:
        return whole
    more = len(_names(bad)) - 1
    reason = f"wrong result: {_said(bad[0])}" + (f"; and {more} more operator{'s' if more > 1 else ''}: {_listed(bad[1:])}" if more else "")
    return replace(whole, status=FAILED, stage="correctness", reason=reason)


def _correctness(result: OperatorResult) -> Correctness:
    return Correctness(
        compared_with=COMPARED_WITH, max_relative_error=result.max_relative_error, tolerance=result.tolerance,
        passed=result.verdict not in BAD,
    )  # fmt: skip


def _share(result: OperatorResult) -> float:
    """The error of an operator as a fraction of its tolerance."""
    return result.max_relative_error / result.tolerance if result.max_relative_error is not None and result.tolerance else 0.0


def _said(result: OperatorResult) -> str:
    off = result.max_relative_error is not None and result.tolerance is not None and result.max_relative_error > result.tolerance
    by = f" is off by {result.max_relative_error:.2g}, {result.tolerance:.2g} is allowed" if off else ""
    return one_line(f"{result.operator} {result.dtype} {result.direction}{by}" + (f": {result.note}" if result.note else ""))


def _notes(missing: Sequence[OperatorResult]) -> list[str]:
    return [f"operators that this backend lacks: {_listed(missing)}"] if missing else []


def _listed(results: Sequence[OperatorResult]) -> str:
    names = _names(results)
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} others" if len(names) > NAMED else "")


def _names(results: Sequence[OperatorResult]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one_line(result.operator) for result in results))
