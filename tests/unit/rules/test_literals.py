"""Literals stand for whole words."""

from __future__ import annotations

import pytest

from gpudoctor.rules.literals import occurs


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ("npu", "no npu here"), ("npu", "torch_npu"), ("driver", "two drivers"), ("fail", "it failed"), ("fail", "failing now"),
        ("cuda", "cuda12 toolkit"), ("libsycl*", "libsycl.so and libsycls"), ("*ccl", "nccl warn"), ("a770", "arc a770, 16 gb"),
        ("2.8", "torch 2.8.0"), ("-30", "returns: -30"), ("out of memory", "cuda out of memory."), ("gb", "16gb"),
    ],
)  # fmt: skip
def test_a_word_is_found(literal: str, text: str) -> None:
    assert occurs(text.encode(), literal)


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ("npu", "input 640"), ("ccl", "nccl warn"), ("xe", "run.exe"), ("mac", "machine"), ("gcl", "gcloud"), ("a770", "a770m"),
        ("sm_12", "sm_120"), ("6.2", "16.2"), ("cu12", "cu128"), ("770", "a770"), ("fail", "failure"), ("hang", "change"),
    ],
)  # fmt: skip
def test_a_part_of_a_word_is_not(literal: str, text: str) -> None:
    assert not occurs(text.encode(), literal)
