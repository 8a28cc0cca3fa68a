"""Windows is named by its build, by build and patch, or by its release."""

from __future__ import annotations

import pytest

from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.naming import name_system
from gpudoctor.model.facts import Known


@pytest.mark.parametrize(
    ("text", "build"),
    [
        ("Windows 10 Pro, 20H2, 19042.928", 19042),
        ("Windows 10 Home 2004", 19041),
        ("Windows 10 version 1909", 18363),
        ("Windows 10 21H2", 19044),
        ("Windows 11 22H2", 22621),
        ("Windows 24H2", 26100),
        ("Windows 11 Pro 22631.4317", 22631),
        ("Windows 10 10.0.22631 SP0", 22631),
        ("WSL2 on Windows 10 20H2", 19042),
    ],
)
def test_the_build_is_known(text: str, build: int) -> None:
    evidence = Evidence()
    assert name_system(text, evidence)
    assert evidence.facts["windows.build"] == Known(build, "text")


@pytest.mark.parametrize("text", ["Windows 11", "Windows 22H2", "Windows 10, driver 31.0.15.2849", "Windows Server 2019"])
def test_no_build_is_guessed(text: str) -> None:
    evidence = Evidence()
    assert name_system(text, evidence)
    assert "windows.build" not in evidence.facts
