"""What every recipe file must hold, whoever wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from gpudoctor.facts import vocabulary
from gpudoctor.facts.derive._tables import table
from gpudoctor.knowledge import paths
from gpudoctor.knowledge.recipe_lint import addresses_of
from gpudoctor.knowledge.recipes import read_book
from gpudoctor.model.recipe import Recipe, RecipeBook, StepTemplate
from gpudoctor.services import setup_planning
from gpudoctor.services.authoring import lint_recipes, planned_titles
from gpudoctor.setup.wsl_safety import forbidden


def the_book() -> RecipeBook:
    folder = paths.checkout_recipes()
    assert folder is not None
    return read_book(folder, vocabulary.items())


BOOK = the_book()
RECIPES = pytest.mark.parametrize("recipe", BOOK.recipes, ids=[recipe.id for recipe in BOOK.recipes])


def steps_of(recipe: Recipe) -> Iterator[StepTemplate]:
    return (step for step in recipe.steps if isinstance(step, StepTemplate))


@RECIPES
def test_says_where_it_comes_from_and_what_it_plans(recipe: Recipe) -> None:
    assert recipe.sources and recipe.examples and recipe.platform
    for source in recipe.sources:
        assert source.says and re.fullmatch(r"\d{4}-\d{2}-\d{2}", source.read), source


@RECIPES
def test_examples_plan_what_they_say(recipe: Recipe) -> None:
    for example in recipe.examples:
        assert planned_titles(recipe.name, example.facts, BOOK) == (recipe.id, list(example.steps)), example.name


@RECIPES
def test_addresses_exist(recipe: Recipe) -> None:
    for step in steps_of(recipe):
        assert addresses_of(step) <= set(BOOK.addresses), step.title


@RECIPES
def test_pip_can_read_the_requirements(recipe: Recipe) -> None:
    for step in steps_of(recipe):
        for text in step.settings.get("packages", ()) if step.do == "pip" else ():
            if not re.fullmatch(r"\{[^}]*\}", text) and "/" not in text:
                assert requirement(re.sub(r"\{setup\.torch_pin\}", "==2.8.*", re.sub(r"\{(?!setup\.torch_pin)[^}]*\}", "1.0", text))), text
        if step.do == "venv" and "{" not in step.settings.get("python", ""):
            assert specifier(step.settings.get("python", ">=3.8")), step.title


@RECIPES
def test_what_is_not_maintained_says_since_when(recipe: Recipe) -> None:
    assert not recipe.archived or re.search(r"20[12]\d", recipe.archived)


def requirement(text: str) -> bool:
    try:
        Requirement(text)
    except InvalidRequirement:
        return False
    return True


def specifier(text: str) -> bool:
    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        return False
    return True


def test_lint_finds_nothing() -> None:
    assert lint_recipes() == []


def test_requirements_in_the_tables_of_ipex_can_be_read() -> None:
    for row in table("ipex-torch")["release"]:
        for text in row["packages"].split():
            assert requirement(text), text
        assert specifier(row["python"]), row["ipex"]
    known = {row["ipex"] for row in table("ipex-torch")["release"] if row["packages"]}
    assert {row["ipex"] for row in table("setup-ipex")["pins"]} <= known
    assert {row[key] for row in table("setup-ipex")["serves"] for key in ("first", "last")} <= known


def test_keys_of_repositories_are_pinned() -> None:
    for address in BOOK.addresses.values():
        if address.kind in ("apt", "dnf"):
            assert address.key_url.startswith("https://") and re.fullmatch(r"[0-9A-F]{40}", address.fingerprint), address.name


@pytest.mark.parametrize("version", ["22.04", "24.04", "26.04"])
@pytest.mark.parametrize("name", ["intel-driver", "torch-xpu", "ipex", "openvino", "directml", "onnxruntime", "opencl", "cuda"])
def test_no_recipe_puts_a_kernel_or_display_driver_into_wsl(name: str, version: str) -> None:
    """Not even as a step that wsl_safety would refuse: the recipes themselves leave it out."""
    gpu = {"vendor": "intel", "kind": "discrete", "name": "Arc A770", "generation": "Alchemist", "min_kernel": "6.2"}
    facts = {
        "platform.kind": "wsl2", "os.id": "ubuntu", "os.version": version, "os.codename": "noble", "kernel.version": "5.15.153",
        "packages.manager": "apt", "packages": {"apt": "2.7"}, "wsl.dxg": True, "gpus": [gpu], "gpu.vendors": ["intel"],
    }  # fmt: skip
    _, titles = planned_titles(name, facts, BOOK)
    assert not [title for title in titles if title.startswith("cannot: ") and "kernel" in title]
    planned = {title.removeprefix("cannot: ") for title in titles}
    for recipe in BOOK.recipes:
        for step in steps_of(recipe):
            if step.title in planned and step.when is None:
                assert not forbidden(step.do, step.settings), step.title


def test_book_loads_as_the_program_loads_it() -> None:
    assert setup_planning.book().names() == BOOK.names()
