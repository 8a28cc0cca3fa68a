"""The recipe book: recipes/<name>/<id>.toml and recipes/addresses.toml, or the one JSON file of a wheel."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpudoctor.knowledge import paths
from gpudoctor.knowledge.loader import read_toml
from gpudoctor.knowledge.structure import DataError, TableReader, source_from
from gpudoctor.model.check import LAYERS, RECIPES
from gpudoctor.model.package_data import data_bytes
from gpudoctor.model.recipe import (  # fmt: skip
    ADDRESS_KINDS,
    KINDS,
    PARTS,
    Address,
    Gate,
    Include,
    PlanExample,
    Recipe,
    RecipeBook,
    Remark,
    StepTemplate,
)

FORMAT = 1
ADDRESSES = "addresses.toml"
_RECIPE_KEYS = {
    "id": str, "name": str, "title": str, "platform": str, "rank": int, "stack": str, "compute": str, "disk_gb": (int, float),
    "archived": str, "applies": dict, "gate": list, "remark": list, "step": list, "source": list, "example": list,
}  # fmt: skip
_STEP_KEYS = ("do", "title", "why", "layer", "when", "done")
_ADDRESS_KEYS = {"kind": str, "url": str, "title": str, "key_url": str, "fingerprint": str, "date": str, "ref": str}


def load_book(items: Mapping[str, str]) -> RecipeBook:
    """Every recipe. Raises DataError for a file that cannot be used."""
    folder = paths.checkout_recipes()
    if folder is None:
        return _from_bundle(items)
    return read_book(folder, items)


def read_book(folder: Path, items: Mapping[str, str]) -> RecipeBook:
    """The recipes of one folder, with their examples."""
    return _book(read_recipe_tables(folder), items)


def read_recipe_tables(folder: Path) -> dict[str, Any]:
    """The raw tables, as the wheel carries them (there without examples)."""
    addresses = folder / ADDRESSES
    return {
        "format": FORMAT,
        "addresses": _plain(read_toml(addresses)) if addresses.is_file() else {},
        "recipes": [{"file": f"{path.parent.name}/{path.name}", "table": _plain(read_toml(path))} for path in paths.files_of(folder)],
    }


def compile_recipes(folder: Path) -> dict[str, Any]:
    """The recipes of a folder without their examples, as a wheel carries them."""
    tables = read_recipe_tables(folder)
    for entry in tables["recipes"]:
        entry["table"].pop("example", None)
    return tables


def _plain(value: Any) -> Any:
    """A table with its TOML dates as text."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, (str, int, float, bool)) else str(value)


def _from_bundle(items: Mapping[str, str]) -> RecipeBook:
    try:
        tables = json.loads(data_bytes(paths.RECIPE_BUNDLE))
    except (OSError, ValueError) as error:
        raise DataError(f"{paths.RECIPE_BUNDLE}: the recipes cannot be read ({error}); reinstall gpudoctor") from error
    if not isinstance(tables, dict) or tables.get("format") != FORMAT:
        raise DataError(f"{paths.RECIPE_BUNDLE}: the recipes are of another version; reinstall gpudoctor")
    return _book(tables, items)


def _book(tables: Mapping[str, Any], items: Mapping[str, str]) -> RecipeBook:
    recipes = tuple(recipe_from(entry["table"], entry["file"], items) for entry in tables["recipes"])
    ids = [recipe.id for recipe in recipes]
    for twice in sorted({one for one in ids if ids.count(one) > 1}):
        raise DataError(f"recipe '{twice}' exists twice; ids are unique")
    read = TableReader(ADDRESSES, items)
    return RecipeBook(recipes=recipes, addresses={name: _address(read, name, table) for name, table in tables["addresses"].items()})


