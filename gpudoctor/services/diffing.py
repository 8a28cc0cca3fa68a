"""The use case of `diff`: reports, captures, this machine now and its history, two of them side by side."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpudoctor.diagnosis.changes import Knowledge, compare
from gpudoctor.facts import vocabulary
from gpudoctor.facts.report_facts import told
from gpudoctor.model.change import Diff
from gpudoctor.model.check import Catalogue, Check
from gpudoctor.model.condition import AnyItem, Condition, Leaf
from gpudoctor.model.report import SCHEMA, Report
from gpudoctor.reporters.report import json_report
from gpudoctor.rules.templates import fields_of
from gpudoctor.services import checking
from gpudoctor.system import json_text
from gpudoctor.system.check_history import History, Kept, switched_off, target_of

LARGEST = 16_000_000
DEEPEST = 60
IN_ARCHIVE = "report.json"
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A report as JSON has it, and what to call it."""

    document: Mapping[str, Any]
    name: str


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """A line of the history. `number` counts from 1, the newest."""

    number: int
    kept: Kept
    python: str
    errors: int
    warnings: int


def diff(before: Loaded, after: Loaded, extra: tuple[str, ...] = ()) -> Diff:
    """What an earlier gpudoctor said is judged again by what is known today, where its report says enough. Raises checking.BAD_INPUT."""
    catalogue = checking.catalogue(extra)
    ours, theirs = (_of_today(each.document, catalogue) for each in (before, after))
    return compare(ours, theirs, _knowledge(catalogue), (before.name, after.name))


def load(path: str, request: checking.CheckRequest, progress: Progress | None = None) -> Loaded:
    """A report (JSON), an archive that `gpudoctor report` made, a capture, or @N of the history. Raises services.checking.BAD_INPUT."""
    if re.fullmatch(r"@\d{1,4}", path):
        return _from_history(int(path[1:]))
    if not os.path.exists(path):
        raise checking.RequestError(f"{path}: no such file; give a report (--format json), a report.zip, a capture, or @1 of --history")
    name = os.path.basename(os.path.normpath(path))
    if os.path.isfile(path):
        with open(path, "rb") as file:
            head = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        if head == b"{":
            return Loaded(_report_from(_read(path), path), name)
        if zipfile.is_zipfile(path) and (inside := _in_archive(path)) is not None:
            return Loaded(inside, name)
    judged = checking.check(checking.CheckRequest(capture=path, checks=request.checks, ignore=request.ignore), progress)
    return Loaded({**json_report.document(judged), "created": ""}, name)


def now(request: checking.CheckRequest, progress: Progress | None = None) -> tuple[Loaded, Report]:
    """Gathers the facts of this machine as it is at this moment."""
    report = checking.check(request, progress)
    return Loaded(json_report.document(report), "now"), report


def last_healthy(report: Report) -> Loaded:
    """The last run of the same environment that found no error. Raises services.checking.RequestError where there is none."""
    found = History().last_healthy(target_of(_executable(report.facts)))
    if found is None:
        why = " (GPUDOCTOR_HISTORY=0 keeps none)" if switched_off() else ""
        raise checking.RequestError(
            f"the history holds no healthy run of this environment{why}; `gpudoctor check` keeps one whenever it finds no error; "
            "until then give a report or a capture: gpudoctor diff BEFORE"
        )
    return Loaded(found[1], f"healthy run of {found[0].created[:10]}")


def remember(report: Report, ignored: Mapping[str, str] | None = None) -> None:
    """Keeps a whole look at this machine for a later `diff`; silent, whatever the disk says."""
    if report.origin != "live" or switched_off():
        return
    healthy = not report.summary.get("errors") and not report.incomplete
    document = json_report.document(report, ignored)
    History().keep(document, target=target_of(_executable(report.facts)), healthy=healthy)


def history() -> list[HistoryRow]:
    """Newest first; files that cannot be read are left out."""
    store = History()
    return [row for number, kept in enumerate(store.list(), 1) if (row := _row(store, number, kept)) is not None]


def history_folder() -> str:
    return str(History().folder)


def _row(store: History, number: int, kept: Kept) -> HistoryRow | None:
    report = store.read(kept)
    if report is None:
        return None
    summary = report.get("summary")
    counts = [summary.get(key) if isinstance(summary, Mapping) else None for key in ("errors", "warnings")]
    errors, warnings = (count if isinstance(count, int) else 0 for count in counts)
    facts = report.get("facts")
    return HistoryRow(number, kept, _executable(facts if isinstance(facts, Mapping) else {}), errors, warnings)


def _from_history(number: int) -> Loaded:
    store = History()
    kept = store.list()
    if not 1 <= number <= len(kept):
        held = f"holds @1 to @{len(kept)}" if kept else "is empty"
        raise checking.RequestError(f"@{number}: the history {held}; gpudoctor diff --history lists it")
    report = store.read(kept[number - 1])
    if report is None:
        raise checking.RequestError(f"@{number}: {kept[number - 1].path} cannot be read; delete it")
    return Loaded(report, f"run of {kept[number - 1].created[:10]}")


