"""A signature is found by words: whatever holds its literals holds one of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.rules.literal_words import finding_words, words_in, words_of
from gpudoctor.rules.literals import occurs

LITERALS = ["cuda error", "no kernel image", "*alloc*", "gfx1100", "fail", "hip*", "*hip", "0x7f", "/dev/kfd", "é gpu", "out of memory:"]
AROUND = ["", " ", "x", "s", "ed ", "ing", "7", "-", "é", "\n", "the "]


@given(st.sampled_from(LITERALS), st.lists(st.sampled_from([*AROUND, *LITERALS]), max_size=4), st.sampled_from(AROUND))
def test_a_text_that_holds_a_literal_has_its_words(literal: str, before: list[str], behind: str) -> None:
    text = ("".join(before) + literal.strip("*") + behind).lower().encode()
    if occurs(text, literal):
        assert set(words_of(literal)) <= words_in(text)


@pytest.mark.parametrize(
    ("literal", "words"),
    [
        ("cuda error: no kernel", ["cuda", "error", "no", "kernel"]), ("gfx1100", ["gfx"]), ("*alloc*", []), ("hip*", []),
        ("hip error*", ["hip"]), ("*t find", ["find"]), ("0x7f", ["x", "f"]),
    ],
)  # fmt: skip
def test_runs_that_the_literal_leaves_open_are_no_words(literal: str, words: list[str]) -> None:
    assert words_of(literal) == words


def test_the_choice_with_the_rarest_words_finds_a_signature() -> None:
    often = {"error": 900, "device": 800, "fusion": 2, "launch": 30}
    assert finding_words([["device error"], ["fusion launch", "launch"]], often) == {"fusion", "launch"}
    assert finding_words([["*slow*"], ["*x*", "device"]], often) is None
