"""A report of ours as a file: a JSON document, alone or packed in a text, from anybody."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from gpudoctor.model.packed import unpack
from gpudoctor.model.report import SCHEMA
from gpudoctor.system import json_text
from gpudoctor.system.host import CaptureError

LARGEST = 16_000_000
"""Bytes. A report has some hundred thousand; what is read of JSON takes up to twenty times its length in memory."""


def read_report(path: str) -> Mapping[str, Any] | None:
    """The document: of a JSON file, or packed in a text (report.md, the page of an issue). None where the file is neither (then it may
    be a capture). Raises CaptureError for other JSON and for what is damaged."""
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
    if len(content) > LARGEST:
        raise CaptureError(f"{path}: larger than {LARGEST // 1_000_000} MB, which no report is")
    return report_in(content.decode("utf-8-sig", "replace"), path)


def report_in(text: str, path: str) -> Mapping[str, Any] | None:
    """The same of a text; `path` is what errors call it."""
    try:
        if not text.lstrip()[:1] == "{":
            packed = unpack(text)
            if packed is None:
                return None
            text = packed
        document = json_text.loads(text)
    except ValueError as error:
        raise CaptureError(f"{path}: not a report: {(str(error).splitlines() or ['nested too deep'])[0][:160]}") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA or not isinstance(document.get("facts"), dict):
        found = str(document.get("schema"))[:60] if isinstance(document, dict) else type(document).__name__
        raise CaptureError(f"{path}: schema is {found!r}, expected {SCHEMA} with `facts` (gpudoctor check --format json)")
    return document
