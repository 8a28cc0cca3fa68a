"""How a recipe is shown: its purpose, each step with the reason, and the sources."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import to_builtins

from gpudoctor.model.recipe import Include, Recipe, StepTemplate
from gpudoctor.rules.condition_words import in_words
from gpudoctor.rules.conditions import english
from gpudoctor.rules.templates import readable

Block = Callable[[str, str], Iterator[str]]


def table(recipe: Recipe) -> dict[str, Any]:
    """The recipe as a table for JSON."""
    return {
        "id": recipe.id, "name": recipe.name, "title": recipe.title, "platform": recipe.platform, "rank": recipe.rank,
        "stack": recipe.stack, "archived": recipe.archived, "disk_gb": recipe.disk_gb, "applies": english(recipe.applies),
        "gates": [{"level": gate.level, "title": gate.title, "advice": gate.advice, "holds": english(gate.holds)} for gate in recipe.gates],
        "steps": [_step(step) for step in recipe.steps],
        "remarks": [{"text": one.text, "when": english(one.when) if one.when else None} for one in recipe.remarks],
        "sources": [to_builtins(source) for source in recipe.sources],
    }  # fmt: skip


def _step(step: StepTemplate | Include) -> dict[str, Any]:
    when = english(step.when) if step.when else None
    if isinstance(step, Include):
        return {"do": "recipe", "name": step.name, "when": when}
    return {"do": step.do, "title": step.title, "why": step.why, "layer": step.layer, "when": when, "settings": _plain(step.settings)}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def blank(text: str) -> str:
    """A template in one line of a list, with an ellipsis for each fact."""
    return re.sub(r"\{[^{}]*\}", "…", text)


def lines(recipe: Recipe, block: Block, verbose: bool = False) -> Iterator[str]:
    """The recipe as lines. `block` wraps a text beside its label; `verbose`: with the condition under which the recipe applies."""
    from gpudoctor.cli.show_check import meaning

    yield readable(recipe.title)
    yield f"{recipe.id}   for {recipe.platform}"
    yield ""
    yield from block("plan it", f"gpudoctor setup {recipe.name} --plan")
    yield from block("archived", recipe.archived)
    if verbose:
        yield from block("serves", english(recipe.applies))
    if recipe.disk_gb:
        yield from block("room", f"{recipe.disk_gb:g} GB")
    for gate in recipe.gates:
        yield from block("stops if" if gate.level == "refuse" else "warns if", readable(f"{gate.title}; {gate.advice}"))
    for number, step in enumerate(recipe.steps, 1):
        condition = f" (only {in_words(step.when, meaning)})" if step.when else ""
        if isinstance(step, Include):
            yield from block(f"step {number}", f"the steps of the recipe '{step.name}'{condition}")
        else:
            yield from block(f"step {number}", f"{readable(step.title)}: {step.do}{condition}")
            yield from block("", readable(step.why))
    for remark in recipe.remarks:
        yield from block("note", readable(remark.text))
    for source in recipe.sources:
        yield from block("source", f"{source.ref} (read {source.read}) {source.says}")
