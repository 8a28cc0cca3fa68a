"""Each operator of the table on values of every kind."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.rules.operators import LONGEST, OPERATORS, plain


@pytest.mark.parametrize(
    ("operator", "value", "wanted", "answer"),
    [
        ("is", 1, 1, True), ("is", "a", "b", False), ("is", True, 1, False), ("is", 1, True, False), ("is", ["a", "b"], "b", True),
        ("is", ["a"], "b", False), ("is", ("a",), "a", True), ("is", {"version": "2"}, "2", True), ("is", [], "b", False),
        ("in", "a", ["a", "b"], True), ("in", "c", ["a"], False), ("in", ["c", "a"], ["a"], True),
        ("contains", "abc", "b", True), ("contains", ["a"], "b", False), ("contains", ["a"], "a", True), ("contains", {"a": 1}, "a", True),
        ("contains", {"version": "1.2"}, "version", True), ("contains", [{"version": "1.2"}], "1.2", True), ("contains", 7, "7", None),
        ("matches", "CUDA 12", r"cuda \d", True), ("matches", "rocm", r"cuda", False), ("matches", {"Torch": 1}, "^torch$", True),
        ("matches", {"a": "torch"}, "torch", False), ("matches", ["a", "torch"], "torch", True), ("matches", 570, "^57", True),
        ("matches", "." * LONGEST + "x", "x", False), ("matches", "." * (LONGEST - 1) + "x", "x", True),
        ("version", "2.8.0", ">=2.8", True), ("version", "2.7.1", ">=2.8", False), ("version", "odd", ">=2.8", None),
        ("version", ["odd", "2.7"], ">=2.8", None), ("version", ["odd", "2.9"], ">=2.8", True), ("version", ["2.6", "2.7"], ">=2.8", False),
        ("older_than", "6.2", "6.10", True), ("older_than", "6.10", "6.10.0", False), ("older_than", "7", "6", False),
        ("older_than", "odd", "6", None), ("older_than", "6", "odd", None), ("older_than", 6, "6.2", True),
        ("at_least", "6.10", "6.10.0", True), ("at_least", "6.2", "6.10", False), ("at_least", "7", "6", True),
        ("less_than", 1, 2, True), ("less_than", 2, 2, False), ("less_than", 2.5, 2, False), ("less_than", "1", 2, None),
        ("less_than", True, 2, None), ("less_than", 1, True, None),
        ("greater_than", 2, 1, True), ("greater_than", 2, 2, False), ("greater_than", 1, 1.5, False), ("greater_than", None, 1, None),
    ],
)  # fmt: skip
def test_the_answer_is_yes_no_or_that_it_cannot_tell(operator: str, value: Any, wanted: Any, answer: bool | None) -> None:
    assert OPERATORS[operator].test(value, wanted) is answer


@pytest.mark.parametrize(
    ("value", "versions"),
    [
        ({"version": "1", "from": "a"}, "1"), ([{"version": "1"}, {"version": "2"}], ["1", "2"]), 
        ([{"version": "1"}, "2"], [{"version": "1"}, "2"]),
        ([], []), ({"name": "a"}, {"name": "a"}), ("1", "1"), ([{"name": "a"}], [{"name": "a"}]),
    ],
)  # fmt: skip
def test_a_distribution_stands_for_its_version(value: Any, versions: Any) -> None:
    assert plain(value) == versions
