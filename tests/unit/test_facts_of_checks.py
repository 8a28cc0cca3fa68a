"""Checks that read facts alone, on a machine that is generated from their examples: a report with those facts, judged by everything."""

from __future__ import annotations

import pytest
from whole_catalogue import catalogue, findings_of_facts, named

from gpudoctor.knowledge.lint import example_facts
from gpudoctor.model.check import Check

OF_FACTS = [check for check in catalogue().checks if not check.signatures]


@pytest.mark.parametrize("check", OF_FACTS, ids=[check.id for check in OF_FACTS])
def test_a_machine_with_these_facts_gets_this_finding(check: Check) -> None:
    for example in check.examples:
        found = findings_of_facts(example_facts(example.facts))
        assert (check.id in {finding.id for finding in found}) == (example.expect == "problem"), f"{example.name}: {named(found)}"
