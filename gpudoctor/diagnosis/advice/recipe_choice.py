"""Which recipe of a name suits this machine, and why the others do not."""

from __future__ import annotations

from msgspec import Struct

from gpudoctor.model.condition import Verdict
from gpudoctor.model.facts import Facts
from gpudoctor.model.recipe import Recipe, RecipeBook
from gpudoctor.rules.evaluate import evaluate
from gpudoctor.rules.templates import fill


class RecipeChoice(Struct, frozen=True):
    """The chosen recipe; None where none applies. `others` gives the reasons against the others, one line each."""

    recipe: Recipe | None
    others: tuple[str, ...]


def choose(book: RecipeBook, name: str, facts: Facts) -> RecipeChoice:
    """The applicable recipe with the lowest rank. One whose `applies` is unknown is taken only where none applies for certain."""
    judged = [(evaluate(recipe.applies, facts), recipe) for recipe in book.recipes if recipe.name == name]
    certain = [recipe for verdict, recipe in judged if verdict.truth == "true"]
    perhaps = [recipe for verdict, recipe in judged if verdict.truth == "unknown"]
    chosen = min(certain or perhaps, key=lambda recipe: (recipe.rank, recipe.id), default=None)
    left = [(verdict, recipe) for verdict, recipe in judged if recipe is not chosen and verdict.truth != "true"]
    others = tuple(f"{fill(recipe.title, facts)}: {why_not(verdict)}" for verdict, recipe in left)
    return RecipeChoice(chosen, others)


def why_not(verdict: Verdict) -> str:
    """The first condition that decides, in words: 'needs os.version is 22.04 (found 24.04)'."""
    deciding = _deciding(verdict)
    if deciding.text == "not":
        leaf = deciding.leaves()[0]
        return f"not where {leaf.text}"
    return f"needs {deciding.text}{f' (found {deciding.seen})' if deciding.seen else ''}"


def _deciding(verdict: Verdict) -> Verdict:
    for part in verdict.parts if verdict.text in ("all", "any") else ():
        if part.truth == verdict.truth:
            return _deciding(part)
    return verdict
