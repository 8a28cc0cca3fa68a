"""The closed set of kinds of steps: one module each, one object KIND in it."""

from __future__ import annotations

from importlib import import_module

from gpudoctor.setup.steps._step import Kind


def kind_named(name: str) -> Kind:
    """The kind of a step by its name (model.recipe.KINDS). Its module is loaded now."""
    found: Kind = import_module(f"gpudoctor.setup.steps.{name.replace('.', '_')}").KIND
    return found
