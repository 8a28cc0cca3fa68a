"""Variables of an advice in the form of the system's shell, the same in every format."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gpudoctor.model.check import Advice
from gpudoctor.model.report import Finding
from gpudoctor.reporters.report import finding_text, github_report, html_report, markdown_report, notebook_html, text_report
from gpudoctor.reporters.shared import phrases
from gpudoctor.reporters.shared.advice_lines import assignments, command_lines, sentence
from tests.unit.reporters.reports import KERNEL, report

FORMATS = (markdown_report.markdown, html_report.html, notebook_html.render, text_report.text, github_report.summary)


@pytest.mark.parametrize(
    ("value", "sh", "cmd"),
    [
        ("1", "export X=1", "set X=1"),
        ("level_zero:gpu", "export X=level_zero:gpu", "set X=level_zero:gpu"),
        (r"C:\Program Files\x", r"export X='C:\Program Files\x'", r'set "X=C:\Program Files\x"'),
        ("a&b", "export X='a&b'", 'set "X=a&b"'),
        ("", "export X=''", "set X="),
    ],
)
def test_each_shell_gets_its_own_form(value: str, sh: str, cmd: str) -> None:
    assert assignments({"X": value}) == [sh]
    assert assignments({"X": value}, windows=True) == [cmd]


def test_a_variable_that_a_command_sets_is_not_said_twice() -> None:
    assert command_lines(Advice(text="", commands=("export X=1", "run"), env={"X": "1", "Y": "2"})) == ["export X=1", "run", "export Y=2"]


def test_a_reboot_is_said_once() -> None:
    assert sentence(Advice(text="Install it.", needs_reboot=True)) == "Install it. Then reboot."
    assert sentence(Advice(text="Reboot the machine.", needs_reboot=True)) == "Reboot the machine."


@pytest.mark.parametrize(("windows", "wanted", "not_wanted"), [(True, "set FLAG=1", "export FLAG"), (False, "export FLAG=1", "set FLAG")])
def test_every_format_sets_the_variable_in_the_shell_of_the_machine(windows: bool, wanted: str, not_wanted: str) -> None:
    finding: Finding = replace(KERNEL, advice=Advice(text="Set FLAG.", env={"FLAG": "1"}, windows=windows))
    shown = report(findings=(finding,))
    written = [render(shown) for render in FORMATS]
    written += ["\n".join(finding_text.lines(finding)), "\n".join(phrases.next_step(shown)[1])]
    for text in written:
        assert wanted in text and not_wanted not in text
