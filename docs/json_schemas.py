"""The published JSON Schemas (gpudoctor/data/*.schema.json), made from the types of the documents.

    python docs/json_schemas.py            names the files that differ from the types
    python docs/json_schemas.py --write    writes them

Descriptions are the docstrings of the classes and of their fields. Every object type is a definition of its own ($defs).
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, is_typeddict

from gpudoctor.model.audit_document import AuditDocument
from gpudoctor.model.change import Diff
from gpudoctor.model.fleet_row import FleetRow
from gpudoctor.model.fleet_view import FleetView
from gpudoctor.model.guard import Guard
from gpudoctor.model.plan_document import PlanDocument
from gpudoctor.model.policy_document import PolicyTable
from gpudoctor.model.report_document import ReportDocument
from gpudoctor.model.typed_json import Given, Limits, Never, OneOf, hints_of, is_record, required_keys, shape_of

DATA = Path(__file__).resolve().parents[1] / "gpudoctor" / "data"
DOCUMENTS: dict[str, tuple[type, str]] = {
    "report": (ReportDocument, "urn:gpudoctor:report:1"),
    "plan": (PlanDocument, "urn:gpudoctor:plan:1"),
    "diff": (Diff, "gpudoctor.diff/1"),
    "audit": (AuditDocument, "gpudoctor.audit/1"),
    "guard": (Guard, "gpudoctor.guard/1"),
    "row": (FleetRow, "gpudoctor.row/1"),
    "fleet": (FleetView, "gpudoctor.fleet/1"),
    "policy": (PolicyTable, "urn:gpudoctor:policy:1"),
}
"""By the name of the file: the type of the document, and the id of the schema."""
PRIMITIVES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
Json = dict[str, Any]


def schema(name: str) -> Json:
    """One schema; a type is described where it is used first."""
    kind, identifier = DOCUMENTS[name]
    definitions: dict[str, Json] = {}
    body = _object(kind, definitions)
    title, rest = _title(kind)
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": identifier, "title": title}
    return {**whole, **({"description": rest} if rest else {}), **body, **({"$defs": definitions} if definitions else {})}


def _type(kind: Any, definitions: dict[str, Json]) -> Json:
    """The schema of any annotation."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _limited(_type(inner[0], definitions), [limit for limit in inner[1:] if isinstance(limit, Limits)])
    if kind is Any:
        return {}
    if origin in (Union, UnionType):
        return _union([_type(member, definitions) for member in inner])
    if origin in (list, tuple, Sequence):
        return {"type": "array", **_unless_any("items", _type(inner[0], definitions))}
    if origin in (dict, Mapping):
        return {"type": "object", **_unless_any("additionalProperties", _type(inner[1], definitions))}
    if is_typeddict(kind) or is_record(kind):
        if kind.__name__ not in definitions:
            definitions[kind.__name__] = {}  # its place, for types that contain themselves
            definitions[kind.__name__].update(_described(_object(kind, definitions), _documentation(kind)))
        return {"$ref": f"#/$defs/{kind.__name__}"}
    return {"type": PRIMITIVES[kind]}


def _limited(found: Json, limits: Sequence[Limits]) -> Json:
    words = {word: list(given) if isinstance(given, tuple) else given for limit in limits for word, given in limit.keywords.items()}
    if "enum" in words or "const" in words:
        found = {}  # the values say the type
    return {**found, **words}


def _unless_any(word: str, found: Json) -> Json:
    return {word: found} if found else {}


def _union(members: list[Json]) -> Json:
    """The shortest form: one list of types or of values where that says the same."""
    rest = [member for member in members if member != {"type": "null"}]
    nullable = len(rest) < len(members)
    if all(set(member) == {"type"} for member in rest):
        return {"type": [member["type"] for member in members]}
    if len(rest) == 1 and nullable:
        (only,) = rest
        if "enum" in only:
            return {**only, "enum": [*only["enum"], None]}
        if "type" in only:
            return {**only, "type": [only["type"], "null"]}
    return {"anyOf": members}


def _object(kind: Any, definitions: dict[str, Json]) -> Json:
    notes, shape = _field_documentation(kind), shape_of(kind)
    required, hints = required_keys(kind), hints_of(kind)
    names = sorted(hints, key=lambda name: name not in required)  # those of a base with total=False come last
    properties = {name: _described(_type(hints[name], definitions), notes.get(name, "")) for name in names}
    found: Json = {"type": "object", "properties": properties}
    if required:
        found["required"] = required
    if not shape.open:
        found["additionalProperties"] = False
    for rule in shape.rules:
        found |= _rule(rule)
    return {**found, **shape.size}


def _rule(rule: Never | Given | OneOf) -> Json:
    if isinstance(rule, Never):
        return {"not": {"properties": {name: {"const": value} for name, value in rule.values.items()}}}
    if isinstance(rule, OneOf):
        return {"anyOf": [{"required": [key]} for key in rule.keys]}
    return {
        "if": {"properties": {rule.field: {"const": rule.value}}},
        "then": {"anyOf": [_given(name) for name in rule.then]},
        "else": {"anyOf": [_given(name) for name in rule.otherwise]},
    }


def _given(name: str) -> Json:
    return {"properties": {name: {"not": {"enum": [None, ""]}}}}


def _described(found: Json, text: str) -> Json:
    return {**found, "description": text} if text else found


def _title(kind: Any) -> tuple[str, str]:
    """The first sentence of a document's docstring, and what follows it."""
    first, _, rest = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")
    return _flat(first).rstrip("."), _flat(rest)


def _documentation(kind: Any) -> str:
    return _flat(inspect.cleandoc(kind.__doc__ or ""))


def _flat(text: str) -> str:
    return " ".join(text.split())


def _field_documentation(kind: Any) -> dict[str, str]:
    """The docstring below each field, by the field's name; those of the bases too."""
    classes, found = _classes(sys.modules[kind.__module__].__file__ or ""), {}
    node = classes.get(kind.__name__)
    for base in node.bases if node is not None else ():
        if isinstance(base, ast.Name) and base.id in classes:
            found |= _notes(classes[base.id])
    return found | (_notes(node) if node is not None else {})


def _notes(node: ast.ClassDef) -> dict[str, str]:
    found = {}
    for field, note in zip(node.body, node.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(note, ast.Expr):
            if isinstance(note.value, ast.Constant) and isinstance(note.value.value, str):
                found[field.target.id] = _flat(note.value.value)
    return found


@cache
def _classes(file: str) -> dict[str, ast.ClassDef]:
    tree = ast.parse(Path(file).read_text("utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def text(name: str) -> str:
    """The content of data/<name>.schema.json."""
    return json.dumps(schema(name), indent=1) + "\n"


def main(arguments: list[str]) -> int:
    stale = [name for name in DOCUMENTS if not (path := DATA / f"{name}.schema.json").is_file() or path.read_text("utf-8") != text(name)]
    if arguments == ["--write"]:
        for name in stale:
            (DATA / f"{name}.schema.json").write_text(text(name), "utf-8")
        return 0
    for name in stale:
        print(f"gpudoctor/data/{name}.schema.json differs from its type: python docs/json_schemas.py --write")  # noqa: T201
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
