"""A report of ours as a file: one JSON document, from anybody."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from gpudoctor.host.base import CaptureError
from gpudoctor.model.report import SCHEMA

LARGEST = 64_000_000


def read_report(path: str) -> Mapping[str, Any] | None:
    """The document; None where the file is no JSON object (then it may be a capture). Raises CaptureError for other JSON."""
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"{":
                return None
            content = head + file.read(LARGEST)
    except OSError as error:
        raise CaptureError(f"{path}: cannot be read: {error.strerror or error}") from None
    if len(content) > LARGEST:
        raise CaptureError(f"{path}: larger than {LARGEST // 1_000_000} MB, which no report is")
    try:
        document = json.loads(content.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise CaptureError(f"{path}: not JSON: {(str(error).splitlines() or ['nested too deep'])[0][:160]}") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA or not isinstance(document.get("facts"), dict):
        found = str(document.get("schema"))[:60] if isinstance(document, dict) else type(document).__name__
        raise CaptureError(f"{path}: schema is {found!r}, expected {SCHEMA} with `facts` (gpudoctor check --format json)")
    return document
