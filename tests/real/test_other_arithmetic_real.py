"""What is sound passes however it rounds, and what is wrong does not pass however much its type rounds: on whole networks, in torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from environments import build

from gpudoctor.benchmark import workers
from gpudoctor.system.local_host import LocalHost

ARITHMETIC = Path(__file__).with_name("other_arithmetic")
NETWORKS = ["resnet18", "resnet50", "mobilenet_v2", "vgg16"]


def rows(kind: str, workload: str, task: str, dtype: str = "float32", variables: dict[str, str] | None = None, **more: Any) -> list[Any]:
    """The worker's comparisons with convolutions of this kind (other_arithmetic/sitecustomize.py); '' for torch's own."""
    request: dict[str, Any] = {
        "framework": "torch", "device": "cpu", "workload": workload, "task": task, "dtype": dtype, "job": "verify", "threads": 1,
        "options": {"batch": 2, "height": 96, "width": 96}, **more,
    }  # fmt: skip
    given = {"PYTHONPATH": str(ARITHMETIC), "OTHER_ARITHMETIC": kind, **(variables or {})}
    answer = workers.ask(LocalHost(), str(build("torch-cpu") / "bin" / "python"), request, limit=300, variables=given)
    assert answer.status == workers.OK, answer
    found = answer.result["outputs"]
    assert isinstance(found, list) and found
    return found


def failed(found: list[Any]) -> dict[str, Any]:
    """The rows that did not pass, by the first word of their name."""
    return {row["name"].partition(":")[0]: row for row in found if not row["passed"]}


@pytest.mark.rotates("an instruction level of oneDNN")
@pytest.mark.parametrize("workload", NETWORKS)
@pytest.mark.parametrize("level", ["SSE41", "AVX", "AVX2", "AVX512_CORE"])
def test_every_instruction_level_is_right(level: str, workload: str) -> None:
    assert failed(rows("", workload, "training", variables={"ONEDNN_MAX_CPU_ISA": level})) == {}


@pytest.mark.rotates("another sound convolution")
@pytest.mark.parametrize("workload", NETWORKS)
@pytest.mark.parametrize("kind", ["im2col", "winograd-2", "winograd-4", "noise", "no-onednn"])
def test_every_sound_convolution_is_right(kind: str, workload: str) -> None:
    assert failed(rows(kind, workload, "training")) == {}


@pytest.mark.rotates("a faulty gradient")
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("workload", NETWORKS)
@pytest.mark.parametrize("kind", ["times-0.9", "turned", "shuffled", "input-times-0.9"])
def test_faulty_gradients_are_found_in_types_that_round_much(kind: str, workload: str, dtype: str) -> None:
    assert "gradients" in failed(rows(kind, workload, "training", dtype))


@pytest.mark.rotates("a sound type")
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("workload", NETWORKS)
def test_types_that_round_much_are_right(workload: str, dtype: str) -> None:
    assert failed(rows("", workload, "training", dtype)) == {}


@pytest.mark.rotates("a narrower type than was asked for")
@pytest.mark.parametrize("task", ["inference", "training"])
@pytest.mark.parametrize(("kind", "name"), [("bf16", "bfloat16"), ("tf32", "TF32")])
def test_float32_that_is_computed_in_less_is_named(kind: str, name: str, task: str) -> None:
    wrong = failed(rows(kind, "resnet18", task))
    assert "layers" in wrong and all(row["computed_in"] == name for row in wrong.values()), wrong


def test_tf32_is_right_where_it_was_asked_for_and_named_all_the_same() -> None:
    found = rows("tf32", "resnet18", "inference", settings={"tf32": True})
    assert failed(found) == {} and found[0]["computed_in"] == "TF32"


@pytest.mark.rotates("a fault of a training step")
@pytest.mark.parametrize(
    ("kind", "workload", "row"),
    [
        ("last-item", "resnet18", "layers"), ("lost-above-64", "resnet18", "layers"),
        ("frozen-statistics", "resnet18", "running statistics"), ("slow-statistics", "resnet18", "running statistics"),
        ("no-dropout", "mobilenet_v2", "dropout"), ("unscaled-dropout", "mobilenet_v2", "dropout"),
        ("no-momentum", "resnet18", "optimizer"), ("relu-gradient", "resnet18", "gradients"), ("residual-lost", "resnet18", "gradients"),
    ],
)  # fmt: skip
def test_each_fault_of_a_training_step_fails_its_row(kind: str, workload: str, row: str) -> None:
    wrong = failed(rows(kind, workload, "training"))
    assert row in wrong and "computed_in" not in wrong[row], wrong


def test_the_second_moments_of_adam_are_compared() -> None:
    assert "optimizer" in failed(rows("stale-adam", "resnet18", "training", optimizer="adam"))


def test_a_fault_of_large_images_alone_is_found_at_their_size() -> None:
    """At 64x64 this device is right."""
    assert failed(rows("lost-above-64", "resnet18", "inference", options={"batch": 1, "height": 64, "width": 64})) == {}
    assert "layers" in failed(rows("lost-above-64", "resnet18", "inference", options={"batch": 1, "height": 160, "width": 160}))
