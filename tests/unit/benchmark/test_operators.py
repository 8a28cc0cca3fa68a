from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpudoctor.benchmark import operators
from gpudoctor.benchmark.worker_client import FAILED, OK, Said
from gpudoctor.model.operators import Coverage, OperatorResult
from gpudoctor.reporters.measurement import operators_text

CASES = ["conv2d/float32", "tanh/float32", "erf/float32"]


def verdict(key: str, direction: str = "forward", word: str = "native") -> dict[str, Any]:
    operator, dtype = key.split("/")
    return {"stage": "verdict", "operator": operator, "group": "g", "dtype": dtype, "direction": direction, "verdict": word}


class Script:
    """A worker that ends as it is told; remembers what it was asked."""

    def __init__(self, answers: Iterable[Said]) -> None:
        self.answers, self.asked = list(answers), []  # type: ignore[var-annotated]

    def __call__(self, request: Mapping[str, Any], variables: Mapping[str, str]) -> Said:
        self.asked.append(dict(request))
        return self.answers.pop(0)


def died(*lines: dict[str, Any], silent: float = 0.0, reason: str = "operator: died of SIGSEGV") -> Said:
    return Said(status=FAILED, reason=reason, lines=({"stage": "operators", "cases": CASES}, *lines), silent=silent)


def test_after_a_crash_a_fresh_child_goes_on_with_the_next_operator() -> None:
    worker = Script([
        died({"stage": "operator", "key": CASES[0]}, verdict(CASES[0]), verdict(CASES[0], "backward"),
             {"stage": "operator", "key": CASES[1], "group": "g"}),
        Said(status=OK, lines=({"stage": "operator", "key": CASES[2]}, verdict(CASES[2], word="wrong"))),
    ])  # fmt: skip
    found = operators.probe(worker, "torch", "cpu")
    assert [(one.key, one.verdict) for one in found.results] == [
        ("conv2d/float32/forward", "native"), ("conv2d/float32/backward", "native"), ("tanh/float32/forward", "crash"),
        ("erf/float32/forward", "wrong"),
    ]  # fmt: skip
    assert found.results[2].note == "died of SIGSEGV" and not found.incomplete
    assert "cases" not in worker.asked[0] and worker.asked[1]["cases"] == CASES[2:]


def test_a_crash_after_the_forward_verdict_is_the_backward_pass() -> None:
    worker = Script([
        died({"stage": "operator", "key": CASES[2]}, verdict(CASES[2])),
    ])  # fmt: skip
    found = operators.probe(worker, "torch", "cpu")
    assert [(one.direction, one.verdict) for one in found.results] == [("forward", "native"), ("backward", "crash")]


def test_a_hang_costs_one_operator_and_says_how_long_it_was_waited_for() -> None:
    worker = Script([died({"stage": "operator", "key": CASES[1]}, silent=60.5, reason="operator: left with status 1"), Said()])
    assert operators.probe(worker, "torch", "cpu").results[0].note == "gave no answer in 60 s"


def test_a_child_that_dies_before_the_first_operator_leaves_an_incomplete_probe() -> None:
    worker = Script([Said(status=FAILED, reason="import: ModuleNotFoundError: No module named 'torch'")])
    found = operators.probe(worker, "torch", "cpu")
    assert found.results == () and "No module named" in found.incomplete


def test_a_device_that_is_gone_ends_the_probe() -> None:
    keys = [f"a{number}/float32" for number in range(200)]
    begun = iter(keys)

    def ask(request: Mapping[str, Any], variables: Mapping[str, str]) -> Said:
        lines = ({"stage": "operators", "cases": request.get("cases", keys)}, {"stage": "operator", "key": next(begun)})
        return Said(status=FAILED, reason="operator: died of SIGSEGV", lines=lines)

    found = operators.probe(ask, "torch", "cpu")
    assert len(found.results) == operators.MOST_DEATHS and "160 were not asked" in found.incomplete


def test_what_a_worker_prints_is_not_trusted() -> None:
    odd = {**verdict(CASES[0]), "verdict": "splendid"}
    lines = ({"stage": "verdict", "operator": 3}, odd, {**verdict(CASES[1]), "max_relative_error": "x"})
    found = operators.probe(Script([Said(lines=lines)]), "torch", "cpu")
    assert [one.operator for one in found.results] == ["tanh"] and found.results[0].max_relative_error is None


def coverage(**verdicts: str) -> Coverage:
    rows = [OperatorResult(operator=name, group="g", dtype="float32", direction="forward", verdict=word) for name, word in verdicts.items()]
    return Coverage(framework="torch", device="xpu:0", results=tuple(rows))


def test_differences_say_the_worst_first_and_what_only_one_run_asked_last() -> None:
    now = coverage(a="crash", b="native", c="native", new="native")
    changes = operators.differences(coverage(a="native", b="wrong", c="native", gone="native"), now)
    assert [(change.key.split("/")[0], change.before, change.now) for change in changes] == [
        ("a", "native", "crash"), ("b", "wrong", "native"), ("gone", "native", None), ("new", None, "native"),
    ]  # fmt: skip


def test_a_report_is_read_back_as_it_was_written() -> None:
    before = coverage(a="native", b="cpu-fallback")
    assert operators.coverage_from_json(operators.to_json(before)) == before
    assert operators.coverage_from_json({"results": 3}) is None


def test_the_table_counts_native_ones_and_names_the_others() -> None:
    text = operators_text.render(coverage(a="native", b="wrong", c="skipped"), ())
    assert "1/2" in text and "1 native · 1 wrong · 1 skipped" in text and "b/float32/forward" in text
    assert "No operator changed" in text
