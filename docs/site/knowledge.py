"""All that the pages are made of, read once, and where in them each thing stands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markup import code, label, link, prose

from gpudoctor.facts import vocabulary
from gpudoctor.model.check import SEVERITIES, Check, Stack
from gpudoctor.model.condition import AnyItem, Condition, Leaf
from gpudoctor.model.facts import FactSpec
from gpudoctor.model.recipe import Recipe
from gpudoctor.rules.conditions import english
from gpudoctor.rules.message_words import leaf_words
from gpudoctor.services import checking, setup_planning


@dataclass(frozen=True)
class Knowledge:
    checks: Sequence[Check]
    stacks: Sequence[Stack]
    recipes: Sequence[Recipe]
    facts: Mapping[str, FactSpec]
    version: str = ""

    def fact(self, name: str) -> str:
        """A fact in Markdown: a link to its entry where the vocabulary has it, or the records or the map that it is in."""
        known = self._entry(name)
        return link(code(name), label("fact", known)) if known else code(name)

    def _entry(self, name: str) -> str:
        parts = name.split(".")
        for end in range(len(parts), 0, -1):
            if (head := ".".join(parts[:end])) in self.facts:
                return head
        for end in range(len(parts) - 1, 0, -1):
            head = ".".join(parts[:end])
            records = sorted((spec.name for spec in self.facts.values() if spec.item == head), key=len)
            if records:
                return records[0]
        return ""

    def check(self, name: str) -> str:
        return link(code(name), label("check", name)) if any(check.id == name for check in self.checks) else code(name)

    def stack(self, name: str) -> str:
        found = next((stack for stack in self.stacks if stack.stack == name), None)
        return link(code(name), label("stack", name)) if found else code(name)

    def recipes_of(self, name: str) -> list[Recipe]:
        """Those that `gpudoctor setup NAME` chooses among, in its order."""
        return sorted((recipe for recipe in self.recipes if recipe.name == name), key=lambda recipe: (recipe.rank, recipe.id))

    def breaking(self, layer: str, stack: str = "") -> list[Check]:
        """The worst first."""
        found = (check for check in self.checks if check.layer == layer and (not stack or stack in check.stacks))
        return sorted(found, key=lambda check: (SEVERITIES.index(check.severity), check.id))


def gathered() -> Knowledge:
    """Raises what services.checking.BAD_INPUT names, for a file that cannot be used."""
    catalogue, book = checking.catalogue(), setup_planning.book()
    return Knowledge(catalogue.checks, catalogue.stacks, book.recipes, vocabulary.specs(), catalogue.version)


def by_topic(checks: Sequence[Check]) -> dict[str, list[Check]]:
    groups: dict[str, list[Check]] = defaultdict(list)
    for check in checks:
        groups[check.topic].append(check)
    return dict(sorted(groups.items()))


def outline(condition: Condition, known: Knowledge, depth: int = 0) -> list[str]:
    """A condition as nested bullets of Markdown."""
    indent = "  " * depth
    if isinstance(condition, Leaf):
        return [f"{indent}- {known.fact(condition.fact)} {_says(condition, known)}"]
    if isinstance(condition, AnyItem):
        return [f"{indent}- for one at least of {known.fact(condition.of)}:", *outline(condition.where, known, depth + 1)]
    if condition.kind != "not" and len(condition.parts) == 1:
        return outline(condition.parts[0], known, depth)
    if not condition.parts:
        return [f"{indent}- {'always' if condition.kind == 'all' else 'never'}"]
    if condition.kind == "not" and isinstance(condition.parts[0], Leaf):
        return [outline(condition.parts[0], known, depth)[0].replace("- ", "- not: ", 1)]
    words = {"all": "all of these hold:", "any": "one of these holds:", "not": "this does not hold:"}[condition.kind]
    return [f"{indent}- {words}", *(line for part in condition.parts for line in outline(part, known, depth + 1))]


def _says(leaf: Leaf, known: Knowledge) -> str:
    words = leaf_words(leaf, english(leaf))
    if leaf.other and words.endswith(leaf.other):
        return f"{prose(words.removesuffix(leaf.other))} {known.fact(leaf.other)}"
    if leaf.operator == "matches":
        return f"matches {code(str(leaf.value))}"
    return prose(words)
