"""What must be known for a condition to be true: a check is left out only where it could have no finding."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.model.facts import Absent, Facts, Known, Unknown
from gpudoctor.rules.conditions import parse
from gpudoctor.rules.evaluate import evaluate
from gpudoctor.rules.needed_facts import needed_by_check, needed_facts

NAMES = ("a", "b", "c", "d.e")
LEAVES = st.one_of(
    st.builds(lambda fact, value: {"fact": fact, "is": value}, st.sampled_from(NAMES), st.sampled_from([1, "x", True])),
    st.builds(
        lambda fact, state: {"fact": fact, state: True}, st.sampled_from(NAMES), st.sampled_from(["known", "absent", "unknown", "present"])
    ),
    st.builds(lambda fact, other: {"fact": fact, "is_fact": other}, st.sampled_from(NAMES), st.sampled_from(NAMES)),
)
CONDITIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda parts: {"all": parts}, st.lists(inner, max_size=3)),
        st.builds(lambda parts: {"any": parts}, st.lists(inner, max_size=3)),
        st.builds(lambda part: {"not": part}, inner),
    ),
    max_leaves=8,
)
FACTS = st.dictionaries(
    st.sampled_from(NAMES), st.sampled_from([Known(1), Known("x"), Known(True), Known(""), Absent("s"), Unknown("not probed")])
)


@given(CONDITIONS, FACTS)
def test_what_is_true_has_all_the_facts_that_it_needs(table: dict[str, Any], values: dict[str, Any]) -> None:
    facts = Facts(values)
    if evaluate(parse(table, "", {}), facts).truth == "true":
        assert all(map(facts.known, needed_facts(table)))


@pytest.mark.parametrize(
    ("table", "needed"),
    [
        ({"all": [{"fact": "a", "is": 1}, {"fact": "b", "known": True}]}, ["a", "b"]),
        ({"any": [{"fact": "a", "is": 1}, {"all": [{"fact": "a", "is": 2}, {"fact": "b", "is": 1}]}]}, ["a"]),
        ({"some": {"of": "gpus", "where": {"fact": "gpu.vendor", "is": "amd"}}}, ["gpus"]),
        ({"fact": "a", "older_than_fact": "b"}, ["a", "b"]),
        ({"not": {"fact": "a", "is": 1}}, []),
        ({"fact": "a", "absent": True}, []),
    ],
)
def test_facts_that_are_needed(table: dict[str, Any], needed: list[str]) -> None:
    assert sorted(needed_facts(table)) == needed


def test_a_check_needs_what_it_applies_to_and_one_of_its_two_grounds() -> None:
    check = {
        "applies": {"fact": "a", "is": 1},
        "problem": {"all": [{"fact": "b", "is": 1}, {"fact": "c", "is": 1}]},
        "suspect": {"fact": "c", "is": 2},
    }
    assert needed_by_check(check) == ["a", "c"]
    assert needed_by_check({"signature": [{"text": ["x"]}]}) == []
