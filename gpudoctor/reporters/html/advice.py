"""An advice on the page: a sentence, commands with a copy button, variables and the recipe."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.model.check import Advice
from gpudoctor.reporters.html.element import Element, element
from gpudoctor.reporters.shared.advice_lines import command_lines, sentence
from gpudoctor.reporters.shared.escape import visible


def advice(given: Advice, heading: Element | None = None) -> Element | None:
    """The advice, with a following reboot in words; None where there is nothing to do."""
    lines = command_lines(given)
    if not (given.text or lines or given.recipe):
        return None
    text = sentence(given)
    recipe = f"gpudoctor setup {given.recipe} --plan" if given.recipe else ""
    return element(
        "div",
        heading,
        element("p", text) if text else None,
        commands(lines) if lines else None,
        [element("p", "The same from a recipe, as a plan first:", class_="aside"), commands([recipe])] if recipe else None,
        class_="do",
    )


def commands(lines: Iterable[str]) -> Element:
    """The commands, each in an element of its own, so that no part of a copied line is hidden."""
    return element("ol", (element("li", element("code", visible(line))) for line in lines), class_="commands")
