"""What a worker calls right: a floor for gradients that are zero but for rounding, none for those that are lost, no NaN, no constant."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

WORKLOADS = Path(__file__).resolve().parents[3] / "gpudoctor" / "target" / "workloads"
sys.path.insert(0, str(WORKLOADS))

import correctness  # noqa: E402

FLOAT32 = {"workload": "resnet18"}
LIMIT = correctness.gradient_tolerance(FLOAT32, "float32")


def test_rounding_where_a_gradient_is_mathematically_zero_is_no_fault() -> None:
    """The bias before a batch normalisation: 1e-17 in float64, 1e-8 in float32, a relative error of a thousand million."""
    rows = [("conv.weight", 1e-6, 1.0, 1.0), ("conv.bias", 5e-8, 1e-17, 5e-8)]
    assert correctness.wrong_tensor(rows, LIMIT) == ""


def test_a_gradient_that_is_zero_though_it_should_not_be_is_named() -> None:
    """It is a two-hundredth of the whole: the norm over all tensors hides it."""
    rows = [("fc.weight", 1e-6, 1.0, 1.0), ("conv1.weight", 5e-3, 5e-3, 0.0)]
    assert correctness.wrong_tensor(rows, LIMIT) == "the gradient of conv1.weight is zero, and it should not be"
    nearly = [("fc.weight", 1e-6, 1.0, 1.0), ("conv1.weight", 5e-3, 5e-3, 1e-9)]
    assert "next to zero" in correctness.wrong_tensor(nearly, correctness.gradient_tolerance(FLOAT32, "bfloat16"))


def test_a_tensor_off_by_one_per_cent_is_found_in_types_that_round_little() -> None:
    rows = [("fc.weight", 1e-6, 1.0, 1.0), ("conv1.weight", 5e-5, 5e-3, 5.05e-3)]
    assert correctness.wrong_tensor(rows, LIMIT) == "the gradient of conv1.weight is off by 0.01"
    assert correctness.wrong_tensor(rows, correctness.gradient_tolerance(FLOAT32, "bfloat16")) == ""


def test_a_tensor_of_nan_is_wrong() -> None:
    nan = float("nan")
    assert correctness.wrong_tensor([("a", nan, 1.0, nan)], LIMIT)
    assert correctness.wrong_tensor([], LIMIT) == ""


def test_unsteady_networks_are_judged_more_mildly_only_where_types_round_much() -> None:
    unsteady = {"workload": "mobilenet_v2"}
    assert correctness.gradient_tolerance(unsteady, "float32") == LIMIT
    assert correctness.gradient_tolerance(unsteady, "bfloat16") > 3 > 1 > correctness.gradient_tolerance(FLOAT32, "bfloat16")


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
