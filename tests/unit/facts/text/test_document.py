"""What kind of document a text is as a whole."""

from __future__ import annotations

import pytest

from gpudoctor.facts.text.cleaning import lines_of, unquoted
from gpudoctor.facts.text.document import MANUAL, REPORT, kind_of


def kind(text: str) -> str:
    return kind_of(list(unquoted(lines_of(text))))


FORM = """Bug: output stops after the update

### {first}

the program ends after two tokens on the second card

### Which system do you see it on?

Linux

### Does it happen with the last release too?

Yes
"""


@pytest.mark.parametrize("heading", ["What happened?", "🐛 Describe the bug", "2. Steps to reproduce", "Actual behavior"])
def test_a_filled_form_is_a_report_though_nobody_says_i(heading: str) -> None:
    assert kind(FORM.format(first=heading)) == REPORT


def test_questions_under_other_headings_are_a_manual() -> None:
    assert kind(FORM.format(first="How is the second card chosen?")) == MANUAL
