"""The page of a check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from knowledge import Knowledge, outline
from markup import address, block, bullets, code, container, heading, label, link, prose, template
from msgspec import to_builtins

from gpudoctor.model.check import Check, Source, Step
from gpudoctor.model.condition import AnyItem, Condition
from gpudoctor.rules.conditions import english
from gpudoctor.rules.message_words import is_always, message
from gpudoctor.rules.templates import readable

LEVELS = {
    "error": "Error: it does not work.",
    "warning": "Warning: it may not work, or not as well as it could.",
    "info": "Information: worth knowing.",
}
SHORT = 90
"""Letters of a condition that a heading has room for."""
LAYER_WORDS = {"visible": "visible devices"}


def page(check: Check, known: Knowledge) -> str:
    """`orphan`: found by search and by the lists, not in the navigation, which has no room for hundreds."""
    return "---\norphan: true\n---\n\n" + "\n\n".join(part for part in _parts(check, known) if part) + "\n"


def _parts(check: Check, known: Knowledge) -> Iterator[str]:
    yield heading(1, template(check.title), label("check", check.id))
    where = f"{link(prose(layer_words(check.layer)), label('layer', check.layer))} · {', '.join(map(known.stack, check.stacks))}"
    yield container("about", f"{code(check.id)} · {where}")
    certainty = "" if check.at_most == "certain" else f" Never said with more confidence than '{check.at_most}'."
    yield container(
        f"level-{check.severity}", f"**{LEVELS[check.severity].split(':')[0]}:**{LEVELS[check.severity].split(':')[1]}{certainty}"
    )
    yield template(check.explanation)
    yield from _fires(check, known)
    yield heading(2, "What to do")
    yield from _advice(to_builtins(check.advice), check.advice.steps, known)
    for variant in check.variants:
        short = english(variant.when)
        if len(short) <= SHORT and not isinstance(variant.when, AnyItem):
            yield heading(3, f"Where {prose(short)}")
        else:
            yield heading(3, "Instead, where")
            yield _condition(variant.when, known)
        yield from _advice(variant.replaces, variant.replaces.get("steps", ()), known)
    yield from _related(check, known)
    yield from sources(check.sources)
    yield heading(2, "On a machine")
    yield block(f"gpudoctor show {check.id}\ngpudoctor check --why {check.id}", "bash")


def _fires(check: Check, known: Knowledge) -> Iterator[str]:
    if check.signatures:
        yield heading(2, "What programs say")
        yield "One of these in a pasted text or a log (upper and lower case are the same):"
        yield bullets(message(signature, code, code) for signature in check.signatures)
    silent = is_always(check.problem)
    yield heading(2, "When it speaks")
    if check.for_each:
        yield f"It is asked of each item of {known.fact(check.for_each)}, here {code(check.item)}."
    if not is_always(check.applies) and check.applies:
        yield "It applies where"
        yield _condition(check.applies, known)
    if silent:
        yield "It speaks wherever a text shows such a message and nothing that is known of the machine speaks against it."
    else:
        yield "It is a problem where"
        yield _condition(check.problem, known)
        if check.signatures:
            yield "Also before any message is seen." if check.proactive else "And only where a text shows such a message."
    if check.suspect:
        yield "It is suspected where"
        yield _condition(check.suspect, known)


def _condition(condition: Condition, known: Knowledge) -> str:
    return "\n".join(outline(condition, known))


def _advice(advice: Mapping[str, Any], steps: Sequence[Step], known: Knowledge) -> Iterator[str]:
    text, recipe = str(advice.get("do") or ""), advice.get("recipe")
    yield template(text)
    always = [readable(step.run) for step in steps if step.when is None]
    lines = [*always, *(f"export {name}={readable(str(value))}" for name, value in (advice.get("env") or {}).items())]
    if lines:
        yield block("\n".join(lines), "text")
    for step in steps:
        if step.when is not None:
            yield f"Where {prose(english(step.when))}:"
            yield block(readable(step.run), "text")
    if advice.get("needs_reboot") and "reboot" not in text:
        yield "Then reboot."
    if advice.get("otherwise"):
        yield "Otherwise:"
        yield bullets(template(words) for words in advice["otherwise"])
    if recipe:
        yield f"{code(f'gpudoctor setup {recipe}')} does it, after showing its plan: {recipe_links(recipe, known)}."


def recipe_links(name: str, known: Knowledge) -> str:
    """The recipes that `gpudoctor setup NAME` chooses among."""
    return ", ".join(link(code(recipe.id), label("recipe", recipe.id)) for recipe in known.recipes_of(name)) or code(name)


def _related(check: Check, known: Knowledge) -> Iterator[str]:
    others = known.checks
    groups: list[tuple[str, Iterable[str]]] = [
        ("It follows from", check.caused_by),
        ("It leads to", sorted(other.id for other in others if check.id in other.caused_by)),
    ]
    lines = [f"{words} {', '.join(map(known.check, names))}" for words, names in groups if names]
    if lines:
        yield heading(2, "Related checks")
        yield bullets(lines)


def sources(given: Sequence[Source]) -> Iterator[str]:
    """With the day on which each was last read."""
    if given:
        yield heading(2, "Sources")
        yield bullets(f"{address(one.ref)} (read {prose(one.read)}){': ' + prose(one.says) if one.says else ''}" for one in given)


def layer_words(layer: str) -> str:
    return LAYER_WORDS.get(layer, layer.replace("-", " "))


def checks_list(checks: Iterable[Check]) -> str:
    """One bullet each: how bad, the title that leads to its page, the id."""
    return bullets(f"{check.severity} · {link(template(check.title), label('check', check.id))} · {code(check.id)}" for check in checks)
