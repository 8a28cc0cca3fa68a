"""What to do: a sentence, commands that can be copied, variables, the recipe."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.model.check import Advice
from gpudoctor.reporters.html.element import Element, element
from gpudoctor.reporters.shared.advice_lines import command_lines, sentence
from gpudoctor.reporters.shared.escape import visible


def advice(given: Advice, heading: Element | None = None) -> Element | None:
    """None where there is nothing to do. A reboot that follows is said in words."""
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
    """Each on its own: nothing is hidden in a line that is copied."""
    return element("ol", (element("li", element("code", visible(line))) for line in lines), class_="commands")
