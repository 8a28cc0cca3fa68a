"""The closed set of kinds of steps: one module each, one object KIND in it."""

from __future__ import annotations

from importlib import import_module

from gpudoctor.setup.steps._step import Kind


def kind_named(name: str) -> Kind:
    """The kind of a step (model.recipe.KINDS); its module loads when it is asked for."""
    found: Kind = import_module(f"gpudoctor.setup.steps.{name.replace('.', '_')}").KIND
    return found