def _address(read: TableReader, name: str, table: Any) -> Address:
    read.keys(table, _ADDRESS_KEYS, name, ("kind", "url", "date", "ref"))
    read.one_of(table["kind"], ADDRESS_KINDS, f"{name}.kind")
    address = Address(name=name, **table)
    if not address.url.startswith("https://"):
        raise read.fail(f"{name}.url", "expected an https address")
    if address.kind in ("apt", "dnf") and address.key_url:
        if not re.fullmatch(r"[0-9A-F]{40}", address.fingerprint):
            raise read.fail(f"{name}.fingerprint", "expected the 40 hexadecimal digits (capitals) of the primary key's fingerprint")
    return address


def recipe_from(table: Mapping[str, Any], file: str, items: Mapping[str, str]) -> Recipe:
    """The recipe of a file's table. Raises DataError."""
    read = TableReader(file, items)
    read.keys(table, _RECIPE_KEYS, "", ("id", "name", "title", "platform", "applies", "step", "source"))
    read.one_of(table["name"], RECIPES + PARTS, "name")
    return Recipe(
        id=table["id"], name=table["name"], title=table["title"], platform=table["platform"], rank=table.get("rank", 10),
        stack=table.get("stack", ""), compute=table.get("compute", ""), disk_gb=float(table.get("disk_gb", 0)),
        archived=" ".join(table.get("archived", "").split()), applies=read.condition(table["applies"], "applies"),
        steps=tuple(_step(read, entry, f"step[{number}]") for number, entry in enumerate(table["step"])),
        gates=tuple(_gate(read, entry, f"gate[{number}]") for number, entry in enumerate(table.get("gate", []))),
        remarks=tuple(_remark(read, entry, f"remark[{number}]") for number, entry in enumerate(table.get("remark", []))),
        sources=tuple(source_from(read, entry, number) for number, entry in enumerate(table["source"])),
        examples=tuple(_example(read, entry, f"example[{number}]") for number, entry in enumerate(table.get("example", []))),
    )  # fmt: skip


def _step(read: TableReader, table: Any, where: str) -> StepTemplate | Include:
    if not isinstance(table, Mapping) or not isinstance(table.get("do"), str):
        raise read.fail(f"{where}.do", f"expected recipe or one of {', '.join(KINDS)}")
    when = read.condition(table["when"], f"{where}.when") if "when" in table else None
    if table["do"] == "recipe":
        read.keys(table, {"do": str, "name": str, "when": dict}, where, ("name",))
        return Include(name=read.one_of(table["name"], RECIPES + PARTS, f"{where}.name"), when=when)
    for key in ("title", "why", "layer"):
        if not isinstance(table.get(key), str):
            raise read.fail(f"{where}.{key}", "expected a text")
    return StepTemplate(
        do=read.one_of(table["do"], KINDS, f"{where}.do"),
        title=table["title"],
        why=" ".join(table["why"].split()),
        layer=read.one_of(table["layer"], LAYERS, f"{where}.layer"),
        settings={key: value for key, value in table.items() if key not in _STEP_KEYS},
        when=when,
        done=read.condition(table["done"], f"{where}.done") if "done" in table else None,
    )


def _gate(read: TableReader, table: Any, where: str) -> Gate:
    read.keys(table, {"holds": dict, "level": str, "title": str, "advice": str}, where, ("holds", "title", "advice"))
    return Gate(
        holds=read.condition(table["holds"], f"{where}.holds"),
        level=read.one_of(table.get("level", "refuse"), ("refuse", "warn"), f"{where}.level"),
        title=" ".join(table["title"].split()),
        advice=" ".join(table["advice"].split()),
    )


def _remark(read: TableReader, table: Any, where: str) -> Remark:
    read.keys(table, {"text": str, "when": dict}, where, ("text",))
    when = read.condition(table["when"], f"{where}.when") if "when" in table else None
    return Remark(text=" ".join(table["text"].split()), when=when)


def _example(read: TableReader, table: Any, where: str) -> PlanExample:
    read.keys(table, {"name": str, "facts": dict, "steps": list}, where, ("name", "facts", "steps"))
    return PlanExample(name=table["name"], facts=table["facts"], steps=read.words(table, "steps", f"{where}."))
