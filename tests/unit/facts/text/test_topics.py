"""Which stacks a text speaks of."""

from __future__ import annotations

import pytest

from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.topics import stacks_of, vendors_of
from gpudoctor.model.facts import Facts


@pytest.mark.parametrize(
    "text", ["oneccl_bindings_for_pytorch is not there", "torch-ccl does not build", "import torch_ccl", "ipex.optimize fails"]
)
def test_intels_collectives_are_of_its_extension(text: str) -> None:
    assert stacks_of(text, Evidence(), Facts())[0] == "ipex"


def test_a_text_that_speaks_of_none_has_none() -> None:
    assert stacks_of("the screen is black", Evidence(), Facts()) == []


def test_a_wheel_of_the_poplar_sdk_is_named_by_its_version() -> None:
    assert "poplar" in stacks_of("tensorflow-2.6.3+gc3.3.0 is not a supported wheel", Evidence(), Facts())


def test_the_mac_from_which_somebody_logs_in_is_not_the_machine() -> None:
    there = Evidence()
    there.platform("linux")
    assert vendors_of("from my macbook i log in to the server with the h100", there) == ["nvidia"]
    assert vendors_of("on my macbook", Evidence()) == ["apple"]


@pytest.mark.parametrize("text", ["mps sharing is not supported for mig devices", "nvidia-cuda-mps-control does not start the mps daemon"])
def test_nvidias_multi_process_service_is_not_apples_mps(text: str) -> None:
    assert stacks_of(text, Evidence(), Facts()) == ["torch-cuda"]
    assert vendors_of(text, Evidence()) == ["nvidia"]
    assert stacks_of("the device mps gives nan", Evidence(), Facts()) == ["torch-mps"]
    assert vendors_of("the device mps gives nan", Evidence()) == ["apple"]


def test_the_compiler_of_tensorflow_is_no_jax() -> None:
    assert stacks_of("tensorflow/compiler/xla/stream_executor: xla service started", Evidence(), Facts()) == ["tensorflow"]
    assert stacks_of("xla service started", Evidence(), Facts()) == ["jax"]


@pytest.mark.parametrize(
    "text", ["lspci lists an amd ipu device on my laptop", "amdxdna starts, yet my ipu is missing", "an ipu of a ryzen 7"]
)
def test_amds_name_for_its_npu_is_not_graphcores_processor(text: str) -> None:
    assert stacks_of(text, Evidence(), Facts()) == []
    assert "graphcore" not in vendors_of(text, Evidence())


def test_graphcores_processor_beside_a_cpu_of_amd() -> None:
    assert vendors_of("poplar sees no ipu, ryzen 9 5950x", Evidence()) == ["graphcore"]
    assert stacks_of("poplar sees no ipu, ryzen 9 5950x", Evidence(), Facts()) == ["poplar"]


def test_the_npus_own_words_name_amd() -> None:
    for text in ("amdxdna is loaded", "xrt-smi examine", "the driver of xdna"):
        assert vendors_of(text, Evidence()) == ["amd"]


def test_a_platform_that_vllm_leaves_out_is_no_topic() -> None:
    text = (
        "debug 10-02 09:14:20 [__init__.py:142] checking if xpu platform is available.\n"
        "debug 10-02 09:14:20 [__init__.py:146] xpu platform is not available because: no module named 'intel_extension_for_pytorch'\n"
        "debug 10-02 09:14:20 [__init__.py:120] rocm platform is not available because: no module named 'amdsmi'\n"
    )
    assert stacks_of(text, Evidence(), Facts()) == []
    assert vendors_of(text, Evidence()) == []
    assert "torch-xpu" in stacks_of(text + "torch.xpu.is_available() is true", Evidence(), Facts())
