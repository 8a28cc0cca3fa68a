"""Which recipe of a name serves a machine, and in which words the others do not."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.diagnosis.advice.recipe_choice import choose, why_not
from gpudoctor.model.condition import Combination, Condition, Leaf, Verdict
from gpudoctor.model.facts import Absent, Facts, Known, Unknown
from gpudoctor.model.recipe import Recipe, RecipeBook
from gpudoctor.rules.evaluate import evaluate

UBUNTU, OLD, WSL = Leaf("os.id", "is", "ubuntu"), Leaf("os.version", "is", "22.04"), Leaf("platform.kind", "is", "wsl2")


def recipe(id: str, applies: Condition, **more: Any) -> Recipe:
    return Recipe(**{"id": id, "name": "xpu", "title": f"{id} on {{os.id}}", "applies": applies, "steps": (), **more})


def chosen(*recipes: Recipe, **facts: Any) -> tuple[str | None, tuple[str, ...]]:
    given = {name.replace("__", "."): fact if isinstance(fact, Unknown) else Known(fact) for name, fact in facts.items()}
    choice = choose(RecipeBook(recipes=recipes), "xpu", Facts(given))
    return choice.recipe and choice.recipe.id, choice.others


def test_the_lowest_rank_of_those_that_apply_and_of_equal_ranks_the_first_name() -> None:
    assert chosen(recipe("b", UBUNTU, rank=5), recipe("a", UBUNTU), recipe("c", UBUNTU, rank=5), os__id="ubuntu") == ("b", ())


def test_one_that_may_apply_is_taken_only_where_none_surely_does() -> None:
    sure, perhaps = recipe("sure", UBUNTU), recipe("perhaps", OLD, rank=1)
    assert chosen(sure, perhaps, os__id="ubuntu", os__version=Unknown("timeout")) == (
        "sure", ("perhaps on ubuntu: needs os.version is 22.04 (found unknown: timeout)",),
    )  # fmt: skip
    assert chosen(perhaps, os__id="fedora", os__version=Unknown("timeout")) == ("perhaps", ())


def test_where_none_applies_each_says_why_and_those_of_other_names_are_not_asked() -> None:
    other = recipe("other", UBUNTU, name="cuda")
    assert chosen(recipe("a", UBUNTU), other, os__id="fedora") == (None, ("a on fedora: needs os.id is ubuntu (found fedora)",))
    assert chosen(other, os__id="ubuntu") == (None, ())


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (Combination("all", (WSL, UBUNTU, OLD)), "needs os.id is ubuntu (found fedora)"),
        (Combination("all", (WSL, Combination("any", (UBUNTU, OLD)))), "needs os.id is ubuntu (found fedora)"),
        (Combination("not", (WSL,)), "not where platform.kind is wsl2"),
        (Combination("all", (Combination("not", (WSL,)), UBUNTU)), "not where platform.kind is wsl2"),
        (Leaf("never", "known"), "needs never is known (found unknown: not probed)"),
    ],
)
def test_the_first_condition_that_decides_is_told(condition: Condition, words: str) -> None:
    facts = Facts({"os.id": Known("fedora"), "os.version": Absent(), "platform.kind": Known("wsl2")})
    assert why_not(evaluate(condition, facts)) == words


def test_a_condition_without_a_value_has_no_brackets() -> None:
    assert why_not(Verdict("false", "os.version is 22.04")) == "needs os.version is 22.04"
