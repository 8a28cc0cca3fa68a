"""What the variables that choose devices leave, and which GPUs are cards: one answer for CUDA, ROCm, Ollama and llama.cpp."""

from __future__ import annotations

import pytest

from gpudoctor.facts.derive import amd, nvidia
from gpudoctor.facts.derive._visible_devices import beside_a_card, hiding_variable, is_card, left_by
from gpudoctor.model.facts import Absent, Facts, Known


@pytest.mark.parametrize(
    ("value", "count", "left"),
    [
        ("", 2, "none"), ("-1", 2, "none"), (" NoDevFiles", 2, "none"), ("void", 2, "none"), ("-1,0", 2, "none"), ("0", 2, "some"),
        ("1,7", 2, "some"), ("2", 2, "out-of-range"), ("2,0", 2, "out-of-range"), ("-2", 2, "out-of-range"), ("7", None, "some"),
        ("GPU-12ab", 2, "some"),
    ],
)  # fmt: skip
def test_the_first_entry_decides_what_a_variable_leaves(value: str, count: int | None, left: str) -> None:
    assert left_by(value, count) == left


@pytest.mark.parametrize("value", ["", "-1", "none", "NoDevFiles", "void"])
def test_every_word_for_no_device_hides_the_cards_of_each_vendor(value: str) -> None:
    by_cuda = {"env": {"CUDA_VISIBLE_DEVICES": value}, "env.CUDA_VISIBLE_DEVICES": value}
    by_rocr = {"env": {"ROCR_VISIBLE_DEVICES": value}, "env.ROCR_VISIBLE_DEVICES": value}
    facts = Facts({name: Known(each) for name, each in by_cuda.items()})
    assert nvidia._visible(facts, 1) == Known("hidden", "CUDA_VISIBLE_DEVICES")
    hidden = amd._hidden(Facts({name: Known(each) for name, each in by_rocr.items()}), 1, 1)
    assert isinstance(hidden, Known) and hidden.value == f'ROCR_VISIBLE_DEVICES="{value}" hides every GPU'


def test_rocm_counts_the_gpus_of_the_kernel_and_then_those_that_are_left() -> None:
    def hidden(name: str) -> object:
        return amd._hidden(Facts({"env": Known({name: "1"}), f"env.{name}": Known("1")}), 2, 1)

    assert isinstance(hidden("ROCR_VISIBLE_DEVICES"), Absent)
    found = hidden("HIP_VISIBLE_DEVICES")
    assert isinstance(found, Known) and "ROCm counts 1 from 0" in found.value


@pytest.mark.parametrize(
    ("vendor", "env", "hidden"),
    [
        ("nvidia", {"CUDA_VISIBLE_DEVICES": ""}, "CUDA_VISIBLE_DEVICES="), ("nvidia", {"CUDA_VISIBLE_DEVICES": "0"}, None),
        ("nvidia", {"CUDA_VISIBLE_DEVICES": "1"}, "CUDA_VISIBLE_DEVICES=1"), ("nvidia", {"CUDA_VISIBLE_DEVICES": "GPU-1234"}, None),
        ("nvidia", {"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, "CUDA_VISIBLE_DEVICES=NoDevFiles"),
        ("nvidia", {"ROCR_VISIBLE_DEVICES": "-1"}, None), ("amd", {"ROCR_VISIBLE_DEVICES": "-1"}, "ROCR_VISIBLE_DEVICES=-1"),
        ("amd", {"HIP_VISIBLE_DEVICES": ""}, None), ("intel", {"GGML_VK_VISIBLE_DEVICES": "0"}, None),
        ("intel", {"GGML_VK_VISIBLE_DEVICES": "-1"}, "GGML_VK_VISIBLE_DEVICES=-1"),
    ],
)  # fmt: skip
def test_which_variable_hides_every_gpu_of_a_vendor(vendor: str, env: dict[str, str], hidden: str | None) -> None:
    assert hiding_variable(vendor, env, 1) == hidden


def test_an_integrated_gpu_is_set_aside_beside_a_card_alone() -> None:
    inside, card, accelerator = {"kind": "integrated"}, {"kind": "discrete"}, {"kind": "accelerator"}
    assert [is_card(gpu) for gpu in (inside, card, accelerator, {}, None)] == [False, True, True, False, False]
    assert not beside_a_card(inside, [inside, {"kind": None}])
    assert beside_a_card(inside, [inside, card]) and beside_a_card(inside, [accelerator])
    assert not beside_a_card(card, [card, accelerator])
