"""Checks that read facts alone, on a machine that is generated from their examples: a report with those facts, judged by everything."""

from __future__ import annotations

import pytest
from whole_catalogue import catalogue, named

from gpudoctor.facts.collect import Gathered
from gpudoctor.knowledge.lint import example_facts
from gpudoctor.model.check import Check
from gpudoctor.services import checking

OF_FACTS = [check for check in catalogue().checks if not check.signatures]


@pytest.mark.parametrize("check", OF_FACTS, ids=[check.id for check in OF_FACTS])
def test_a_machine_with_these_facts_gets_this_finding(check: Check) -> None:
    for example in check.examples:
        report = checking.report_from_facts(Gathered(example_facts(example.facts)), catalogue(), checking.CheckRequest(), "capture")
        found = {finding.id for finding in report.findings}
        assert (check.id in found) == (example.expect == "problem"), f"{example.name}: {named(report.findings)}"
