"""Forms of issue trackers: the line below a heading answers it."""

from __future__ import annotations

import pytest
from pasted_text import read

from gpudoctor.facts.text.form_answers import form_answers
from gpudoctor.model.signature import Numbered


def answers(text: str) -> list[tuple[str, str]]:
    return list(form_answers([Numbered(number, line) for number, line in enumerate(text.splitlines(), 1)]))


def test_the_first_line_below_a_heading_answers_it() -> None:
    assert answers("### Python version\n\n3.12.4\nand more\n") == [("python version", "3.12.4")]


def test_a_heading_with_another_name_asks_the_same() -> None:
    assert answers("### Kernel Release\n\n6.14.0-33-generic") == [("kernel version", "6.14.0-33-generic")]


@pytest.mark.parametrize(
    "below",
    [
        "_No response_",
        "- one\n- two",
        "```text\n2.18.0\n```",
        "<details>",
        "2.16.2 and 2.20.0",
        "",
        "the one that " + "x" * 100 + " 2.18.0",
    ],
)
def test_what_is_no_answer_is_left(below: str) -> None:
    assert answers(f"### TensorFlow version\n\n{below}\n") == []


def test_one_version_in_two_spellings_is_one() -> None:
    assert answers("### TensorFlow Version\n\nv2.18.0-rc2-4-g65 2.18.0") == [("tensorflow version", "v2.18.0-rc2-4-g65 2.18.0")]


def test_a_question_that_nobody_answered_does_not_take_the_next_one() -> None:
    assert answers("### Python version\n\n### OS\n\nWindows 11\n") == [("os", "Windows 11")]


@pytest.mark.parametrize(
    ("said", "name"), [("4080 RTX", "RTX 4080"), ("5070TI (16G)", "RTX 5070 TI"), ("3090", "RTX 3090"), ("Radeon RX 7900 XTX",) * 2]
)
def test_a_number_alone_names_a_card(said: str, name: str) -> None:
    assert answers(f"### GPU model and memory\n{said}") == [("gpu model and memory", name)]


def test_a_form_gives_facts() -> None:
    form = "### TensorFlow version\n\n2.19.0\n\n### OS platform and distribution\n\nWindows 11\n\n### GPU model and memory\n\n4070 RTX\n"
    text = read(form)
    assert text.value("tensorflow.version") == "2.19.0"
    assert text.value("platform.kind") == "windows"
    assert [gpu["name"] for gpu in text.value("gpus")] == ["RTX 4070"]
