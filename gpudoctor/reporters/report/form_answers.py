"""An issue form, filled in from a report; questions without an answer are left to the person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpudoctor.model.report import Report
from gpudoctor.model.tracker_profile import FormAnswer, IssueForm, Question
from gpudoctor.reporters.report.machine_answers import machine_answer
from gpudoctor.reporters.shared.escape import visible

MARKDOWN = "summary"
"""The one answer that is Markdown itself."""


def answered(report: Report, form: IssueForm) -> tuple[FormAnswer, ...]:
    """Each question of the form with what the report answers, in the order of the form."""
    return tuple(_answered(report, question) for question in form.question)


def as_markdown(answers: Sequence[FormAnswer]) -> str:
    """The form as GitHub shows a filled one: a heading for each field, and the answer below it."""
    return "\n".join(f"### {visible(each.question.label)}\n\n{_shown(each)}\n" for each in answers)


def _answered(report: Report, question: Question) -> FormAnswer:
    found = machine_answer(report, question.answer)
    if question.options:
        words = [found] if isinstance(found, str) else list(found)
        return FormAnswer(question=question, value=", ".join(_chosen(question.options, [word for word in words if word])))
    text = found if isinstance(found, str) else ", ".join(found)
    return FormAnswer(question=question, value=visible(text, multiline=True), code="\n" in text and question.answer != MARKDOWN)


def _chosen(options: Mapping[str, str], words: Sequence[str]) -> Iterator[str]:
    """The options that the words select; the one of `*` where there are words and none of them selects one."""
    fitting = [option for option, word in options.items() if word in words]
    yield from fitting or [option for option, word in options.items() if word == "*" and words]


def _shown(answer: FormAnswer) -> str:
    command = f"\n\nOutput of `{visible(answer.command)}`:" if answer.command else ""
    return (answer.markdown or "_No response_") + command
