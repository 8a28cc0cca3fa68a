"""What changed between two reports, as one JSON document (gpudoctor.diff/1); data/diff.schema.json describes it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from gpudoctor.model.change import Diff
from gpudoctor.reporters.shared.escape import plain


def document(diff: Diff) -> dict[str, Any]:
    """The comparison as plain dictionaries and lists."""
    whole = plain(asdict(diff))
    assert isinstance(whole, dict)
    return whole
