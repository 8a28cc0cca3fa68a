"""Texts without trouble: `explain` must raise no alarm on any of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.explaining import ExplainRequest, explain

QUIET = Path(__file__).parents[1] / "quiet"
TEXTS = sorted(QUIET.glob("*/*.txt"))


def test_there_are_texts_of_every_kind() -> None:
    kinds = {text.parent.name for text in TEXTS}
    assert len(TEXTS) >= 220 and {"near-miss", "tool-output", "training-log", "docs"} <= kinds


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: f"{text.parent.name}/{text.stem}")
def test_no_alarm(text: Path) -> None:
    findings = explain([text.read_bytes()], ExplainRequest()).report.findings
    alarms = [
        f"{finding.id} ({finding.severity}, {finding.confidence}, lines {list(finding.said_at)}): {'; '.join(finding.evidence)}"
        for finding in findings
        if finding.severity in ("error", "warning") or finding.confidence == "possible"
    ]  # fmt: skip
    assert not alarms, "\n".join(alarms)
