"""Rules for recipes beyond their structure: names that must exist, sources and addresses. Plans are tested elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpudoctor.knowledge.lint import somes, unknown_facts
from gpudoctor.model.check import RECIPES
from gpudoctor.model.condition import Condition
from gpudoctor.model.facts import FactSpec
from gpudoctor.model.recipe import Include, Recipe, RecipeBook, StepTemplate
from gpudoctor.rules.conditions import did_you_mean, facts_of
from gpudoctor.rules.templates import fields_of

_ADDRESS_KEYS = ("repository", "index", "address", "first_index", "find_links")


def lint_book(book: RecipeBook, specs: Mapping[str, FactSpec], stacks: list[str]) -> list[str]:
    """One line `name/id.toml: message` for each mistake."""
    names = book.names()
    problems = [f"{recipe.name}/{recipe.id}.toml: {line}" for recipe in book.recipes for line in _lint(recipe, book, specs, stacks)]
    problems += [f"recipes: nothing serves '{name}', which people type" for name in RECIPES if name not in names]
    used = {address for recipe in book.recipes for step in recipe.steps if isinstance(step, StepTemplate) for address in addresses_of(step)}
    problems += [f"addresses.toml: {name}: no recipe uses it" for name in book.addresses if name not in used and name != "pypi"]
    return problems


def addresses_of(step: StepTemplate) -> set[str]:
    """The names of the addresses that a step downloads from; an index may have a folder behind a slash."""
    found = set()
    for key in _ADDRESS_KEYS:
        value = step.settings.get(key, [])
        found |= {str(entry).partition("/")[0] for entry in (value if isinstance(value, list) else [value])}
    return {name for name in found if name and "{" not in name}


def _lint(recipe: Recipe, book: RecipeBook, specs: Mapping[str, FactSpec], stacks: list[str]) -> Iterator[str]:
    if not recipe.sources:
        yield "source: at least one [[source]] with ref, date and says"
    for source in recipe.sources:
        if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", source.read):
            yield f"source: read '{source.read}' is no YYYY-MM-DD"
    if not recipe.examples:
        yield "example: at least one [[example]] with facts and the titles of the steps left to do"
    if recipe.stack and recipe.stack not in stacks:
        yield f"stack: no stack '{recipe.stack}'{did_you_mean(recipe.stack, stacks)}"
    for step in recipe.steps:
        if isinstance(step, Include):
            if step.name not in book.names():
                yield f"step: no recipe '{step.name}'"
            continue
        for address in sorted(addresses_of(step) - set(book.addresses)):
            yield f"step '{step.title}': no address '{address}'{did_you_mean(address, book.addresses)} in addresses.toml"
    conditions = list(_conditions(recipe))
    scope = {some.of for condition in conditions for some in somes(condition)}
    yield from unknown_facts({name for condition in conditions for name in facts_of(condition)} | set(_fields(recipe)), specs, scope)


def _conditions(recipe: Recipe) -> Iterator[Condition]:
    yield recipe.applies
    for gate in recipe.gates:
        yield gate.holds
    for part in (*recipe.remarks, *recipe.steps):
        if part.when is not None:
            yield part.when
        if isinstance(part, StepTemplate) and part.done is not None:
            yield part.done


def _fields(recipe: Recipe) -> Iterator[str]:
    texts = [recipe.title, *(remark.text for remark in recipe.remarks)]
    texts += [text for gate in recipe.gates for text in (gate.title, gate.advice)]
    for step in recipe.steps:
        if isinstance(step, StepTemplate):
            texts += [step.title, step.why, *_texts(step.settings)]
    for text in texts:
        yield from fields_of(text)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key != "ready":
                yield from _texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner)
