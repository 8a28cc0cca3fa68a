"""The service of `diff`: compares two of reports, captures, this machine and its history."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from gpudoctor.diagnosis.changes import Knowledge, compare
from gpudoctor.facts import vocabulary
from gpudoctor.facts.report_facts import facts_of
from gpudoctor.model.change import Diff
from gpudoctor.model.check import Catalogue, Check
from gpudoctor.model.condition import AnyItem, Condition, Leaf
from gpudoctor.model.report import Report
from gpudoctor.reporters.report import json_report
from gpudoctor.rules.templates import fields_of
from gpudoctor.services import checking
from gpudoctor.system.check_history import History, Kept, target_of
from gpudoctor.system.host import CaptureError
from gpudoctor.system.memory_limit import limited_memory
from gpudoctor.system.report_file import LARGEST, decoded, read_report, report_in, typed_report
from gpudoctor.system.state_folder import switched_off

if TYPE_CHECKING:
    from gpudoctor.model.report_document import ReportDocument

IN_ARCHIVE = "report.json"
Progress = Callable[[str], None]


class Loaded(Struct, frozen=True):
    """A report as JSON, and the name that it is shown by."""

    document: ReportDocument
    name: str


class DiffRequest(Struct, frozen=True, kw_only=True):
    """The two sides of a comparison: each a report, an archive of `gpudoctor report`, a capture, or @N of the history.

    Without `after` it is this machine now; without both, this machine against the last run of the same environment without an error.
    """

    before: str | None = None
    after: str | None = None
    python: str | None = None
    """The interpreter or environment that is examined now."""
    budget: float | None = None
    """Seconds for the look at this machine; None is the limit of `check`."""
    checks: Sequence[str] = ()
    ignore: frozenset[str] = frozenset()


class Compared(Struct, frozen=True):
    """What changed, and the two reports."""

    diff: Diff
    before: Loaded
    after: Loaded


class HistoryRow(Struct, frozen=True):
    """A run in the history. `number` counts from 1, the newest."""

    number: int
    kept: Kept
    python: str
    errors: int
    warnings: int


def diff(request: DiffRequest, progress: Progress | None = None, looked: Callable[[Report], None] | None = None) -> Compared:
    """Loads or examines both sides and compares them. A report of earlier checks is judged again by the present ones, where it holds
    enough.

    `looked` gets the report of this machine as soon as it was examined, even where the comparison fails afterwards. Raises
    services.checking.BAD_INPUT.
    """
    check = checking.CheckRequest(python=request.python, budget=request.budget, checks=request.checks, ignore=request.ignore)
    with limited_memory():  # for files only: on this machine the limit would also hold for the frameworks that probes import
        before = _load(request.before, check, progress) if request.before is not None else None
        after = _load(request.after, check, progress) if request.after is not None else None
    if after is None:
        report = checking.check(check, progress)
        if looked is not None:
            looked(report)
        after = Loaded(_own(json_report.document(report)), "now")
        before = before or _last_healthy(report)
    if before is None:
        raise checking.RequestError("AFTER without BEFORE: there is nothing to compare with; give both")
    with limited_memory():
        catalogue = checking.catalogue(request.checks)
        ours, theirs = (_of_today(each.document, catalogue) for each in (before, after))
        return Compared(compare(ours, theirs, _knowledge(catalogue), (before.name, after.name)), before, after)


def _load(path: str, request: checking.CheckRequest, progress: Progress | None) -> Loaded:
    """A report (JSON), an archive that `gpudoctor report` made, a capture, or @N of the history."""
    if re.fullmatch(r"@\d{1,4}", path):
        return _from_history(int(path[1:]))
    if not os.path.exists(path):
        raise checking.RequestError(f"{path}: no such file; give a report (--format json), a report.zip, a capture, or @1 of --history")
    name = os.path.basename(os.path.normpath(path))
    if os.path.isfile(path):
        with open(path, "rb") as file:
            head = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        if head == b"{" and (report := read_report(path)) is not None:
            return Loaded(report, name)
        if zipfile.is_zipfile(path) and (inside := _in_archive(path)) is not None:
            return Loaded(inside, name)
    judged = checking.check(checking.CheckRequest(capture=path, checks=request.checks, ignore=request.ignore), progress)
    return Loaded(_own({**json_report.document(judged), "created": ""}), name)


def _last_healthy(report: Report) -> Loaded:
    """The last run of the same environment that found no error. Raises services.checking.RequestError where there is none."""
    found = History().last_healthy(target_of(_executable(report.facts)))
    if found is None:
        why = " (GPUDOCTOR_HISTORY=0 keeps none)" if switched_off() else ""
        raise checking.RequestError(
            f"the history holds no healthy run of this environment{why}; `gpudoctor check` keeps one whenever it finds no error; "
            "until then give a report or a capture: gpudoctor diff BEFORE"
        )
    return Loaded(typed_report(found[1], str(found[0].path)), f"healthy run of {found[0].created[:10]}")


def remember(report: Report, ignored: Mapping[str, str] | None = None) -> None:
    """Saves the report of a whole look at this machine for a later `diff`. Errors of the disk are ignored."""
    if report.origin != "live" or switched_off():
        return
    healthy = not report.summary.get("errors") and not report.incomplete
    document = json_report.document(report, ignored)
    History().keep(document, target=target_of(_executable(report.facts)), healthy=healthy)


def history() -> list[HistoryRow]:
    """The runs of the history, newest first; files that cannot be read are left out."""
    store = History()
    return [row for number, kept in enumerate(store.list(), 1) if (row := _row(store, number, kept)) is not None]


def history_folder() -> str:
    """The folder of the history."""
    return str(History().folder)


def _row(store: History, number: int, kept: Kept) -> HistoryRow | None:
    try:
        report = typed_report(store.read(kept), str(kept.path))
    except CaptureError:
        return None
    return HistoryRow(number, kept, _executable(report["facts"]), report["summary"]["errors"], report["summary"]["warnings"])


def _from_history(number: int) -> Loaded:
    store = History()
    kept = store.list()
    if not 1 <= number <= len(kept):
        held = f"holds @1 to @{len(kept)}" if kept else "is empty"
        raise checking.RequestError(f"@{number}: the history {held}; gpudoctor diff --history lists it")
    report = store.read(kept[number - 1])
    if report is None:
        raise checking.RequestError(f"@{number}: {kept[number - 1].path} cannot be read; delete it")
    return Loaded(typed_report(report, f"@{number}: {kept[number - 1].path}"), f"run of {kept[number - 1].created[:10]}")


def _executable(facts: Mapping[str, Any]) -> str:
    python = facts.get("python")
    return str(python.get("executable") or "") if isinstance(python, Mapping) else ""


def _own(document: Mapping[str, Any]) -> ReportDocument:
    """A report of this run, which needs no check of its types."""
    return cast("ReportDocument", document)


def _in_archive(path: str) -> ReportDocument | None:
    """The report of an archive that `gpudoctor report` made; None where it holds none and may be a capture."""
    from gpudoctor.system.damaged_archives import DAMAGE, reason

    try:
        with zipfile.ZipFile(path) as archive:
            if IN_ARCHIVE not in archive.namelist():
                return None
            with archive.open(IN_ARCHIVE) as file:  # limited while reading, since the size that an archive states may be false
                content = file.read(LARGEST + 1)
    except DAMAGE as error:
        raise checking.RequestError(f"{path}: the archive is damaged: {reason(error)}") from error
    where = f"{path}: {IN_ARCHIVE}"
    return report_in(decoded(content, where), where)


def _of_today(document: ReportDocument, catalogue: Catalogue) -> ReportDocument:
    """The report judged again by the present checks, where others had judged it; unchanged where it does not say which facts were
    unknown."""
    judged_by, unknown = document.get("catalogue"), document.get("unknown")
    if unknown is None or (judged_by is not None and judged_by["version"] == catalogue.version):
        return document
    request = checking.CheckRequest(ignore=frozenset(document.get("ignored", ())))
    try:
        gathered = facts_of(document["facts"], unknown)
        report = checking.diagnosed_report(checking.GatheredMachine(gathered, "capture"), catalogue, request)
    except (TypeError, ValueError, KeyError, AttributeError):  # facts of unexpected types, which no probe gives
        return document
    return _own({**json_report.document(report), "created": document["created"], "tool": document["tool"]})


def _knowledge(catalogue: Catalogue) -> Knowledge:
    probed = {spec.name for probe in vocabulary.all_probes() for spec in probe.provides}
    computed = {spec.name for derivation in vocabulary.all_derivations() for spec in derivation.provides}
    specs = vocabulary.specs()
    reads = {check.id: frozenset(reads_of(check)) for check in catalogue.checks}
    return Knowledge(specs=specs, derived=frozenset(computed - probed), reads=reads)


def reads_of(check: Check) -> Iterator[str]:
    """The facts that the conditions and the title of a check name. Fields of an item (`gpu.driver`) are included under that name."""
    for condition in (check.applies, check.problem, check.suspect):
        if condition is not None:
            yield from _named(condition)
    yield from fields_of(check.title)


def _named(condition: Condition) -> Iterator[str]:
    """The facts of a condition. Unlike rules.conditions.facts_of, the collection of `some` is not included, since a condition does not
    read all its fields."""
    if isinstance(condition, Leaf):
        yield condition.fact
        if condition.other:
            yield condition.other
        return
    for part in (condition.where,) if isinstance(condition, AnyItem) else condition.parts:
        yield from _named(part)
