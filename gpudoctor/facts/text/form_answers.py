"""Answers in the forms of issue trackers: a heading that asks ('### TensorFlow version'), and below it one line that answers ('2.18.0')."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.signature import Numbered

LONGEST = 100
"""Letters of a line up to which it is an answer and no description."""
_HEADING = lazy(r"^\s{0,3}#{2,5}\s{1,4}(?P<label>[A-Za-z][\w .()/+:\-]{1,60}?)[\s?:*]{0,4}$")
_NO_ANSWER = lazy(r"^\s{0,3}(?:[`~#<>!|\[\-*+]|_no response_)", re.IGNORECASE)
_SAME = {
    "hardware: gpu": "gpu",
    "kernel release": "kernel version",
    "operating system and version": "operating system",
    "nvidia open gpu kernel modules version": "nvidia driver version",
}
"""Questions of forms, by the label that means the same."""
_ASKED = frozenset(
    ("tensorflow version", "pytorch version", "torch version", "jax version", "vllm version", "python version", "os", "operating system",
     "os platform and distribution", "os version", "windows version", "platform", "kernel version", "nvidia driver version", "gpu",
     "gpu model", "gpu model and memory", "gpu type", "graphics card")
)  # fmt: skip
_VERSION = lazy(r"\d{1,4}(?:\.\d+)+")
_BARE = lazy(r"^\W{0,3}(?:(?:nvidia|rtx) )?(?P<number>[2-5]0[5-9]0) ?(?P<more>ti|super)?(?: ?rtx\b|\b)", re.IGNORECASE)
"""Under a question for the card, '4080 RTX' and '5070TI (16G)' name it."""


def form_answers(lines: Sequence[Numbered]) -> Iterator[tuple[str, str]]:
    """Pairs of a label, in small letters, and its answer. A line with several versions answers no question for one."""
    asked = ""
    for line in lines:
        text = line.text.strip()
        heading = _HEADING.match(line.text) if text.startswith("#") else None
        if heading:
            label = " ".join(heading["label"].lower().split())
            asked = _SAME.get(label, label)
        elif text:
            if asked in _ASKED and len(text) <= LONGEST and _NO_ANSWER.match(text) is None:
                yield from _answer(asked, text)
            asked = ""


def _answer(label: str, text: str) -> Iterator[tuple[str, str]]:
    if label.startswith(("gpu", "graphics")):
        bare = _BARE.match(text)
        yield label, f"RTX {bare['number']} {bare['more'] or ''}".strip() if bare else text
    elif not label.endswith("version") or label in ("os version", "windows version") or len(set(_VERSION.findall(text))) == 1:
        yield label, text
