"""The closed set of kinds of steps: one module each, one object KIND in it."""

from __future__ import annotations

from importlib import import_module

from gpudoctor.setup.steps._step import Kind

_MODULES = {"person": "manual"}
"""Where the module is not called like the kind."""


def kind_named(name: str) -> Kind:
    """The kind of a step (model.recipe.KINDS); its module loads when it is asked for."""
    found: Kind = import_module(f"gpudoctor.setup.steps.{_MODULES.get(name, name.replace('.', '_'))}").KIND
    return found
