"""The shipped checks: free of lint, and every example says what it is meant to."""

from __future__ import annotations

import pytest

from gpudoctor.diagnosis.examples import outcome_of, prepared
from gpudoctor.facts import vocabulary
from gpudoctor.knowledge.lint import example_facts, lint
from gpudoctor.knowledge.loader import read_folder
from gpudoctor.knowledge.paths import checkout_checks

ITEMS = vocabulary.items()
FOLDER = checkout_checks()
assert FOLDER is not None
CHECKS, STACKS = read_folder(FOLDER, ITEMS)


def test_no_lint() -> None:
    assert lint(CHECKS, STACKS, vocabulary.specs()) == []


@pytest.mark.parametrize("check", CHECKS, ids=[check.id for check in CHECKS])
def test_examples(check) -> None:  # type: ignore[no-untyped-def]
    said = {example.name: outcome_of(check, prepared(example_facts(example.facts), example.text)) for example in check.examples}
    assert said == {example.name: example.expect for example in check.examples}
