"""A message below the sentence that announces it."""

from __future__ import annotations

import pytest

from gpudoctor.facts.text.cleaning import lines_of
from gpudoctor.facts.text.roles import Roles
from gpudoctor.model.signature import ADVICE, COMPLAINT, FAILURE

_MESSAGE = "The loader could not read that kernel for the card."


def role(above: str, message: str = _MESSAGE) -> str:
    lines = lines_of(f"A workstation with one card\n\n{above}\n\n{message}")
    return Roles(lines)(len(lines) - 1)


@pytest.mark.parametrize(
    "above",
    [
        "Starting the demo ends with this error:",
        "If I take the second card instead, I get the message:",
        "The program prints the following:",
        "/srv/env/lib/loader/__init__.py:88: UserWarning:",
        "运行时直接报错：",
        "Die Fehlermeldung:",
    ],
)
def test_a_program_said_it(above: str) -> None:
    assert role(above) == FAILURE


@pytest.mark.parametrize("above", ["Two cards are in the machine:", "Starting the demo ends with an error.", "The error is known to us"])
def test_without_an_announcement_a_person_says_it(above: str) -> None:
    assert role(above) == COMPLAINT


@pytest.mark.parametrize("above", ["If you see this error:", "You may see a message:", "When it prints an error:"])
def test_a_guide_announces_what_may_appear(above: str) -> None:
    assert role(above) in (ADVICE, COMPLAINT)


def test_a_persons_own_sentence_is_no_message() -> None:
    assert role("I get this error:", "My card does not work any more.") == COMPLAINT
    assert role("I get this error:", "Why does the card not work?") != FAILURE
