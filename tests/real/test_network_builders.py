"""Both builders, run for real: published parameter counts, and torch, ONNX Runtime and OpenVINO compute the same numbers.

Each backend works through all cases in one process; outputs of torch are the reference and travel as files.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKLOADS = ROOT / "gpudoctor" / "target" / "workloads"
sys.path.insert(0, str(WORKLOADS))

import network_ir  # noqa: E402
import networks  # noqa: E402
import work_counts  # noqa: E402

pytestmark = pytest.mark.rotates("slow", member="network builders")

Environment = Callable[[str], Path]
Case = dict[str, Any]
Answers = dict[str, dict[str, Any]]

SMALL_UNET = {"batch": 2, "height": 16, "width": 16, "base": 64}
CASES: list[Case] = [
    {"key": "alexnet", "name": "alexnet", "options": {"batch": 2}},
    # 100 x 128: windows of unequal size in the pooling before the head
    {"key": "alexnet-odd", "name": "alexnet", "options": {"batch": 2, "height": 100, "width": 128, "classes": 18}, "opset": 11},
    {"key": "resnet18", "name": "resnet18", "options": {"batch": 2}},
    {"key": "resnet50", "name": "resnet50", "options": {"batch": 2}, "opset": 11},
    {"key": "vgg16", "name": "vgg16", "options": {"batch": 2}},
    {"key": "mobilenet_v2", "name": "mobilenet_v2", "options": {"batch": 2}, "opset": 17},
    {"key": "resnext101_32x4d", "name": "resnext101_32x4d", "options": {"batch": 2}},
    {"key": "style_transfer", "name": "style_transfer", "options": {"batch": 2, "height": 96, "width": 128}, "opset": 11},
    {"key": "yolox_tiny", "name": "yolox_tiny", "options": {"batch": 2}, "opset": 12},
    {"key": "gpt2_prefill", "name": "gpt2_prefill", "options": {"batch": 2, "tokens": 64}},
    {"key": "gpt2_decode", "name": "gpt2_decode", "options": {"batch": 2, "past": 64}, "opset": 17},
    {"key": "unet_sd15", "name": "unet_sd15", "options": {"batch": 1, "height": 16, "width": 16}},  # all 860 M: 3.4 GB in a second file
    {"key": "unet_sd15-small", "name": "unet_sd15", "options": SMALL_UNET, "opset": 17},
    {"key": "unet_sd21-small", "name": "unet_sd21", "options": SMALL_UNET, "opset": 11},
]
HALVES = ("alexnet-odd", "resnet18", "mobilenet_v2", "style_transfer", "yolox_tiny", "gpt2_decode", "unet_sd15-small", "unet_sd21-small")

# Sums of up to 25,088 products in another order: rounding of 6e-8 a step, some 1e-6 through all layers (measured: at most 4.2e-6).
# A wrong constant or axis moves outputs by 1e-3 and more; an epsilon of 1e-6 for 1e-5 beside variances of 1 cannot be seen by anybody.
SAME = 3e-5
# float16 rounds each weight and activation by 5e-4, and 50 to 100 layers add up.
SAME_IN_HALF = 3e-2


def run(environment: Path, backend: str, folder: Path, cases: list[Case]) -> Answers:
    argv = [str(environment / "bin" / "python"), str(Path(__file__).with_name("network_runner.py")), backend, str(WORKLOADS), str(folder)]
    quiet = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    ran = subprocess.run(argv, input=json.dumps(cases), capture_output=True, text=True, timeout=900, env=quiet)
    assert ran.returncode == 0, ran.stderr[-3000:]
    answers = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    return {answer["key"]: answer for answer in answers}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("networks")


@pytest.fixture(scope="module")
def by_torch(environment: Environment, folder: Path) -> Answers:
    counted = [{"key": f"count-{name}", "name": name, "count": True} for name in networks.NETWORKS]
    return run(environment("torch-cpu"), "torch", folder, CASES + counted)


@pytest.fixture(scope="module")
def by_onnxruntime(environment: Environment, folder: Path, by_torch: Answers) -> Answers:
    return run(environment("onnxruntime"), "onnxruntime", folder, CASES + in_half())


@pytest.fixture(scope="module")
def by_openvino(environment: Environment, folder: Path, by_torch: Answers) -> Answers:
    return run(environment("openvino"), "openvino", folder, CASES)


def in_half() -> list[Case]:
    return [{**case, "key": case["key"] + " half", "of": case["key"], "dtype": "float16"} for case in CASES if case["key"] in HALVES]


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_the_module_has_as_many_parameters_as_published(by_torch: Answers, name: str) -> None:
    assert by_torch[f"count-{name}"]["parameters"] == networks.NETWORKS[name].published


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["key"])
def test_torch_computes_what_the_list_says(by_torch: Answers, case: Case) -> None:
    network, answer = networks.draw(case["name"], **case["options"]), by_torch[case["key"]]
    work, known = work_counts.work(network), network_ir.shapes(network)
    assert answer["parameters"] == work.parameters
    assert answer["flop"] == work.forward_flop
    assert answer["shapes"] == [list(known[output]) for output in network.outputs]
    assert answer["same_inputs"], "torch and numpy made different inputs"
    assert all(each > 1e-3 for each in answer["spread"]), "an output is nearly constant"
    assert answer["differ"] == [network.inputs[0].shape[0] > 1] * len(network.outputs), "every item of the batch gives the same"
    assert answer["largest"] < 6000, "float16 ends at 65504"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["key"])
def test_onnxruntime_agrees(by_onnxruntime: Answers, case: Case) -> None:
    assert max(by_onnxruntime[case["key"]]["errors"]) < SAME


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["key"])
def test_openvino_agrees(by_openvino: Answers, case: Case) -> None:
    assert max(by_openvino[case["key"]]["errors"]) < SAME


@pytest.mark.parametrize("key", HALVES)
def test_onnxruntime_agrees_in_half_precision(by_onnxruntime: Answers, key: str) -> None:
    errors = by_onnxruntime[key + " half"]["errors"]
    assert 1e-6 < max(errors) < SAME_IN_HALF


def test_every_operator_set_is_valid(environment: Environment, folder: Path) -> None:
    chosen = {case["key"]: case for case in CASES if case["key"] in HALVES}
    cases = [
        {**case, "key": f"{key}-{opset}-{dtype}", "opset": opset, "dtype": dtype}
        for key, case in chosen.items()
        for opset, dtype in ((11, "float16"), (13, "float32"), (15, "float16"), (17, "float16"))
        if key not in ("gpt2_decode", "alexnet-odd") or opset in (11, 17)
    ]
    answers = run(environment("onnx"), "onnx", folder, cases)
    for case in cases:
        answer = answers[case["key"]]
        known = network_ir.shapes(networks.draw(case["name"], **case["options"]))
        inferred = {name: tuple(shape) for name, shape in answer["values"].items() if name in known}
        assert answer["opset"] == case["opset"]
        assert len(inferred) > 0.9 * len(known) - 30 and {name: known[name] for name in inferred} == inferred


@pytest.mark.parametrize(("name", "rate"), [("resnet18", 0.01), ("mobilenet_v2", 0.01), ("alexnet", 0.003)])
def test_training_has_the_gradients_of_float64_and_learns(environment: Environment, folder: Path, name: str, rate: float) -> None:
    case = {"key": name, "name": name, "options": {"batch": 8, "height": 64, "width": 64, "classes": 10}, "rate": rate}
    answer = run(environment("torch-cpu"), "training", folder, [case])[name]
    # Rounding sends some value near the edge of a ReLU6 or some tie of a pooling the other way, and with it a whole path of the gradient.
    # A wrong derivative is off by 1e-1 and more.
    assert max(answer["gradients"].values()) < 5e-2, answer
    assert math.isfinite(answer["losses"][-1]) and answer["losses"][-1] < 0.8 * answer["losses"][0], answer
    assert answer["traced"], "torch.fx (ipex.optimize) or torch.jit.trace (poptorch) follows the module wrongly"


@pytest.mark.parametrize(
    ("name", "options", "other"),
    [
        ("gpt2_prefill", {"tokens": 16}, {"batch": 3, "tokens": 33}),
        ("gpt2_decode", {"past": 16}, {"batch": 3, "past": 33}),
        ("unet_sd21", SMALL_UNET, {**SMALL_UNET, "batch": 1, "height": 24, "words": 9}),
    ],
)
def test_attention_spelled_out_is_that_of_torch(
    environment: Environment, folder: Path, name: str, options: dict[str, int], other: dict[str, int]
) -> None:
    case = {"key": name, "name": name, "options": options, "other": other}
    assert run(environment("torch-cpu"), "attention", folder, [case])[name]["error"] < SAME
