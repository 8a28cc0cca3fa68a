"""The service of `explain`: turns a pasted text into facts and messages, and judges them by the same catalogue as a machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from gpudoctor.capture.capture_store import ENVIRONMENT, MAX_TEXT, MemoryStore
from gpudoctor.diagnosis.messages import concerned, hits_in
from gpudoctor.facts import vocabulary
from gpudoctor.facts.collect import gather
from gpudoctor.facts.text import large
from gpudoctor.facts.text.cleaning import unquoted
from gpudoctor.facts.text.reading import machine_of, settle, take
from gpudoctor.facts.text.roles import Roles
from gpudoctor.knowledge.compiled_catalogue import Entry
from gpudoctor.knowledge.loader import our_catalogue, read_folder
from gpudoctor.model.check import Catalogue
from gpudoctor.model.deadline import SECONDS, Deadline
from gpudoctor.model.facts import Facts
from gpudoctor.model.packed import BEGIN
from gpudoctor.model.report import Report
from gpudoctor.model.signature import Numbered
from gpudoctor.rules.signatures import SearchedText, anchor
from gpudoctor.services import checking
from gpudoctor.system.report_file import LARGEST, InvalidReport, report_in

if TYPE_CHECKING:
    from gpudoctor.model.report_document import ReportDocument
    from gpudoctor.system.host import Host

MARK = BEGIN.encode()
FOOT = "Made by gpudoctor"
"""The beginning of the last line of a report in Markdown."""
_Texts = list[Sequence[Sequence[str]]]
TELLING = 10
"""The number of letters from which a plain word is rare enough to search for in a log of any size ("error" and "fails" are not)."""


class ExplainRequest(Struct, frozen=True, kw_only=True):
    """A text of any size, and the checks to add and to leave out, as for `check`."""

    text: Iterable[bytes]
    """The text in chunks, each of which is read once."""
    place: Callable[[int], str] | None = None
    """Names the file of a line, by its number, in a text that was several files."""
    checks: Sequence[str] = ()
    ignore: frozenset[str] = field(default_factory=frozenset)
    stack: str | None = None
    name: str = "the text"
    """What errors call the text: its file."""
    why: bool = False
    """The outcome of every check is wanted, not only of those that can have a finding."""


class Explanation(Struct, frozen=True, kw_only=True):
    """The report, and what was recognised in the text."""

    report: Report
    recognised: tuple[str, ...]
    members: tuple[str, ...] = ()
    """The files of an archive that the text was put together from."""


def explain(request: ExplainRequest, progress: Callable[[int], None] | None = None) -> Explanation:
    """Explains one text. `progress` gets the number of bytes that were read of a long one.

    Raises services.checking.BAD_INPUT for a catalogue that cannot be used, and for a report with values of other types.
    """
    began = time.monotonic()
    check_request = checking.CheckRequest(stack=request.stack, checks=request.checks, ignore=request.ignore)
    wanted = partial(every_anchor, request.checks)
    start, chunks = _beginning(request.text)
    own_report = _own_report(start, request.name)
    machine = _environment(start) if own_report is None else None
    if own_report is not None or machine is not None:
        if own_report is not None:
            around = [] if start.lstrip()[:1] == b"{" else _around_the_report(unquoted(large.read(chunks, wanted, progress)), own_report)
            looked = checking.gather_report(own_report)
        else:
            assert machine is not None
            host, prose = machine
            around, looked = unquoted(large.read([prose.encode()], wanted, progress)), checking.gather_machine(host, "capture", live=False)
        deadline = Deadline()
        text = SearchedText(around, Roles(around), deadline)
        knowledge = _knowledge(request, check_request, _spoken_of(request, text), looked.gathered.facts)
        knowledge, tool_hits = checking.match_tool_messages(looked.gathered.facts, knowledge, deadline)
        all_hits = {**tool_hits, **hits_in(text, knowledge.checks)}
        report = checking.report_from_facts(looked.gathered, knowledge, check_request, "text", hits=all_hits)
        late = (*report.incomplete, *_unread(deadline))
        report = replace(report, seconds=time.monotonic() - began, measurements=looked.measurements, incomplete=late)
        source = "a report of gpudoctor" if own_report is not None else "the text of gpudoctor-env.py"
        return Explanation(report=report, recognised=(source,))
    lines = unquoted(large.read(chunks, wanted, progress))
    if request.place is not None:
        lines = [replace(line, source=request.place(line.number)) for line in lines]
    deadline = Deadline()
    text = SearchedText(lines, Roles(lines), deadline)
    spoken = _spoken_of(request, text)  # before the deadline begins, which is for the steps that a hostile text can slow down
    evidence, sheet = take(lines, deadline)
    host = machine_of(evidence)

    def settled(facts: Facts) -> None:
        settle(evidence, sheet, facts)

    gathered = gather(host, settle=settled, deadline=deadline)
    knowledge = _knowledge(request, check_request, spoken, gathered.facts)
    hits = hits_in(text, concerned(knowledge.checks, knowledge.stacks, gathered.facts), knowledge.stacks, gathered.facts)
    report = checking.report_from_facts(gathered, knowledge, check_request, "text", hits=hits)
    return Explanation(
        report=replace(report, seconds=time.monotonic() - began, not_looked_at=(), incomplete=_unread(deadline)),
        recognised=tuple(evidence.recognised),
    )  # fmt: skip


def _unread(deadline: Deadline) -> tuple[str, ...]:
    """The line for a text that took too long; empty for others."""
    if not deadline.passed:
        return ()
    return (f"this text takes too long to read; the rest was left out after {SECONDS:.0f} s of CPU time. Give the part around the error",)


def _around_the_report(lines: Sequence[Numbered], document: ReportDocument) -> list[Numbered]:
    """The lines that a person wrote before and after a report of ours, which itself is judged by its facts."""
    titles = {_plain(finding["title"]) for finding in document["findings"]}
    first = next((place for place, line in enumerate(lines) if line.text.startswith("**") and _plain(line.text) in titles), None)
    if first is None:
        return list(lines)
    last = next((place for place, line in enumerate(lines) if place >= first and line.text.startswith(FOOT)), len(lines) - 1)
    return [*lines[:first], *lines[last + 1 :]]


def _plain(words: str) -> str:
    """The letters and digits of a text, by which it is compared with and without Markdown's marks."""
    return "".join(letter for letter in words if letter.isalnum())


