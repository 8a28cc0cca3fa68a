"""A command hands one frozen request to its service: no loose options, and nothing of click."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import FunctionType

import pytest
from msgspec import Struct

import gpudoctor
from gpudoctor.model.typed_json import hints_of

PACKAGE = Path(gpudoctor.__file__).parent
SERVICES = sorted(path.stem for path in (PACKAGE / "services").glob("*.py") if path.stem != "__init__")
PLAIN = ("str", "int", "float", "bool", "Sequence[str]", "tuple[str, ...]", "frozenset[str]", "Mapping[str, str]", "Mapping[str, Any]")
"""Annotations of an option that stands alone."""
LOOSE = {
    "checking.catalogue": "a query for the files of checks in further folders, by `list` and `show`",
    "diffing.remember": "keeps a report that was made, with the reasons of what was left out",
    "fleet_files.add": "the paths, beside the store that was opened", "fleet_files.export": "the folder, beside the store that was opened",
    "guarding.constraints_text": "writes what was made, in a format",
    "reporting.filled_form": "writes what was made, as the form of a project", "reporting.has_profile": "a query for one project",
    "reporting.render": "writes what was made, in a format", "reporting.archive": "writes what was made, under a name",
    "experimenting.sweep_batches": "its limit of latency", "experimenting.read_report": "reads one file",
    "experimenting.beside": "compares two reports that were read",
    "published_tables.measure": "the table's name, beside the request of its measurements",
}  # fmt: skip
"""Functions of services with an argument beside their request or result, and why."""


def called() -> Iterator[tuple[str, FunctionType]]:
    """The functions of services that a module of the command line calls, as module.name."""
    found: dict[str, FunctionType] = {}
    for path in (PACKAGE / "cli").glob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        imported: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gpudoctor.services."):
                module = str(node.module).rpartition(".")[2]
                imported |= {alias.asname or alias.name: f"{module}.{alias.name}" for alias in node.names}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            name = imported.get(node.func.id, "") if isinstance(node.func, ast.Name) else ""
            if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id in SERVICES:
                name = f"{node.func.value.id}.{node.func.attr}"
            if name:
                module, _, attribute = name.partition(".")
                function = getattr(import_module(f"gpudoctor.services.{module}"), attribute)
                if isinstance(function, FunctionType):
                    found[name] = function
    yield from sorted(found.items())


@pytest.mark.parametrize(("name", "function"), list(called()), ids=lambda value: value if isinstance(value, str) else "")
def test_an_entry_takes_a_request_and_no_loose_options(name: str, function: FunctionType) -> None:
    kinds = [str(each.annotation).removesuffix(" | None") for each in inspect.signature(function).parameters.values()]
    loose = [kind for kind in kinds if kind in PLAIN or "click" in kind]
    assert bool(loose) == (name in LOOSE), f"{name} takes {', '.join(loose) or 'no loose option any more'}"


@pytest.mark.parametrize("service", SERVICES)
def test_requests_are_frozen_records(service: str) -> None:
    for name, kind in vars(import_module(f"gpudoctor.services.{service}")).items():
        if name.endswith("Request") and kind.__module__ == f"gpudoctor.services.{service}":
            assert issubclass(kind, Struct) and kind.__struct_config__.frozen, name
            assert "click" not in str(hints_of(kind))


def test_commands_were_found() -> None:
    assert {"checking.check", "explaining.explain", "auditing.audit", "diffing.diff", "capturing.capture", "reporting.make"} <= {
        name for name, _ in called()
    }
