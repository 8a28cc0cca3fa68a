"""References in plain Python by small results worked out by hand, and how what a device gave is judged against them."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "gpudoctor" / "target" / "workloads"))

import plain_checks
import plain_reference as plain

NAN, INF = math.nan, math.inf


def test_a_convolution_and_its_gradients() -> None:
    x, w = [[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]], [[[[1.0, -1.0], [0.0, 2.0]]]]
    y, into_x, into_w = plain.convolution(x, w, [[[[1.0, 10.0]]]])
    assert y == [[[[1 - 2 + 10.0, 2 - 3 + 12.0]]]]
    assert into_x == [[[[1.0, 9.0, -10.0], [0.0, 2.0, 20.0]]]]
    assert into_w == [[[[21.0, 32.0], [54.0, 65.0]]]]


def test_groups_strides_and_padding_of_a_convolution() -> None:
    x, w = [[[[1.0, 2.0, 3.0]], [[5.0, 6.0, 7.0]]]], [[[[1.0]]], [[[10.0]]]]
    given = plain.zeros(plain.convolution_shape((1, 2, 1, 3), (2, 1, 1, 1), (1, 2), (0, 1)))
    y = plain.convolution(x, w, given, (1, 2), (0, 1), groups=2)[0]
    assert y == [[[[0.0, 2.0, 0.0]], [[0.0, 60.0, 0.0]]]]


@pytest.mark.parametrize(
    ("mode", "shown"),
    [
        ("reflect", [2, 1, 0, 1, 2, 1]),
        ("replicate", [0, 0, 0, 1, 2, 2]),
        ("circular", [1, 2, 0, 1, 2, 0]),
        ("constant", [None, None, 0, 1, 2, None]),
    ],
)
def test_what_a_border_shows(mode: str, shown: list[int | None]) -> None:
    assert plain.border(3, 2, 1, mode) == shown


def test_windows_with_padding_and_ceil_mode() -> None:
    assert plain.windows(5, 3, 2, 1) == [[-1, 0, 1], [1, 2, 3], [3, 4, 5]]
    assert plain.windows(4, 2, 3, ceil=True) == [[0, 1], [3, 4]]
    assert plain.windows(4, 2, 4, 1, ceil=True) == [[-1, 0], [3, 4]]
    assert plain.windows(4, 1, 4, 1, ceil=True) == [[-1], [3]]


def test_pools_take_the_first_of_equals_and_count_the_padding_only_where_asked() -> None:
    plane = [[1.0, 3.0], [3.0, 2.0]]
    assert plain.max_pool(plane, [[0, 1]], [[0, 1]]) == ([[3.0]], [[1]])
    values, places = plain.max_pool([[1.0, NAN], [3.0, 2.0]], [[0, 1]], [[0, 1]])
    assert math.isnan(values[0][0]) and places == [[1]]
    inside, back = plain.average_pool(plane, [[-1, 0]], [[0, 1]], [[8.0]])
    assert inside == [[2.0]] and back == [[4.0, 4.0], [0.0, 0.0]]
    assert plain.average_pool(plane, [[-1, 0]], [[0, 1]], [[8.0]], (1, 0))[0] == [[1.0]]


def test_losses_and_softmax_of_large_numbers() -> None:
    assert plain.softmax([1000.0, 1000.0]) == [0.5, 0.5]
    assert plain.log_sum_exp([1000.0, -INF]) == 1000.0
    losses, weights = plain.cross_entropy([[0.0, 0.0], [5.0, 1.0]], [1, 0], ignored=0)
    assert losses == [pytest.approx(math.log(2)), 0.0] and weights == [1.0, 0.0]


def judged(got: list[Any], wanted: list[Any], **more: Any) -> str:
    said: str = plain_checks.Check("it", plain_checks.Listed(got, "float32"), wanted, **more).judged()[2]
    return said


def test_a_number_is_right_within_the_roundings_that_are_allowed() -> None:
    unit = plain_checks.UNIT["float32"]
    assert judged([1.0 + unit], [1.0], units=1) == ""
    assert judged([1.0 + 3 * unit], [1.0], units=2) == "it: 1 instead of 1 at [0]"
    assert judged([2.0**-20], [0.0], units=2) != "" and judged([2.0**-20], [0.0], units=2, scale=10.0) == ""


def test_nan_infinity_shape_and_what_no_specification_fixes() -> None:
    assert judged([NAN, INF, 7.0], [NAN, INF, plain.ANY]) == ""
    assert "0 instead of nan at [1]" in judged([1.0, 0.0], [1.0, NAN])
    assert "nan instead of 2" in judged([NAN], [2.0]) and "inf instead of 2" in judged([INF], [2.0])
    assert "2 instead of inf" in judged([2.0], [INF]) and "-inf instead of inf" in judged([-INF], [INF])
    assert "shape [2] instead of [3]" in judged([1.0, 2.0], [1.0, 2.0, 3.0])


def test_a_device_may_take_denormal_numbers_for_zero_but_not_for_something_else() -> None:
    assert judged([0.0], [2.0**-130], units=0) == ""
    assert judged([2.0**-100], [2.0**-130], units=0) != ""


def test_what_was_wrong_before_an_error_is_said() -> None:
    def run(place: object) -> Iterator[object]:
        yield plain_checks.Claim("the first", False, "it is not")
        raise RuntimeError("the second cannot be computed")

    (row,) = plain_checks.rows(plain_checks.Property("case", "group", run), "float32", None)
    assert (row["verdict"], row["note"]) == ("wrong", "the first: it is not")


def test_forward_and_backward_are_rows_of_their_own() -> None:
    def run(place: object) -> Iterator[object]:
        yield plain_checks.Claim("forward", True)
        yield plain_checks.Claim("a gradient", False, "zero", backward=True)

    found = plain_checks.rows(plain_checks.Property("case", "group", run), "float32", None)
    assert [(row["direction"], row["verdict"]) for row in found] == [("forward", "native"), ("backward", "wrong")]
