"""What rounding may do to a result, what it may not, and what a narrower type does: the arithmetic of tolerances, without any framework."""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path

import pytest

WORKLOADS = Path(__file__).resolve().parents[3] / "gpudoctor" / "target" / "workloads"
sys.path.insert(0, str(WORKLOADS))

import calibration  # noqa: E402
import networks  # noqa: E402
from calibration import Check, expected, row, tolerance  # noqa: E402
from network_ir import shapes  # noqa: E402


def product(error: float, name: str = "conv1", along: float = 0.0) -> Check:
    return Check(name, error, tolerance("float32", 576, 1.0, 1.0), along, 1.0, 576, narrowable=True)


def rounded(value: float, bits: int) -> float:
    fraction, exponent = math.frexp(value)
    return math.ldexp(round(fraction * 2**bits), exponent - bits)


@pytest.mark.parametrize(("dtype", "bits"), [("bfloat16", 8), ("float16", 11)])
def test_what_is_expected_of_a_narrow_type_is_what_rounding_its_operands_and_result_does(dtype: str, bits: int) -> None:
    numbers = random.Random(1)
    off = size = 0.0
    for _ in range(400):
        terms = [(numbers.gauss(0, 1), numbers.gauss(0, 1)) for _ in range(64)]
        right = sum(a * b for a, b in terms)
        got = rounded(sum(rounded(a, bits) * rounded(b, bits) for a, b in terms), bits)
        off, size = off + (got - right) ** 2, size + right**2
    measured = math.sqrt(off / size)
    assert expected(dtype, 64, 1.0, 1.0)[0] == pytest.approx(measured, rel=0.2)
    assert measured < tolerance(dtype, 64, 1.0, 1.0) < 0.1, "a gradient that is a tenth too small must not pass"


@pytest.mark.parametrize("depth", [1, 27, 576, 50000])
def test_float32_may_be_off_by_the_noise_of_its_own_sums_and_not_by_that_of_tf32(depth: int) -> None:
    allowed = tolerance("float32", depth, 1.0, 1.0)
    assert 4e-6 < allowed < calibration.TYPICAL * calibration.UNIT["TF32"] * math.sqrt(2)


def test_where_terms_cancel_rounding_may_do_more_to_what_is_left() -> None:
    assert tolerance("float32", 100, 1.0, 0.01) == pytest.approx(100 * tolerance("float32", 100, 1.0, 1.0))


@pytest.mark.parametrize(("error", "name"), [(2.8e-4, "TF32"), (2.2e-3, "bfloat16"), (3e-5, ""), (0.1, "")])
def test_an_error_of_a_narrower_type_is_named_by_that_type(error: float, name: str) -> None:
    assert calibration.computes_in(product(error)) == name


def test_an_error_along_the_result_is_no_rounding() -> None:
    """Everything too large by 0.2 % is as far off as bfloat16, and always in the same direction."""
    assert calibration.computes_in(product(2.2e-3, along=1.0)) == ""


def test_what_chooses_and_copies_has_no_narrower_type() -> None:
    assert calibration.computes_in(Check("relu", 2.2e-3, 1e-6)) == ""


def test_a_row_of_products_in_a_narrower_type_names_it_and_passes_only_where_it_was_asked_for() -> None:
    checks = [product(2.8e-4), product(3e-4, "conv2"), Check("relu", 0.0, 1e-6)]
    named = row("layers", checks, "note")
    assert not named["passed"] and named["computed_in"] == "TF32" and named["note"] == "computes in TF32: error 3e-04"
    asked = row("layers", checks, "note", allowed=("TF32",))
    assert asked["passed"] and asked["computed_in"] and asked["max_relative_error"] <= asked["tolerance"]
    assert "computed_in" not in row("layers", checks, "note", dtype="bfloat16")


def test_one_product_of_many_that_is_off_is_a_fault_and_not_a_type() -> None:
    found = row("layers", [product(1e-7, f"conv{number}") for number in range(9)] + [product(2.2e-3, "conv9")], "note")
    assert not found["passed"] and "computed_in" not in found and found["name"] == "layers: conv9"


def test_a_wrong_layer_is_named_before_those_that_only_round() -> None:
    found = row("layers", [product(2.2e-3), product(2.2e-3, "conv2"), Check("pool", 0.5, 1e-6)], "note")
    assert found["name"] == "layers: pool" and found["max_relative_error"] == 0.5 and not found["passed"]


@pytest.mark.parametrize("broken", [Check("conv1", math.nan, 1.0), Check("conv1", math.inf, 1.0, note="NaN")])
def test_what_is_no_number_never_passes(broken: Check) -> None:
    found = row("layers", [product(1e-7), broken], "note")
    assert not found["passed"] and found["max_relative_error"] is None and "conv1" in found["note"]


def test_layers_that_copy_round_nothing_and_deeper_sums_round_more() -> None:
    network = networks.draw("resnet18", batch=1, height=64, width=64)
    found = calibration.levels(network, shapes(network), "float32")
    assert "relu" not in found and "maxpool" not in found
    assert found["conv1"] < found["layer4.1.conv2"]
    wide = calibration.levels(network, shapes(network), "bfloat16")
    assert wide["conv1"] > 1000 * found["conv1"]
