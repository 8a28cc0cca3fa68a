"""Facts are those of the machine at hand: not of the quote that a reply answers, and not of files that a search found."""

from __future__ import annotations

import pytest

from gpudoctor.facts.text.cleaning import lines_of
from gpudoctor.facts.text.others_words import at_hand


def kept(text: str) -> list[str]:
    return [line.text for line in at_hand(lines_of(text)) if line.text]


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("> torch 2.1.0 on an RTX 3090\n\nI have torch 2.9.1.", ["I have torch 2.9.1."]),
        ("On Monday Jo wrote:\n> torch 2.1.0\n\ntorch 2.9.1 here", ["On Monday Jo wrote:", "torch 2.9.1 here"]),
        ("$ grep -rn torch .\na.txt:3:torch==1.13.1\nb.txt-4-numpy==2.0\n\ntorch 2.9.1", ["$ grep -rn torch .", "torch 2.9.1"]),
        ("setup.py:12:torch==1.13.1\nsetup.py:13:    numpy==2.1", []),
    ],
)
def test_words_of_others_are_left_out(text: str, own: list[str]) -> None:
    assert kept(text) == own


@pytest.mark.parametrize(
    "text",
    [
        "My environment:\n> torch 2.1.0\n> numpy 2.0.1\nIt fails with numpy 2.0.",  # somebody's own list, set apart
        "> torch 2.1.0 fails here\nCan you help?",  # the answer has no versions of its own
        "> torch 2.1.0\n> RTX 3090",
        "/x/torch/cuda/__init__.py:230: UserWarning: NVIDIA GeForce RTX 5090 with CUDA capability sm_120",
        "src/a.cu:12:3: error: no GPU with 2.0",
        "$ grep -m1 'model name' /proc/cpuinfo\nmodel name : Intel(R) Core(TM) i7-12700",
        "$ pip list | grep torch\ntorch 2.9.1",
        ">>> torch.__version__\n'2.9.1'",
    ],
)
def test_words_about_the_machine_stay(text: str) -> None:
    assert kept(text) == [line for line in text.split("\n") if line]
