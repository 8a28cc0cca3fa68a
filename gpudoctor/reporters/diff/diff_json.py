"""What changed between two reports, as one JSON document (gpudoctor.diff/1); data/diff.schema.json describes it."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from gpudoctor.model.change import Diff
from gpudoctor.reporters.shared.escape import plain


def document(diff: Diff) -> dict[str, Any]:
    """The comparison as plain dictionaries and lists."""
    whole = plain(to_builtins(diff, str_keys=True, enc_hook=str))
    assert isinstance(whole, dict)
    return whole
