"""The fields of a tracker's issue form, and which of them a report can answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

SCHEMA = "gpudoctor.tracker/1"


class Question(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One field of a form, or one line of a Markdown template."""

    label: str
    """The words that stand above the field."""
    id: str = ""
    """The name of the field in an address; empty where the form gives it none."""
    answer: str = ""
    """The name of an answer (reporters/report/machine_answers.py); empty where only the person can answer."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Of a choice: each option that a machine can justify, with the word of the answer that selects it. `*` selects its option where the
    answer has words and none of them selects another."""
    run: str = ""
    """A command whose output belongs into the field where the report has no answer: it needs root or a tool of the vendor."""
    run_always: bool = False
    """The output of `run` is wanted beside the answer as well."""
    required: bool = False


class IssueForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One form (YAML) or template (Markdown) for reports of bugs."""

    file: str = ""
    """Its name in .github/ISSUE_TEMPLATE; empty where the project has none."""
    title: str = ""
    """The prefix that the form puts before the title of an issue."""
    systems: Sequence[str] = ()
    """The systems that it is for (linux, windows, macos); empty: all."""
    as_of: str = ""
    """The date of the copy of the form that was read: YYYY-MM-DD."""
    question: Sequence[Question] = ()


class TrackerProfile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A project, and its forms for reports of bugs. A project may keep its own as .github/gpudoctor.toml."""

    schema: str
    project: str
    """owner/name on GitHub."""
    form: Sequence[IssueForm]
    read: str = ""
    """When its forms were read: YYYY-MM-DD."""
    aliases: Sequence[str] = ()
    """Earlier names of the project, under which it is still found."""
    note: str = ""
    """One sentence for the reporter."""

    def form_for(self, system: str) -> IssueForm | None:
        """The first form that is for this system (linux, windows, macos); None where none is."""
        return next((form for form in self.form if not form.systems or system in form.systems), None)


class FormAnswer(Struct, frozen=True, kw_only=True):
    """A field of a form with the machine's answer."""

    question: Question
    value: str
    """Empty where the machine does not know, or where only the person can answer."""
    code: bool = False
    """Plain text of several lines, which Markdown would join."""

    @property
    def command(self) -> str:
        """The command whose output the field still needs; '' where it needs none."""
        return self.question.run if self.question.run_always or not self.value else ""

    @property
    def markdown(self) -> str:
        """The value for a field that is rendered as Markdown."""
        return code_block(self.value) if self.code else self.value


def code_block(text: str) -> str:
    """The text as a block of code of Markdown, whatever it contains."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence}text\n{text.rstrip()}\n{fence}"
