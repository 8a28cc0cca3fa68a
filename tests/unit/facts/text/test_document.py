"""The kind of a text as a whole: a report, a manual, the form of a change."""

from __future__ import annotations

import pytest

from gpudoctor.facts.text.cleaning import lines_of, unquoted
from gpudoctor.facts.text.document import MANUAL, NOTES, REPORT, kind_of


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


@pytest.mark.parametrize(
    "heading",
    ["Which release are you using?", "What computer do you have?", "What version of Linux is running?", "Which card is your first one?"],
)
def test_a_form_that_asks_for_the_machine_is_a_report(heading: str) -> None:
    assert kind(FORM.format(first=heading)) == REPORT


def test_questions_under_other_headings_are_a_manual() -> None:
    assert kind(FORM.format(first="How is the second card chosen?")) == MANUAL


_TROUBLE_FORM = """### {first}

Deployment of the demo on a laptop.

### {second}

The page stays empty.

### Hardware

`daemon: cannot open the render node`
"""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Describe the bug", "Machine"),
        ("Issue description", "Machine"),
        ("Summary", "Actual behavior"),
        ("Summary", "Expected Results"),
        ("Summary", "Steps to reproduce"),
        ("Summary", "Step-by-step reproduction"),
        ("Summary", "What happened?"),
        ("Summary", "Relevant log output"),
        ("Summary", "Error / output"),
    ],
)
def test_a_form_that_asks_for_a_trouble_is_a_report(first: str, second: str) -> None:
    assert kind_of(lines_of(_TROUBLE_FORM.format(first=first, second=second))) == REPORT


def test_other_headings_are_those_of_a_manual() -> None:
    assert kind_of(lines_of(_TROUBLE_FORM.format(first="Overview", second="The render node"))) == MANUAL


def test_an_address_or_the_name_of_a_file_makes_no_manual() -> None:
    below = "\n- version 3.1\n- two cards\n- no container\n"
    assert kind_of(lines_of("The loader stopped, see https://example.org/install/requirements.html" + below)) == REPORT
    assert kind_of(lines_of("Output of setup-requirements.txt and install.sh here" + below)) == REPORT
    assert kind_of(lines_of("Output of the installation here" + below)) == MANUAL


@pytest.mark.parametrize("heading", ["Test plan", "Type of change", "Changelog", "Motivation and Context"])
def test_the_form_of_a_change_is_no_report(heading: str) -> None:
    text = f"# Loader: keep the first error\n\nThe message of the render node was lost.\n\n## {heading}\n\n- ran it by hand\n"
    assert kind_of(lines_of(text)) == NOTES
    assert kind_of(lines_of(text + "\n### Steps to reproduce\n\nstart it\n")) == REPORT


@pytest.mark.parametrize("line", ["Fixes #12.", "Closes: #7", "resolves #1203"])
def test_a_line_that_closes_a_report_makes_a_change(line: str) -> None:
    text = f"# launcher: a flag for the interface\n\n{line}\n\nThe flag was set too late. Now it is set first.\nI saw `NCCL WARN` before.\n"
    assert kind_of(lines_of(text)) == NOTES
    assert kind_of(lines_of(text.replace(line, f"It may be that this {line.lower()} and more, I am not sure"))) == REPORT


_CHANGE = """Guide: say what to do about old cards

The page lists a build that lacks them, and readers see one of

- `CUDA error: no kernel image is available for execution on the device`
- a warning that the card is not supported, which comes before the
error that ends the program.

{sentence} and a table.
"""


@pytest.mark.parametrize(
    "sentence",
    [
        "This PR adds a paragraph",
        "The patch also fixes the link",
        "This merge request updates the page",
        "This pull request tries to fix that page",
    ],
)
def test_a_change_that_speaks_of_itself_is_no_report(sentence: str) -> None:
    assert kind(_CHANGE.format(sentence=sentence)) == NOTES


@pytest.mark.parametrize("line", ["error: cannot open the device", "ERROR the device is lost", "fatal: no device"])
def test_a_change_with_a_log_is_read_line_by_line(line: str) -> None:
    assert kind(f"{_CHANGE.format(sentence='This PR adds a paragraph')}\n{line}\n") == REPORT
