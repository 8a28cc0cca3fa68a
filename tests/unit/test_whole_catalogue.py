"""The checks beside each other: an example of one is answered by it, and by no other one with confidence."""

from __future__ import annotations

import re

import pytest
from whole_catalogue import catalogue, findings, named

from gpudoctor.model.check import Example

pytestmark = pytest.mark.early
FIRST = 3


MECHANICAL = ("other wordings of the same trouble", "the same words without what makes it this trouble")
"""Names of examples that vary others, one word at a time: they hold the parts of their check (test_mutants)."""


def _left_out(example: Example) -> bool:
    """Facts of a machine, further texts of a list and mere variations: the first text of each example stands for them."""
    varied = re.search(r"\((?:[2-9]|\d\d+)\)$", example.name) is not None or example.name.startswith(MECHANICAL)
    return not example.text or bool(example.facts) or varied


MOST_WRONG = 0.05
"""Share of the examples that another check may take; it only goes down, and no example of a new check adds to it."""


def test_positive_examples_are_answered_by_their_own_check() -> None:
    wrong, asked = [], 0
    for check in catalogue().checks:
        for example in check.examples:
            if example.expect != "problem" or _left_out(example):
                continue
            asked += 1
            found = findings(example.text)
            if not {check.id, *example.answered_by} & {finding.id for finding in found[:FIRST]}:
                wrong.append(f"{check.id}: '{example.name}' is answered by {named(found[:FIRST]) or 'nothing'}")
    assert len(wrong) <= MOST_WRONG * asked, f"{len(wrong)} of {asked}\n" + "\n".join(wrong)


def test_near_misses_are_answered_by_no_other_check_with_confidence() -> None:
    wrong, asked = [], 0
    for check in catalogue().checks:
        for example in check.examples:
            if example.expect == "problem" or _left_out(example):
                continue
            asked += 1
            found = (finding for finding in findings(example.text) if finding.id not in example.answered_by)
            sure = [finding for finding in found if finding.severity != "info" and finding.confidence != "possible"]
            if sure:
                wrong.append(f"{check.id}: '{example.name}' is answered by {named(tuple(sure))}; if that is right, answered_by says so")
    assert len(wrong) <= MOST_WRONG * asked, f"{len(wrong)} of {asked}\n" + "\n".join(wrong)
