"""Texts without trouble: nothing that is wrong may be said of them, at any confidence."""

from __future__ import annotations

from pathlib import Path

import pytest
from whole_catalogue import findings, named

FOLDER = Path(__file__).parent.parent / "quiet"
TEXTS = {f"{path.parent.name}/{path.stem}": path for path in sorted(FOLDER.glob("*/*.txt"))}


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_wrong_is_said(name: str) -> None:
    text = TEXTS[name].read_text(encoding="utf-8")
    alarms = [finding for finding in findings(text) if finding.severity in ("error", "warning") or finding.confidence == "possible"]
    assert not alarms, f"{name}: {', '.join(named(tuple(alarms)))}"
