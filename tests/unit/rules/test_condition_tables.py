"""Tables of a data file to conditions: what is refused, where, and how the rest reads."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.model.condition import AnyItem, Combination, Leaf
from gpudoctor.rules.conditions import ConditionError, did_you_mean, english, facts_of, parse, parse_valid

ITEMS = {"gpus": "gpu"}
A = {"fact": "a", "is": 1}
SOME = {"some": {"of": "gpus", "where": {"fact": "gpu.vendor", "is": "amd"}}}


def read(table: Any) -> Any:
    return parse(table, "problem", ITEMS)


def test_each_kind_of_condition() -> None:
    leaf = Leaf("a", "is", 1)
    assert read(A) == leaf
    assert read({"all": [A, A]}) == Combination("all", (leaf, leaf))
    assert read({"any": [A]}) == Combination("any", (leaf,))
    assert read({"not": A}) == Combination("not", (leaf,))
    assert read({"not": SOME}) == Combination("not", (read(SOME),))
    assert read(SOME) == AnyItem("gpus", "gpu", Leaf("gpu.vendor", "is", "amd"))
    assert read({"any": [SOME]}).parts == (read(SOME),)
    assert read({"fact": "a", "absent": True}) == Leaf("a", "absent")
    assert read({"fact": "a", "older_than_fact": "b"}) == Leaf("a", "older_than", other="b")
    assert read({"some": {"of": "gpus", "where": SOME}}).where == read(SOME)


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("x", "problem: a condition is a table, not str"),
        ({"any": [], "all": []}, "problem: 'all' stands alone; move ['any'] into a part of its own"),
        ({"not": []}, "problem.not: a condition is a table, not list"),
        ({"all": A}, "problem.all: takes a list of conditions"),
        ({"any": [A, {"all": [{}]}]}, "problem.any[1].all[0]: needs fact = 'a.name', or one of all, any, not, some"),
        ({"some": []}, "problem.some: takes of = 'a records fact' and where = { condition }"),
        ({"some": {"of": "gpus"}}, "problem.some: takes of = 'a records fact' and where = { condition }"),
        ({"some": {"of": "cards", "where": A}}, "problem.some.of: 'cards' is no records fact"),
        ({"some": {"of": "gpu", "where": A}}, "problem.some.of: 'gpu' is no records fact (did you mean 'gpus'?)"),
        ({"some": {"of": "gpus", "where": []}}, "problem.some.where: a condition is a table, not list"),
        ({"fact": 1, "is": 1}, "problem: needs fact = 'a.name', or one of all, any, not, some"),
        ({"fact": "a"}, "problem: takes exactly one operator beside fact; has none"),
        ({"fact": "a", "is": 1, "in": []}, "problem: takes exactly one operator beside fact; has is, in"),
        ({"fact": "a", "known": False}, "problem.known: takes true; for the contrary use not = { … }"),
        ({"fact": "a", "is_fact": 1}, "problem.is_fact: takes the name of a fact"),
        ({"fact": "a", "matches_fact": "b"}, "problem: unknown operator 'matches_fact' (did you mean 'matches'?)"),
        ({"fact": "a", "knwon": True}, "problem: unknown operator 'knwon' (did you mean 'known'?)"),
        ({"fact": "a", "is_fakt": "b"}, "problem: unknown operator 'is_fakt' (did you mean 'is_fact'?)"),
        ({"fact": "a", "is": []}, "problem.is: takes str or int or float or bool, not list []"),
        ({"fact": "a", "less_than": True}, "problem.less_than: takes int or float, not bool True"),
        ({"fact": "a", "in": "x"}, "problem.in: takes list, not str 'x'"),
        ({"fact": "a", "older_than": "new"}, "problem.older_than: 'new' is no dotted version such as 6.2"),
        ({"fact": "a", "at_least": "new"}, "problem.at_least: 'new' is no dotted version such as 6.2"),
        ({"fact": "a", "version": "new"}, "problem.version: 'new' is no version specifier"),
        ({"fact": "a", "matches": "("}, "problem.matches: is no regular expression: missing )"),
    ],
)
def test_what_is_refused_is_said_with_its_place(table: Any, complaint: str) -> None:
    with pytest.raises(ConditionError) as error:
        read(table)
    said = str(error.value)
    assert said == complaint or (said.startswith(complaint) and ("'new' is no version" in said or "missing )" in said))


@pytest.mark.parametrize(
    "table",
    [
        {"fact": "a", "is": 1},
        {"is": 1, "fact": "a"},
        {"fact": "a", "known": True},
        {"fact": "a", "is_fact": "b"},
        {"all": []},
        {"any": [{"fact": "a", "at_least": "6.2"}, {"not": {"fact": "b", "absent": True}}]},
        {"some": {"of": "gpus", "where": {"all": [{"fact": "gpu.vendor", "matches": "intel|amd"}]}}},
    ],
)
def test_a_table_of_the_compiled_catalogue_is_read_alike(table: Any) -> None:
    assert parse_valid(table, ITEMS) == read(table)


def test_a_near_word_is_proposed() -> None:
    assert did_you_mean("older_then", ["older_than", "is"]) == " (did you mean 'older_than'?)"
    assert did_you_mean("quite another", ["older_than", "is"]) == ""


@pytest.mark.parametrize(
    ("table", "facts"),
    [
        (A, {"a"}), ({"fact": "a", "is_fact": "b"}, {"a", "b"}), (SOME, {"gpus", "gpu.vendor"}), 
        ({"not": {"any": [A, SOME]}}, {"a", "gpus", "gpu.vendor"}),
    ],
)  # fmt: skip
def test_the_facts_that_are_read(table: Any, facts: set[str]) -> None:
    assert facts_of(read(table)) == facts


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"fact": "a", "in": ["x", 2]}, "a is one of x, 2"),
        ({"fact": "a", "is": True}, "a is true"),
        ({"fact": "a", "is_fact": "b"}, "a is b"),
        ({"fact": "a", "present": True}, "a is there"),
        (SOME, "some of gpus: gpu.vendor is amd"),
        ({"any": [A, {"fact": "b", "known": True}]}, "a is 1 or b is known"),
        ({"all": [A, {"any": [A, A]}]}, "a is 1 and (a is 1 or a is 1)"),
        ({"any": [SOME, A]}, "(some of gpus: gpu.vendor is amd) or a is 1"),
        ({"all": [{"not": A}, A]}, "not (a is 1) and a is 1"),
        ({"all": []}, "always"),
        ({"any": []}, "never"),
    ],
)
def test_how_a_condition_reads(table: Any, words: str) -> None:
    assert english(read(table)) == words
