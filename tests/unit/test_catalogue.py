"""The shipped checks: every example says what it is meant to. `gpudoctor lint checks`, a step of .ci/run, finds what else is wrong."""

from __future__ import annotations

import pytest
from whole_catalogue import catalogue

from gpudoctor.diagnosis.examples import outcome_of, prepared
from gpudoctor.knowledge.lint import example_facts
from gpudoctor.model.check import Check

CHECKS = catalogue().checks


@pytest.mark.parametrize("check", CHECKS, ids=[check.id for check in CHECKS])
def test_examples(check: Check) -> None:
    said = {example.name: outcome_of(check, prepared(example_facts(example.facts), example.text)) for example in check.examples}
    assert said == {example.name: example.expect for example in check.examples}
