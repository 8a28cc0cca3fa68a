"""A signature and a condition as the page of a check shows them."""

from __future__ import annotations

import pytest

from gpudoctor.model.condition import ALWAYS, Combination, Condition, Leaf
from gpudoctor.model.signature import Signature
from gpudoctor.rules.message_words import is_always, leaf_words, message, parts_of


@pytest.mark.parametrize(
    ("signature", "words"),
    [
        (Signature(text=(("device is lost",),)), "'device is lost'"),
        (Signature(text=((" hang ", "words:slow"),)), "'hang' or any words for 'slow'"),
        (Signature(text=(("a", "b"), ("c",))), "('a' or 'b'), together with 'c', on the same line"),
        (Signature(text=(("a",), ("c",)), within=3), "'a', together with 'c', within 3 lines"),
        (Signature(text=(("a",),), none_of=("x", "y")), "'a'; not where 'x' or 'y' stands there"),
        (Signature(text=(("a",),), context=(("x", "y"),)), "'a'; only where the text also holds 'x' or 'y'"),
        (Signature(text=(("a",),), context=(("x", "y"), ("z",))), "'a'; only where the text also holds ('x' or 'y') and 'z'"),
        (Signature(text=(("a",),), pattern=r"a \d"), r"'a'; and it matches /a \d/"),
    ],
)
def test_a_signature_in_one_line(signature: Signature, words: str) -> None:
    assert message(signature) == words


def test_the_page_chooses_how_words_and_expressions_are_marked() -> None:
    signature = Signature(text=(("a", "words:slow"),), none_of=("b",), context=(("c",),), pattern="d")
    marked = message(signature, lambda word: f"<{word}>", lambda expression: f"[{expression}]")
    assert marked == "<a> or any words for <slow>; not where <b> stands there; only where the text also holds <c>; and it matches [/d/]"


A, B = Leaf("a", "is", 1), Leaf("b.c", "known")


@pytest.mark.parametrize(
    ("condition", "heading", "parts"),
    [
        (A, "", (A,)),
        (Combination("all", (A, B)), "all of these hold", (A, B)),
        (Combination("any", (A, B)), "one of these holds", (A, B)),
        (Combination("all", (A,)), "", (Combination("all", (A,)),)),
        (Combination("not", (A,)), "", (Combination("not", (A,)),)),
    ],
)
def test_the_outermost_list_has_a_heading(condition: Condition, heading: str, parts: tuple[Condition, ...]) -> None:
    assert parts_of(condition) == (heading, parts)


def test_a_condition_that_asks_nothing() -> None:
    assert is_always(None) and is_always(ALWAYS)
    assert not is_always(A) and not is_always(Combination("any", ()))


def test_what_is_said_behind_the_name_of_a_fact() -> None:
    assert (leaf_words(A, "a is 1"), leaf_words(B, "whatever")) == ("is 1", "is known")
