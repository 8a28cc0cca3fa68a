"""A report of ours as a file: a JSON document, alone or packed in a text, from anybody, checked by its type."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gpudoctor.model.packed import unpack
from gpudoctor.model.report import SCHEMA
from gpudoctor.system import json_text
from gpudoctor.system.host import CaptureError

if TYPE_CHECKING:
    from gpudoctor.model.report_document import ReportDocument

LARGEST = 16_000_000
"""Bytes. A report has some hundred thousand; what is read of JSON takes up to twenty times its length in memory."""
DEEPEST = 60
"""Tables and lists within each other. A report has about 15."""


class InvalidReport(CaptureError):
    """A JSON document that names the schema of reports and is not of their type: one line with file, key and what was expected."""


def read_report(path: str) -> ReportDocument | None:
    """The report in a JSON file, or packed in a text (report.md, the page of an issue).

    None where the file is neither: then it may be a capture. Raises CaptureError for other JSON and for what is damaged, InvalidReport
    for a report whose content is not of its type.
    """
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as file:
            head = file.read(512)
            if head[:2] in (b"PK", b"\x1f\x8b") or b"\x00" in head:
                return None
            content = head + file.read(LARGEST)
    except OSError as error:
        raise CaptureError(f"{path}: cannot be read: {error.strerror or error}") from None
    return report_in(decoded(content, path), path)


def decoded(content: bytes, where: str) -> str:
    """The text of a file. Raises CaptureError where it is larger than any report."""
    if len(content) > LARGEST:
        raise CaptureError(f"{where}: larger than {LARGEST // 1_000_000} MB, which no report is")
    return content.decode("utf-8-sig", "replace")


def report_in(text: str, where: str) -> ReportDocument | None:
    """The report that a text is or holds, as read_report finds it in a file; `where` is what errors call the text."""
    try:
        if not text.lstrip()[:1] == "{":
            packed = unpack(text)
            if packed is None:
                return None
            text = packed
        document = json_text.loads(text)
    except ValueError as error:
        raise CaptureError(f"{where}: not a report: no JSON ({(str(error).splitlines() or ['nested too deep'])[0][:160]})") from None
    return typed_report(document, where)


def typed_report(document: Any, where: str) -> ReportDocument:
    """A JSON value as the report that it says it is. Raises CaptureError for another schema, InvalidReport for a wrong value."""
    from gpudoctor.model.report_document import ReportDocument  # late: few runs read a report
    from gpudoctor.model.typed_json import TypedJsonError, read

    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        found = f"its schema is '{str(schema)[:60]}'" if schema else "it names no schema"
        raise CaptureError(f"{where}: not a report: {found}, expected {SCHEMA}; write one with gpudoctor check --format json")
    if _depth(document) > DEEPEST:
        raise InvalidReport(f"{where}: nested too deep to be a report of gpudoctor")
    try:
        return read(ReportDocument, document)
    except TypedJsonError as error:
        raise InvalidReport(f"{where}: {error}; write the report again with gpudoctor check --format json") from None


def _depth(value: Any) -> int:
    """How deep tables and lists are nested, without recursion; at most DEEPEST + 1 levels are counted."""
    depth, waiting = 0, [value]
    while waiting and depth <= DEEPEST:
        waiting = [
            inner for each in waiting if isinstance(each, (dict, list)) for inner in (each.values() if isinstance(each, dict) else each)
        ]
        depth += 1
    return depth
