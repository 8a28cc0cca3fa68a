"""Operators on the real torch: on the processor, and on a device whose faults are known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from environments import build

from gpudoctor.benchmark import operators, worker_client
from gpudoctor.model.operators import Coverage
from gpudoctor.system.local_host import LocalHost

FAULTY = Path(__file__).with_name("faulty_device")
SOUND = ("conv2d", "conv2d_grouped", "matmul", "relu", "tanh", "sigmoid", "cumsum", "erf", "sort", "softmax", "layer_norm", "sum")


def probe(faults: str, **more: Any) -> Coverage:
    through = worker_client.through(LocalHost(600), str(build("torch-cpu") / "bin" / "python"), 300)

    def ask(request: Mapping[str, Any], variables: Mapping[str, str]) -> worker_client.Said:
        return through(request, {**variables, "PYTHONPATH": str(FAULTY), "FAULTY_DEVICE": faults})

    return operators.probe(ask, "torch-opencl", "ocl:0", dtypes=("float32",), **more)


@pytest.mark.rotates("slow", member="operators")
def test_the_processor_is_right_everywhere() -> None:
    ask = worker_client.through(LocalHost(600), str(build("torch-cpu") / "bin" / "python"), 400, on_processor=True)
    found = operators.probe(ask, "torch", "cpu")
    verdicts = {one.key: one for one in found.results}
    assert not found.incomplete and len({one.operator for one in found.results}) > 150
    assert [one for one in found.results if one.verdict in ("wrong", "crash", "cpu-fallback")] == []
    assert {one.operator for one in found.results if one.verdict == "missing"} <= {"avg_pool3d", "local_response_norm"}
    assert verdicts["conv2d/float16/backward"].verdict == "native"


@pytest.mark.rotates("a sound device")
def test_a_sound_device_is_native() -> None:
    found = probe("", only=SOUND)
    assert {one.verdict for one in found.results} == {"native"} and len({one.operator for one in found.results}) == len(SOUND)


@pytest.mark.rotates("slow", member="operators")
def test_each_fault_of_a_device_has_its_verdict() -> None:
    found = probe("conv-off,zero-gradient,silent-fallback,loud-fallback,refuses,crash,hang", only=SOUND, limit=10.0)
    verdicts = {(one.operator, one.direction): one for one in found.results}
    wrong = verdicts["conv2d", "forward"]
    assert wrong.verdict == "wrong" and wrong.max_relative_error is not None and 0.009 < wrong.max_relative_error < 0.011
    gradient = verdicts["conv2d_grouped", "backward"]
    assert gradient.verdict == "wrong" and "all zero" in gradient.note
    assert verdicts["tanh", "forward"].verdict == "cpu-fallback" and "aten::tanh" in verdicts["tanh", "forward"].note
    assert verdicts["sigmoid", "forward"].verdict == "cpu-fallback" and "fall back" in verdicts["sigmoid", "forward"].note
    assert verdicts["cumsum", "forward"].verdict == "missing"
    assert verdicts["erf", "forward"].verdict == "crash" and "SIGSEGV" in verdicts["erf", "forward"].note
    assert verdicts["sort", "forward"].verdict == "crash" and "no answer" in verdicts["sort", "forward"].note
    untouched = [one for (name, _), one in verdicts.items() if name in ("matmul", "relu", "softmax", "layer_norm")]
    assert len(untouched) == 8 and {one.verdict for one in untouched} == {"native"}
