"""What a worker calls right: no NaN, no constant, every number of a result that is known; and what of it is kept from step to step."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

WORKLOADS = Path(__file__).resolve().parents[3] / "gpudoctor" / "target" / "workloads"
sys.path.insert(0, str(WORKLOADS))

import correctness  # noqa: E402


@pytest.mark.parametrize(
    ("got", "note"),
    [
        ([1.0, float("nan")], "NaN"), ([1.0, float("inf")], "infinite"), ([], "0 numbers instead of 2"), ([1.0], "1 numbers instead of 2"),
        ([3.0, 3.0], "the same number everywhere (3)"),
    ],
)  # fmt: skip
def test_lists_that_are_no_result_fail_whatever_the_numbers(got: list[float], note: str) -> None:
    row = correctness.compared_lists("a", got, [1.0, 2.0], 1e9)
    assert row["note"] == note and not row["passed"] and row["max_relative_error"] is None


def test_a_right_list_passes_and_one_beyond_its_tolerance_does_not() -> None:
    assert correctness.compared_lists("a", [1.0, 2.0], [1.0, 2.0], 1e-3)["passed"]
    assert not correctness.compared_lists("a", [1.0, 2.1], [1.0, 2.0], 1e-3)["passed"]


@pytest.mark.parametrize(("name", "side"), [("alexnet", 224), ("vgg16", 224), ("resnet50", 64), ("mobilenet_v2", 64)])
def test_a_backend_that_averages_to_one_number_only_has_nothing_to_average(name: str, side: int) -> None:
    """At its own size alexnet has 6x6 where it averages to 6x6; at a smaller one it would have to make more out of less."""
    any_size, _ = correctness.small({"workload": name})
    own_size, classes = correctness.small({"workload": name}, averages_to_any=False)
    assert any_size.inputs[0].shape[2] < 100 and own_size.inputs[0].shape == (2, 3, side, side)
    assert classes == 10


def test_what_is_kept_of_a_step_shows_a_turned_sign_a_number_that_moved_and_what_is_not_finite() -> None:
    values = [math.sin(place) for place in range(100)]
    kept = correctness.same_of_list(values)["same"]
    assert correctness.same_of_list(list(values))["same"] == kept
    turned = correctness.same_of_list([-value for value in values])["same"]
    moved = correctness.same_of_list([values[1], values[0], *values[2:]])["same"]
    scale = max(kept)
    assert max(abs(a - b) for a, b in zip(kept, turned, strict=True)) > 0.01 * scale
    assert max(abs(a - b) for a, b in zip(kept, moved, strict=True)) > 1e-3 * scale
    assert not all(math.isfinite(number) for number in correctness.same_of_list([*values, math.nan])["same"])