def _executable(facts: Mapping[str, Any]) -> str:
    python = facts.get("python")
    return str(python.get("executable") or "") if isinstance(python, Mapping) else ""


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise checking.RequestError(f"{path}: {error.strerror or error}") from error
    if len(content) > LARGEST:
        raise checking.RequestError(f"{path}: larger than {LARGEST // 1_000_000} MB, which no report is")
    return content


def _in_archive(path: str) -> dict[str, Any] | None:
    """The report of an archive that `gpudoctor report` made; None where it holds none and may be a capture."""
    from gpudoctor.system.damaged_archives import DAMAGE, reason

    try:
        with zipfile.ZipFile(path) as archive:
            if IN_ARCHIVE not in archive.namelist():
                return None
            with archive.open(IN_ARCHIVE) as file:  # counted while it is read: the size that an archive states may be a lie
                content = file.read(LARGEST + 1)
    except DAMAGE as error:
        raise checking.RequestError(f"{path}: the archive is damaged: {reason(error)}") from error
    if len(content) > LARGEST:
        raise checking.RequestError(f"{path}: {IN_ARCHIVE} is larger than {LARGEST // 1_000_000} MB, which no report is")
    return _report_from(content, f"{path}: {IN_ARCHIVE}")


def _depth(value: Any) -> int:
    """How deep tables and lists are nested, without recursion; at most DEEPEST + 1 is counted."""
    depth, waiting = 0, [value]
    while waiting and depth <= DEEPEST:
        waiting = [
            inner for each in waiting if isinstance(each, (dict, list)) for inner in (each.values() if isinstance(each, dict) else each)
        ]
        depth += 1
    return depth


def _report_from(content: bytes, where: str) -> dict[str, Any]:
    try:
        found = json_text.loads(content.decode("utf-8-sig", "replace"))
    except ValueError as error:
        raise checking.RequestError(f"{where}: no JSON ({str(error)[:100]}); give a report that gpudoctor wrote, or a capture") from error
    schema = found.get("schema") if isinstance(found, dict) else None
    if schema != SCHEMA:
        said = f"it says '{str(schema)[:60]}'" if schema else "it names no schema"
        raise checking.RequestError(f"{where}: no report: expected schema {SCHEMA}, {said}; write one with gpudoctor check --format json")
    assert isinstance(found, dict)
    if _depth(found) > DEEPEST:
        raise checking.RequestError(f"{where}: nested too deep to be a report of gpudoctor")
    if not isinstance(found.get("facts"), dict) or not isinstance(found.get("findings"), list):
        raise checking.RequestError(f"{where}: a report without facts or findings; write one with gpudoctor check --format json")
    return found


def _of_today(document: Mapping[str, Any], catalogue: Catalogue) -> Mapping[str, Any]:
    """A report that other checks judged, judged by these; as it is where it does not say what was not known, or makes no sense."""
    made = document.get("catalogue")
    judged_by = made.get("version") if isinstance(made, Mapping) else None
    if judged_by == catalogue.version or not isinstance(document.get("unknown"), Mapping):
        return document
    ignored = document.get("ignored")
    left_out = frozenset(map(str, ignored)) if isinstance(ignored, Mapping) else frozenset()
    try:
        gathered = told(document["facts"], document["unknown"])
        report = checking.diagnosed_report(checking.GatheredMachine(gathered, "capture"), catalogue, checking.CheckRequest(ignore=left_out))
    except (TypeError, ValueError, KeyError, AttributeError):
        return document
    return {**json_report.document(report), "created": document.get("created"), "tool": document.get("tool")}


def _knowledge(catalogue: Catalogue) -> Knowledge:
    probed = {spec.name for probe in vocabulary.all_probes() for spec in probe.provides}
    computed = {spec.name for derivation in vocabulary.all_derivations() for spec in derivation.provides}
    specs = vocabulary.specs()
    reads = {check.id: frozenset(_reads(check)) for check in catalogue.checks}
    return Knowledge(specs=specs, derived=frozenset(computed - probed), reads=reads)


def _reads(check: Check) -> Iterator[str]:
    """What its conditions and its title name: facts, and fields of an item (`gpu.driver`), which are matched by that name too."""
    for condition in (check.applies, check.problem, check.suspect):
        if condition is not None:
            yield from _named(condition)
    yield from fields_of(check.title)


def _named(condition: Condition) -> Iterator[str]:
    """rules.conditions.facts_of without the table that `some` goes through: not every field of it is read."""
    if isinstance(condition, Leaf):
        yield condition.fact
        if condition.other:
            yield condition.other
        return
    for part in (condition.where,) if isinstance(condition, AnyItem) else condition.parts:
        yield from _named(part)