def _beginning(chunks: Iterable[bytes]) -> tuple[bytes, Iterable[bytes]]:
    """The first bytes (all of a text that may be a report), and the chunks of the whole text, those bytes included."""
    source, start = iter(chunks), b""
    for chunk in source:
        start += chunk
        if not _may_be_a_report(start) and not _may_be_an_environment(start):
            break
    return start, chain((start,), source)


def _may_be_a_report(start: bytes) -> bool:
    return len(start) <= LARGEST and (b'"gpudoctor.report/' in start[:4096] or MARK in start)


def _may_be_an_environment(start: bytes) -> bool:
    return len(start) < MAX_TEXT and (b"PyTorch version:" in start or ENVIRONMENT.encode() in start)


def _own_report(start: bytes, name: str) -> ReportDocument | None:
    """A report of ours, as JSON or packed in Markdown: it is judged by its facts instead of by its words.

    One that is cut off or damaged is read as any text. Raises InvalidReport for a whole JSON document with values of other types.
    """
    if not _may_be_a_report(start):
        return None
    try:
        return report_in(start.decode("utf-8-sig", "replace"), name)
    except InvalidReport:
        if start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{":
            raise
        return None
    except checking.BAD_INPUT:
        return None


def _environment(start: bytes) -> tuple[Host, str] | None:
    """The machine in a text of gpudoctor-env.py, and what else the text says; None for other texts."""
    if ENVIRONMENT.encode() not in start[:MAX_TEXT]:
        return None
    from gpudoctor.capture.environment_text import around, entries_of_text, holds_environment  # late: most texts hold none
    from gpudoctor.capture.recorded_host import RecordedHost

    text = start[:MAX_TEXT].decode("utf-8-sig", "replace")
    if not holds_environment(text):
        return None
    return RecordedHost(MemoryStore("the text", dict(entries_of_text(text)), {})), around(text)


def every_anchor(extra: Sequence[str] = ()) -> list[str]:
    """The literals that a long text is searched for: one of each signature, without words that any log is full of."""
    from pathlib import Path  # imported late: for a long text only

    items = vocabulary.items()
    texts: _Texts = [text for entry in our_catalogue(items).entries() for text in entry["head"].get("signature", ())]
    further = [check for folder in extra for check in read_folder(Path(folder), items)[0]]
    literals = [literal for text in chain(texts, (each.text for check in further for each in check.signatures)) for literal in anchor(text)]
    return [literal for literal in literals if len(literal) >= TELLING or not literal.strip().isalpha()]


def _spoken_of(request: ExplainRequest, text: SearchedText) -> list[Entry] | None:
    """The checks of ours whose messages the text may hold; None where every check is wanted."""
    return None if request.why or request.ignore else checking.speaking_by_messages(text)


def _knowledge(request: ExplainRequest, check_request: checking.CheckRequest, spoken: list[Entry] | None, facts: Facts) -> Catalogue:
    """The checks that can have a finding: those whose messages the text may hold, and those whose facts are known."""
    wanted = None if spoken is None else _once((*spoken, *checking.speaking_by_facts(facts)))
    knowledge = checking.catalogue(request.checks, wanted)
    checking.refuse_unknown_names(check_request, knowledge)
    return knowledge


def _once(entries: Iterable[Entry]) -> list[Entry]:
    """Each check once, in the order of the catalogue, which is that of the files."""
    return sorted({entry["file"]: entry for entry in entries}.values(), key=lambda entry: entry["file"].split("/"))
