"""The page of a recipe, and their list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from check_pages import layer_words, recipe_links, sources
from knowledge import Knowledge, outline
from markup import bullets, code, container, heading, label, link, prose, template

from gpudoctor.model.condition import Combination, Condition
from gpudoctor.model.recipe import PARTS, Include, Recipe
from gpudoctor.rules.templates import readable

KINDS = {
    "apt.repository": "adds an APT repository", "apt.install": "installs packages with APT", "apt.remove": "removes packages with APT",
    "dnf.repository": "adds a DNF repository", "dnf.install": "installs packages with DNF",
    "pacman.install": "installs packages with pacman",
    "group": "adds you to a group", "file": "writes a file", "edit": "changes a file", "udev.rule": "writes a udev rule",
    "modprobe": "loads a kernel module or sets its options", "download": "downloads a file, checked by its SHA-256",
    "unpack": "unpacks an archive", "venv": "makes a virtual environment", "pip": "installs Python packages",
    "environment": "sets environment variables", "reboot": "reboots, after asking", "person": "is for you to do",
}  # fmt: skip


def page(recipe: Recipe, known: Knowledge) -> str:
    return "---\norphan: true\n---\n\n" + "\n\n".join(part for part in _parts(recipe, known) if part) + "\n"


def _parts(recipe: Recipe, known: Knowledge) -> Iterator[str]:
    yield heading(1, template(recipe.title), label("recipe", recipe.id))
    call = f"a part of other recipes ({code(recipe.name)})" if recipe.name in PARTS else code(f"gpudoctor setup {recipe.name}")
    yield container("about", " · ".join([code(recipe.id), call, prose(recipe.platform)]))
    if recipe.archived:
        yield container("level-warning", f"**Archived:** {template(recipe.archived)}")
    if recipe.stack:
        yield f"The ladder of {known.stack(recipe.stack)} is checked at the end."
    if recipe.disk_gb:
        yield f"It needs {recipe.disk_gb:g} GB of room."
    yield "It serves machines where"
    yield _condition(recipe.applies, known)
    if recipe.gates:
        yield heading(2, "Before the first act")
    for gate in recipe.gates:
        said = f"{template(gate.title)}: {template(gate.advice)}" if gate.advice else template(gate.title)
        yield f"**{'Refuses' if gate.level == 'refuse' else 'Warns'}:** {said}"
        denied = isinstance(gate.holds, Combination) and gate.holds.kind == "not"
        yield "This is so where" if denied else "This is so unless"
        yield _condition(gate.holds.parts[0] if denied and isinstance(gate.holds, Combination) else gate.holds, known)
    if recipe.steps:
        yield heading(2, "Steps")
    for number, step in enumerate(recipe.steps, 1):
        if isinstance(step, Include):
            yield heading(3, f"{number}\\. The steps of {code(step.name)}")
            yield f"One of {recipe_links(step.name, known)}, as the machine is."
        else:
            yield heading(3, f"{number}\\. {template(step.title)}")
            yield template(step.why)
            yield bullets(
                [
                    f"{_sentence(KINDS.get(step.do, step.do))} ({code(step.do)}), at the {layer_words(step.layer)} rung",
                    *_settings(step.settings),
                ]
            )
        if step.when:
            yield "Only where"
            yield _condition(step.when, known)
        if not isinstance(step, Include) and step.done:
            yield "Done already where"
            yield _condition(step.done, known)
    if recipe.remarks:
        yield heading(2, "Notes")
        yield bullets(template(remark.text) for remark in recipe.remarks)
    yield from sources(recipe.sources)


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _settings(settings: Mapping[str, Any]) -> list[str]:
    return [f"{prose(name)}: {_value(value)}" for name, value in settings.items()]


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(_value(one) for one in value) or "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{prose(str(name))} {_value(one)}" for name, one in value.items()) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return code(readable(value if isinstance(value, str) else str(value))) or "none"


def _condition(condition: Condition, known: Knowledge) -> str:
    return "\n".join(outline(condition, known))


def list_page(known: Knowledge) -> str:
    parts = [
        heading(1, "Recipes", "all-recipes"),
        "How a layer is mended or a stack installed, step by step, on one kind of machine. "
        f"{code('gpudoctor setup NAME --plan')} shows the steps for yours and does nothing; "
        "the facts of the machine choose among recipes of one name.",
    ]
    for name in sorted({recipe.name for recipe in known.recipes}):
        lines = [
            f"{link(template(recipe.title), label('recipe', recipe.id))} · {prose(recipe.platform)} · {code(recipe.id)}"
            + (" · archived" if recipe.archived else "")
            for recipe in known.recipes_of(name)
        ]
        parts += [heading(2, prose(name)), bullets(lines)]
    return "\n\n".join(parts) + "\n"
