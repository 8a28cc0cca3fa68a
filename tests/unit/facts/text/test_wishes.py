"""A form or title of a wish is no report, unless something failed or a person says so."""

from __future__ import annotations

import pytest

from gpudoctor.facts.text.cleaning import lines_of, unquoted
from gpudoctor.facts.text.roles import Roles
from gpudoctor.model.signature import TROUBLE

NO_DRIVER = "RuntimeError: Found no NVIDIA driver on your system."


def troubles(text: str) -> list[str]:
    lines = unquoted(lines_of(text))
    roles = Roles(lines)
    return [line.text.strip() for row, line in enumerate(lines) if roles(row) in TROUBLE]


@pytest.mark.parametrize(
    "head",
    [
        "### Feature request",
        "### 🚀 The feature, motivation and pitch",
        "**Is your feature request related to a problem? Please describe.**",
        "## Describe the solution you would like",
        "# Proposal",
        "[Feature]: name the missing file",
        "(RFC) name the missing file",
    ],
)
def test_a_wish_shows_messages_as_examples(head: str) -> None:
    assert troubles(f"{head}\n\nA hint is wanted below this message:\n\n{NO_DRIVER}\n\nIt would help newcomers.") == []


@pytest.mark.parametrize(
    "text",
    [
        f"### Feature request\n\nSupport for the new card.\n\nMy training fails with it:\n{NO_DRIVER}",
        f"### Feature request\n\nSupport for the new card.\n\nTraceback (most recent call last):\n{NO_DRIVER}",
        f"[Feature] support for the new card\n\n### To reproduce\n\n{NO_DRIVER}",
        f"The feature request of last year was closed.\n\n{NO_DRIVER}",
    ],
)
def test_a_wish_with_a_trouble_of_its_own_is_a_report(text: str) -> None:
    assert NO_DRIVER in troubles(text)
