"""Words of a stranger's text in what we print: no command of a CI runner, no link, no mention, no reference."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace
from reports import KERNEL, report

from gpudoctor.reporters.report import explanation_text, github_report
from gpudoctor.reporters.shared import markdown_text
from gpudoctor.reporters.shared.layout import Span, Terminal, hanging

COMMANDS = (
    "::error file=a.py::pwned", "::set-output name=x::y", "::add-mask::x", "##[error]pwned", "##[group]x", "::stop-commands::t",
    "  ::debug::x",
)  # fmt: skip
FULL = report(findings=(KERNEL,))
COMMIT = "da39a3ee5e6b4b0d3255bfef95601890afd80709"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_no_line_is_a_command_of_the_runner(command: str, width: int) -> None:
    """The runner takes white space away first, and the words may be wrapped anywhere."""
    words = f"before {'x' * (width - 20)} {command} {'y' * 30} {command}"
    finding = replace(KERNEL, title=words, explanation=words, evidence=(words, command), subjects=(command, words))
    found = replace(FULL, findings=(finding,), headline={**FULL.headline, "machine": command})
    for verbose in (False, True):
        text = explanation_text.render(found, (command,), Terminal(width=width), verbose=verbose)
        for line in text.splitlines():
            assert not line.lstrip().startswith("::") and "##[" not in line, line


def test_evidence_never_begins_a_line() -> None:
    """Each line of it stands behind a word or a mark of ours."""
    seen = " ".join(f"hostile{number}" for number in range(60))
    text = explanation_text.render(replace(FULL, findings=(replace(KERNEL, evidence=(seen,)),)), (), Terminal(width=60), verbose=True)
    lines = [line.strip() for line in text.splitlines() if "hostile" in line]
    assert len(lines) > 3 and all(line.startswith(("seen   ", "| ")) for line in lines)
    assert hanging((Span("seen   "),), "a " * 60, 40, quoted=True)[1][0].text.endswith("| ")


def test_bare_links_numbers_mentions_and_commits_are_broken() -> None:
    hostile = f"see https://evil.example/x www.evil.example #123 GH-12 @team owner/repo#7 {COMMIT} a@b.example"
    for text in (
        markdown_text.text(hostile),
        github_report.summary(replace(FULL, findings=(replace(KERNEL, title=hostile, explanation=hostile),))).replace(
            "https://github.com/intel/", ""
        ),
    ):
        outside = re.sub(r"`[^`]*`", "", text)
        assert not re.search(r"https?://evil|www\.|#\d|GH-\d|@\w", outside)
        assert COMMIT not in outside
