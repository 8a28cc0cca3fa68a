"""The checks beside each other: an example of one is answered by it, and by no other one with confidence."""

from __future__ import annotations

import pytest
from whole_catalogue import catalogue, findings, named

FIRST = 3
TOPICS = sorted({check.topic for check in catalogue().checks})


def _redundant_facts(example) -> bool:  # type: ignore[no-untyped-def]
    return not example.text or bool(example.facts)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_positive_example_is_answered_by_its_own_check(topic: str) -> None:
    wrong = []
    for check in (check for check in catalogue().checks if check.topic == topic):
        for example in check.examples:
            if example.expect != "problem" or _redundant_facts(example):
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
            if example.expect == "problem" or _redundant_facts(example):
                continue
            found = (f for f in findings(example.text) if f.id not in example.answered_by)
            sure = [f for f in found if f.severity != "info" and f.confidence != "possible"]
            if sure:
                wrong.append(f"{check.id}: '{example.name}' is answered by {named(tuple(sure))}; if that is right, answered_by says so")
    assert not wrong, "\n".join(wrong)
