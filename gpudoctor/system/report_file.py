"""Reads a report of gpudoctor from a file of anybody: a JSON document, alone or packed in a text, checked by its type."""

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
"""The most bytes of a report, which usually has some hundred thousand: parsed JSON takes up to twenty times its length in memory."""
DEEPEST = 60
"""The deepest nesting of tables and lists. A report has about 15 levels."""


class InvalidReport(CaptureError):
    """Raised for a JSON document with the schema of reports that is not of their type: one line with file, key and what was expected."""


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
    """The report that a text is or holds, as in `read_report`. `where`: the name of the text in errors."""
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
    """The report in a JSON value. Raises CaptureError for another schema, InvalidReport for a wrong value."""
    from gpudoctor.model.report_document import ReportDocument  # imported here, since few runs read a report
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
    """The depth of nested tables and lists, counted without recursion up to DEEPEST + 1."""
    depth, waiting = 0, [value]
    while waiting and depth <= DEEPEST:
        waiting = [
            inner for each in waiting if isinstance(each, (dict, list)) for inner in (each.values() if isinstance(each, dict) else each)
        ]
        depth += 1
    return depth
