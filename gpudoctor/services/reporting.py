"""The service of `report`: examines the machine, redacts the recording, judges it again, and writes one file to attach."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from gpudoctor.capture.archive import zipped
from gpudoctor.capture.capture_store import MemoryStore, open_store
from gpudoctor.capture.recorded_host import RecordedHost
from gpudoctor.capture.redacted_capture import entries_of, redact_entries
from gpudoctor.facts.measurement_store import last_measurements
from gpudoctor.model.check import Catalogue
from gpudoctor.model.report import Report
from gpudoctor.privacy.pseudonyms import FILE, Pseudonyms
from gpudoctor.privacy.redacted_report import redact_report
from gpudoctor.privacy.redactor import Redactor
from gpudoctor.reporters.report import json_report
from gpudoctor.services import capturing, checking
from gpudoctor.system.report_file import read_report
from gpudoctor.system.state_folder import state_folder

if TYPE_CHECKING:
    from gpudoctor.model.report_document import ReportDocument
    from gpudoctor.model.tracker_profile import FormAnswer, TrackerProfile

FORMATS = ("markdown", "html", "json", "zip")
Progress = Callable[[str], None]


class ReportRequest(Struct, frozen=True, kw_only=True):
    """The options of `report`. `raw`: nothing is redacted."""

    check: checking.CheckRequest
    raw: bool = False
    ignored: Mapping[str, str] = field(default_factory=dict)
    """Checks to leave out, with the reasons."""


class Made(Struct, frozen=True, kw_only=True):
    """Everything that the formats of a report are made from, redacted unless --raw was given."""

    report: Report
    capture: Mapping[str, bytes]
    """The recording, file by file; empty for the report of a report."""
    ignored: Mapping[str, str]
    replaced: tuple[tuple[str, str, str], ...] = ()
    """(kind, pseudonym, original): for the owner of this machine only, never for a report."""
    note: str = ""
    """A remark for the person who made the report; it is not part of the report."""


def make(request: ReportRequest, progress: Progress | None = None) -> Made:
    """Makes the report. Raises services.checking.BAD_INPUT."""
    check = request.check
    knowledge = checking.catalogue(check.checks)
    checking.refuse_unknown_names(check, knowledge)
    document = read_report(check.capture) if check.capture else None
    if document is not None:
        return _of_document(document, request, knowledge)
    if check.capture:
        store = open_store(check.capture)
        looked = checking.gather_machine(checking.open_for(check), "capture", live=False)
        entries = entries_of(store)
        keep = capturing.variables_of(entries)
    else:
        recorded = capturing.record(check.python, check.budget or 60.0, check.quick, progress)
        gathered = recorded.gathered
        runs = last_measurements(gathered.facts)
        looked = checking.GatheredMachine(gathered, "live", checking.recall_measurements(gathered, runs))
        entries, keep = capturing.with_measurements(recorded.entries, [run for run in runs if not run.stale]), recorded.variables
    whole = checking.diagnosed_report(looked, knowledge, check)
    if request.raw:
        return Made(report=whole, capture=entries, ignored=request.ignored)
    facts = looked.gathered.facts
    hide = capturing.redactor_of(entries, facts, knowledge) if check.capture else capturing.redactor_here(facts, knowledge)
    redacted = redact_entries(entries, hide, keep)
    counts = dict(hide.counts)
    report, note = _judged_again(redacted, whole, request, knowledge, hide)
    if counts.get("unread"):
        note += f" {counts['unread']} lines of the recording took too long to search for names and were replaced by <not read>."
    if not check.capture:
        trouble = capturing.keep_pseudonyms(hide)
        note = " ".join(
            part for part in (note, f"Which pseudonym stands for what could not be kept: {trouble}." if trouble else "") if part
        )
    return Made(
        report=replace(report, redactions=counts),
        capture=redacted,
        ignored=request.ignored,
        replaced=tuple(hide.pseudonyms.table()),
        note=note,
    )


def _judged_again(
    entries: Mapping[str, bytes], whole: Report, request: ReportRequest, knowledge: Catalogue, hide: Redactor
) -> tuple[Report, str]:
    """The report of the redacted recording, which is what a maintainer sees who replays it.

    Where it has other findings than the machine itself, the report of the machine is redacted text by text instead, and the note says so.
    """
    host = RecordedHost(MemoryStore("the redacted recording", dict(entries), {}), budget=30.0)
    again = checking.diagnosed_report(checking.gather_machine(host, whole.origin, live=False), knowledge, request.check)
    if _said(again) == _said(whole):
        return redact_report(again, hide), ""
    differing = ", ".join(sorted(_said(again) ^ _said(whole)))
    return redact_report(
        whole, hide
    ), f"The redacted recording replays to other findings ({differing}); the report itself has those of the machine."


def _said(report: Report) -> set[str]:
    return {finding.id for finding in report.findings} | {f"{stack.stack} {stack.verdict}" for stack in report.stacks}


def _of_document(document: ReportDocument, request: ReportRequest, knowledge: Catalogue) -> Made:
    """The report of an earlier report (JSON), judged by the present checks."""
    looked = checking.gather_report(document)
    report = checking.diagnosed_report(looked, knowledge, request.check)
    if request.raw:
        return Made(report=report, capture={}, ignored=request.ignored)
    hide = capturing.redactor_of({}, looked.gathered.facts, knowledge)
    report = redact_report(report, hide)
    return Made(
        report=replace(report, redactions=dict(hide.counts)), capture={}, ignored=request.ignored, replaced=tuple(hide.pseudonyms.table())
    )


# one file


def render(made: Made, form: str, beside: str = "", width: int = 100, replayable: bool = True) -> str:
    """The report as text. `form`: text, markdown, html or json. `beside`: a sentence that says where the recording is; `width`: columns
    of the form text. `replayable`: Markdown holds the facts in a packed block as well."""
    if form == "json":
        return json_report.render(made.report, made.ignored)
    if form == "text":
        from gpudoctor.reporters.report.text_report import text

        return text(made.report, made.ignored, width, environment=lambda limit: environment_text(made.capture, limit))
    if form == "html":
        from gpudoctor.reporters.report.html_report import html

        return html(made.report, beside=beside, ignored=made.ignored)
    from gpudoctor.reporters.report.markdown_report import markdown

    return markdown(made.report, ignored=made.ignored, beside=beside, packed=replayable)


def environment_text(entries: Mapping[str, bytes], limit: int) -> str:
    """The recorded machine as gpudoctor-env.py writes it, at most `limit` bytes; empty without a recording."""
    if not entries:
        return ""
    from gpudoctor.capture.recorded_environment import text_of_recording

    return text_of_recording(MemoryStore("the redacted recording", dict(entries), {}), limit)


def archive(made: Made, name: str) -> bytes:
    """The content of a .zip: the report in three formats, and the recording in a folder, from which `check --capture NAME` replays it."""
    beside = f"The recorded machine is in this archive: gpudoctor check --capture {name}"
    files = {
        f"report.{suffix}": render(made, form, beside).encode() for form, suffix in (("markdown", "md"), ("json", "json"), ("html", "html"))
    }
    return zipped({**files, **{f"capture/{path}": content for path, content in made.capture.items()}})


class FilledForm(Struct, frozen=True, kw_only=True):
    """The form of a project, filled in from a report."""

    file: str
    """The name of the form or template; empty where the project has none."""
    title: str
    answers: tuple[FormAnswer, ...]
    markdown: str


def filled_form(made: Made, project: str, own: str | None = None) -> tuple[FilledForm | None, str]:
    """The form for bugs of `project` (owner/name), filled in from the redacted report by its profile: `own`, the text that the project
    keeps for itself, else ours. None where there is neither, or where none of its forms is for this system. The text is for the reporter:
    what is special about the project, or why its own profile is not used."""
    from gpudoctor.knowledge.structure import DataError
    from gpudoctor.knowledge.tracker_profiles import OWN_FILE, parse, profile_of
    from gpudoctor.reporters.report.collect_env import at
    from gpudoctor.reporters.report.form_answers import answered, as_markdown
    from gpudoctor.reporters.report.machine_answers import is_answer

    trouble, profile = "", None
    if own is not None:
        try:
            profile = parse(own, f"{OWN_FILE} of {project}", is_answer)
        except DataError as error:
            trouble = f"{error}; it is not used."
    profile = profile or profile_of(project)
    note = " ".join(part for part in (trouble, profile.note if profile else "") if part)
    kind = at(made.report.facts, "platform.kind")
    form = profile.form_for(kind if kind in ("windows", "macos") else "linux") if profile else None
    if form is None:
        return None, note
    answers = answered(made.report, form)
    return FilledForm(file=form.file, title=form.title, answers=answers, markdown=as_markdown(answers)), note


def known_projects() -> tuple[TrackerProfile, ...]:
    """The projects whose profiles come with gpudoctor, by name."""
    from gpudoctor.knowledge.tracker_profiles import ours

    return tuple(sorted(ours(), key=lambda each: each.project.lower()))


def has_profile(project: str) -> bool:
    """Whether a profile of this project comes with gpudoctor."""
    from gpudoctor.knowledge.tracker_profiles import profile_of

    return profile_of(project) is not None


def kept_pseudonyms() -> tuple[tuple[str, str, str], ...]:
    """(kind, pseudonym, original) of all earlier reports and captures of this machine."""
    pseudonyms = Pseudonyms()
    pseudonyms.load(state_folder() / FILE)
    return tuple(pseudonyms.table())
