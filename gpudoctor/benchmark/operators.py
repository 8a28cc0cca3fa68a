"""Probes the operators of real models in child processes: after a crash or a hang, the next child continues with the next operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import to_builtins

from gpudoctor.benchmark.worker_client import Ask, Line, Said
from gpudoctor.model.operators import VERDICTS, Coverage, OperatorChange, OperatorResult

MOST_DEATHS = 40
"""The largest number of children that may die, since a device that was lost kills all of them."""
ENVIRONMENT = {"PYTORCH_ENABLE_MPS_FALLBACK": "1", "PYTORCH_DEBUG_XPU_FALLBACK": "1"}
"""Variables by which operators fall back to the processor, with a warning, instead of failing."""
Progress = Callable[[int, int], None]
"""(cases that are done, all cases)"""


def probe(
    ask: Ask, framework: str, device: str, *, dtypes: tuple[str, ...] = (), only: tuple[str, ...] = (), limit: float = 60.0,
    progress: Progress | None = None,
) -> Coverage:  # fmt: skip
    """`dtypes`, `only` (names or groups): empty is all of them. `limit`: seconds for one operator."""
    request: dict[str, Any] = {
        "framework": framework, "device": device, "workload": "operators", "task": "micro", "job": "operators", "limit": limit,
    }  # fmt: skip
    if dtypes:
        request["dtypes"] = list(dtypes)
    if only:
        request["only"] = list(only)
    found: dict[str, OperatorResult] = {}
    about: Line = {}
    left: list[str] | None = None
    total = deaths = 0
    incomplete = ""
    while left is None or left:
        answer = ask(request if left is None else {**request, "cases": left}, ENVIRONMENT)
        about = next((line for line in answer.lines if line.get("stage") == "device"), about)
        requested = _asked(answer)
        if left is None:
            left = requested
            total = len(left)
        for result in _verdicts(answer):
            found[result.key] = result
        if answer.ok:
            break
        begun = _begun(answer)
        if begun is None or begun not in left or (answer.silent < limit and "no end after" in answer.reason):
            incomplete = answer.reason
            break
        lost = _lost(begun, answer, found, limit)
        found[lost.key] = lost
        left = left[left.index(begun) + 1 :]
        deaths += 1
        if progress is not None:
            progress(total - len(left), total)
        if deaths >= MOST_DEATHS and left:
            incomplete = f"{deaths} operators ended their process; {len(left)} were not asked"
            break
    return Coverage(
        framework=framework, device=device, framework_version=_text(about.get("framework_version")),
        device_name=_text(about.get("device_name")), results=tuple(found.values()), incomplete=incomplete,
    )  # fmt: skip


def _asked(answer: Said) -> list[str]:
    for line in answer.lines:
        cases = line.get("cases")
        if line.get("stage") == "operators" and isinstance(cases, list):
            return [case for case in cases if isinstance(case, str)]
    return []


def _begun(answer: Said) -> str | None:
    keys = [line.get("key") for line in answer.lines if line.get("stage") == "operator"]
    return keys[-1] if keys and isinstance(keys[-1], str) else None


def _verdicts(answer: Said) -> list[OperatorResult]:
    return [result for line in answer.lines if line.get("stage") == "verdict" and (result := from_json(line)) is not None]


def _lost(key: str, answer: Said, found: Mapping[str, OperatorResult], limit: float) -> OperatorResult:
    """The operator that ended its process: the direction without a result crashed."""
    operator, _, dtype = key.partition("/")
    direction = "backward" if f"{key}/forward" in found else "forward"
    group = next((line.get("group") for line in answer.lines if line.get("key") == key), "")
    note = f"gave no answer in {limit:g} s" if answer.silent >= limit else answer.reason.removeprefix("operator: ")
    return OperatorResult(operator=operator, group=str(group or ""), dtype=dtype, direction=direction, verdict="crash", note=note)


def from_json(table: Mapping[str, Any]) -> OperatorResult | None:
    """The operator from its table; None where the table has another form."""
    words = [table.get(key) for key in ("operator", "group", "dtype", "direction", "verdict")]
    if not all(isinstance(word, str) for word in words) or words[4] not in VERDICTS:
        return None
    error, tolerance = table.get("max_relative_error"), table.get("tolerance")
    return OperatorResult(
        operator=str(words[0]), group=str(words[1]), dtype=str(words[2]), direction=str(words[3]), verdict=str(words[4]),
        note=str(table.get("note") or ""),
        max_relative_error=float(error) if isinstance(error, int | float) else None,
        tolerance=float(tolerance) if isinstance(tolerance, int | float) else None,
    )  # fmt: skip


def to_json(coverage: Coverage) -> dict[str, Any]:
    return {**to_builtins(coverage), "results": [to_builtins(result) for result in coverage.results]}


def coverage_from_json(table: Any) -> Coverage | None:
    """The coverage from the table of `to_json`; None for another table."""
    if not isinstance(table, Mapping) or not isinstance(table.get("results"), list):
        return None
    results = tuple(result for row in table["results"] if isinstance(row, Mapping) and (result := from_json(row)) is not None)
    return Coverage(
        framework=str(table.get("framework")), device=str(table.get("device")), framework_version=_text(table.get("framework_version")),
        device_name=_text(table.get("device_name")), results=results, incomplete=str(table.get("incomplete") or ""),
    )  # fmt: skip


def differences(before: Coverage, now: Coverage) -> tuple[OperatorChange, ...]:
    """Changes since an earlier run, the worst first; operators that only one of the runs tested come last."""
    old, new = ({result.key: result for result in each.results} for each in (before, now))
    changes = []
    for key in dict.fromkeys((*new, *old)):
        then, today = old.get(key), new.get(key)
        if then is None or today is None or then.verdict != today.verdict:
            note = today.note if today is not None else ""
            was, is_now = (each.verdict if each is not None else None for each in (then, today))
            changes.append(OperatorChange(key=key, before=was, now=is_now, note=note))
    return tuple(sorted(changes, key=_weight))


def _weight(change: OperatorChange) -> tuple[bool, int, str]:
    alone = change.before is None or change.now is None
    return alone, -VERDICTS.index(change.now) if change.now and change.now != "skipped" else 0, change.key


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
