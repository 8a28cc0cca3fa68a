"""The checks beside each other: an example of one is answered by it, and by no other one with confidence."""

from __future__ import annotations

import re

import pytest
from whole_catalogue import catalogue, findings, named

from gpudoctor.model.check import Example

FIRST = 3
TOPICS = sorted({check.topic for check in catalogue().checks})


MECHANICAL = ("other wordings of the same trouble", "the same words without what makes it this trouble")
"""Names of examples that vary others, one word at a time: they hold the parts of their check (test_mutants)."""


def _left_out(example: Example) -> bool:
    """Facts of a machine, further texts of a list and mere variations: the first text of each example stands for them."""
    varied = re.search(r"\((?:[2-9]|\d\d+)\)$", example.name) is not None or example.name.startswith(MECHANICAL)
    return not example.text or bool(example.facts) or varied


@pytest.mark.parametrize("topic", TOPICS)
def test_a_positive_example_is_answered_by_its_own_check(topic: str) -> None:
    wrong = []
    for check in (check for check in catalogue().checks if check.topic == topic):
        for example in check.examples:
            if example.expect != "problem" or _left_out(example):
                continue
            found = findings(example.text)
            if not {check.id, *example.answered_by} & {finding.id for finding in found[:FIRST]}:
                wrong.append(f"{check.id}: '{example.name}' is answered by {named(found[:FIRST]) or 'nothing'}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_near_miss_is_answered_by_no_other_check_with_confidence(topic: str) -> None:
    wrong = []
    for check in (check for check in catalogue().checks if check.topic == topic):
        for example in check.examples:
            if example.expect == "problem" or _left_out(example):
                continue
            found = (f for f in findings(example.text) if f.id not in example.answered_by)
            sure = [f for f in found if f.severity != "info" and f.confidence != "possible"]
            if sure:
                wrong.append(f"{check.id}: '{example.name}' is answered by {named(tuple(sure))}; if that is right, answered_by says so")
    assert not wrong, "\n".join(wrong)
